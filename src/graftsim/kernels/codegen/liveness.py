"""What has to be computed: everything that a store to an output needs, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass, field

from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Branch, Buffer, Library, Loop, Region, Statement, Store


@dataclass
class Live:
    """Nodes, stores and statements that are needed."""

    nodes: set[int] = field(default_factory=set)
    stores: set[Store] = field(default_factory=set)
    statements: set[Statement] = field(default_factory=set)

    def has(self, item: object) -> bool:
        """Is an item of a region needed?"""
        if isinstance(item, int):
            return item in self.nodes
        return item in self.stores or item in self.statements


def find_live(p: Program) -> Live:
    """Mark backwards from the outputs."""
    marker = _Marker(p)
    for b in p.buffers:
        if b.role == "output":
            marker.buffer(b)
    while marker.todo:
        marker.needs_of(marker.todo.pop())
    return marker.live


class _Marker:
    """Marks what is wanted; nodes of which the operands are yet to be marked wait in `todo`."""

    def __init__(self, p: Program) -> None:
        self.p, self.live = p, Live()
        self.todo: list[int] = []
        self._buffers: set[int] = set()
        self._regions: set[int] = {id(p.root)}
        # Where a carried scalar stands in its loop.
        self._place: dict[int, int] = {}

    def node(self, *nodes: int) -> None:
        """These are wanted."""
        for n in nodes:
            if n not in self.live.nodes:
                self.live.nodes.add(n)
                self.todo.append(n)

    def buffer(self, b: Buffer) -> None:
        """What is in memory is wanted."""
        if b.number not in self._buffers:
            self._buffers.add(b.number)
            for s in b.stores:
                self._store(s)

    def _store(self, s: Store) -> None:
        if s not in self.live.stores:
            self.live.stores.add(s)
            self.node(s.value, s.index)
            self._region(s.region)

    def _region(self, r: Region | None) -> None:
        """Something in a region is wanted, and so are the statements around it."""
        while r is not None and id(r) not in self._regions:
            self._regions.add(id(r))
            if r.owner is not None:
                self._statement(r.owner)
            r = r.parent

    def _statement(self, s: Statement) -> None:
        if s in self.live.statements:
            return
        self.live.statements.add(s)
        if isinstance(s, Loop):
            self.node(s.going if s.test is not None else s.count)
            self._region(s.body)
        elif isinstance(s, Branch):
            self.node(s.condition)
            self._region(s.sides[0].parent)
        else:
            self.node(*s.xs, *s.where)

    def needs_of(self, n: int) -> None:
        """Whatever a wanted node needs is wanted."""
        op = self.p.ops[n]
        if op == "const":
            return
        self._region(self.p.regions[n])
        if op == "phi":
            self._phi(n)
        elif op == "result":
            self._result(n, self.p.args[n][0])
        else:
            self.node(*self.p.operands(n))
            if op == "load":
                self.buffer(self.p.args[n][1])

    def _phi(self, n: int) -> None:
        loop = self.p.regions[n].owner
        if loop is None:  # the tile counter
            return
        self._statement(loop)
        if n != loop.counter:
            if n not in self._place:
                self._place.update((m, k) for k, m in enumerate(loop.phis))
            k = self._place[n]
            self.node(loop.nexts[k], loop.inits[k])

    def _result(self, n: int, s: Statement) -> None:
        self._statement(s)
        if isinstance(s, Loop) and n in s.exports:
            self.node(s.exports[n])
            return
        k = s.results.index(n) if len(s.results) < 16 else _position(s, n)
        if isinstance(s, Loop):
            self.node(s.phis[k], s.nexts[k], s.inits[k])
        elif isinstance(s, Branch):
            self.node(*(side[k] for side in s.values))


def _position(s: Loop | Branch | Library, n: int) -> int:
    # Results are numbered one after the other as they are made.
    k = n - s.results[0]
    return k if 0 <= k < len(s.results) and s.results[k] == n else s.results.index(n)
