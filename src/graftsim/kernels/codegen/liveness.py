"""What has to be computed: everything that a store to an output needs, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from graftsim.kernels.ir.program import Branch, Buffer, Library, Loop, Program, Region, Store


@dataclass
class Live:
    """Nodes, stores and statements that are needed."""

    nodes: set[int] = field(default_factory=set)
    stores: set[Store] = field(default_factory=set)
    statements: set[Loop | Branch | Library] = field(default_factory=set)

    def has(self, item: object) -> bool:
        """Is an item of a region needed?"""
        if isinstance(item, int):
            return item in self.nodes
        return item in self.stores or item in self.statements


def find_live(p: Program) -> Live:
    """Mark backwards from the outputs."""
    live = Live()
    todo: list[int] = []
    buffers: set[int] = set()
    regions: set[int] = {id(p.root)}

    def want(n: int) -> None:
        if n not in live.nodes:
            live.nodes.add(n)
            todo.append(n)

    def want_region(r: Region | None) -> None:
        while r is not None and id(r) not in regions:
            regions.add(id(r))
            if r.owner is not None:
                want_statement(r.owner)
            r = r.parent

    def want_statement(s: Loop | Branch | Library) -> None:
        if s in live.statements:
            return
        live.statements.add(s)
        if isinstance(s, Loop):
            want(s.going if s.test is not None else s.count)
            want_region(s.body)
        elif isinstance(s, Branch):
            want(s.condition)
            want_region(s.sides[0].parent)
        else:
            for n in (*s.xs, *s.where):
                want(n)

    def want_store(s: Store) -> None:
        if s not in live.stores:
            live.stores.add(s)
            want(s.value)
            want(s.index)
            want_region(s.region)

    def want_buffer(b: Buffer) -> None:
        if b.number not in buffers:
            buffers.add(b.number)
            for s in b.stores:
                want_store(s)

    for b in p.buffers:
        if b.role == "output":
            want_buffer(b)
    phi_owner: dict[int, tuple[Loop, int]] = {}
    while todo:
        n = todo.pop()
        op, args = p.ops[n], p.args[n]
        if op == "const":
            continue
        want_region(p.regions[n])
        if op == "load":
            want(args[0])
            want_buffer(args[1])
        elif op == "phi":
            loop = p.regions[n].owner
            if loop is None:  # the tile counter
                continue
            want_statement(loop)
            if n != loop.counter:
                if n not in phi_owner:
                    phi_owner.update((m, (loop, k)) for k, m in enumerate(loop.phis))
                k = phi_owner[n][1]
                want(loop.nexts[k])
                want(loop.inits[k])
        elif op == "result":
            s = args[0]
            want_statement(s)
            if isinstance(s, Loop) and n in s.exports:
                want(s.exports[n])
                continue
            k = s.results.index(n) if len(s.results) < 16 else _position(s, n)
            if isinstance(s, Loop):
                want(s.phis[k])
                want(s.nexts[k])
                want(s.inits[k])
            elif isinstance(s, Branch):
                for side in s.values:
                    want(side[k])
        else:
            for a in args:
                want(a)
    return live


def _position(s: Loop | Branch | Library, n: int) -> int:
    # Results are numbered one after the other as they are made.
    k = n - s.results[0]
    return k if 0 <= k < len(s.results) and s.results[k] == n else s.results.index(n)
