"""Groups become wide nodes: vectors where there were as many scalars."""

from __future__ import annotations

from collections import defaultdict

from graftsim.kernels.ir.statements import Branch, Library
from graftsim.kernels.rows.groups import Group, Groups, Source, width


def pack(found: Groups) -> None:
    """Rewrite the program: members of groups are lanes of wide nodes from here on."""
    p = found.p
    for g in found.groups:
        for face in g.faces:
            n = face[0]
            known = p.args[n] if p.ops[n] == "result" else ()
            wide = p.wide_node(p.ops[n], known, p.types[n], p.regions[n], g.width)
            g.wholes.append(wide)
    libraries: dict[Library, list[Group]] = defaultdict(list)
    for g in found.groups:
        _define(found, g, libraries)
    for s, groups in libraries.items():
        _split(found, s, groups)
    for g in found.groups:
        for face, whole in zip(g.faces, g.wholes, strict=True):
            for k, n in enumerate(face):
                elementwise = p.ops[n] not in ("phi", "result")
                p.become_lane(n, whole, k)
                if not elementwise:
                    p.regions[n].items.append(n)


def _operand(found: Groups, source: Source) -> int:
    """A node of what a group reads: a vector, or a scalar that goes to all lanes."""
    p, row = found.p, source.row
    whole = found.whole(row)
    if whole is not None:
        return whole[0].wholes[whole[1]]
    if len(set(row)) == 1:
        return row[0]
    # What is behind the row repeats its first scalar, so that nothing happens there alone.
    here, p.region = p.region, source.region
    n = p.pack([*row, *[row[0]] * (width(row) - len(row))])
    p.region = here
    return n


def _define(found: Groups, g: Group, libraries: dict[Library, list[Group]]) -> None:
    """Give the wide nodes of a group their operands."""
    p, n = found.p, g.members[0]
    if p.ops[n] not in ("phi", "result"):
        p.args[g.wholes[0]] = tuple(_operand(found, s) for s in g.sources)
        p.regions[n].items.append(g.wholes[0])
        return
    s = found.statement(n)
    if isinstance(s, Library):
        libraries[s].append(g)
        return
    operands = [_operand(found, x) for x in g.sources]
    if isinstance(s, Branch):
        at = _positions(s.results, g.members)
        lists = [s.results, *s.values]
        added = [g.wholes[0], *operands]
    elif n in s.exports:
        for m in g.members:
            del s.exports[m]
        s.exports[g.wholes[0]] = operands[0]
        return
    else:
        at = _positions(s.phis, g.members)
        lists = [s.phis, s.results, s.inits, s.nexts]
        added = [*g.wholes, *operands]
    for entries, new in zip(lists, added, strict=True):
        _replace(entries, at, new)


def _split(found: Groups, s: Library, groups: list[Group]) -> None:
    """Calls of groups become a statement for each width, beside the one of scalars."""
    p = found.p
    for size in sorted({g.width for g in groups}):
        own = [g for g in groups if g.width == size]
        new = Library(s.name, [], [], [g.wholes[0] for g in own])
        for g in own:
            x, where = (_operand(found, source) for source in g.sources)
            new.xs.append(x)
            new.where.append(where)
            p.args[g.wholes[0]] = (new,)
        p.regions[own[0].members[0]].items.append(new)
    at = [k for g in groups for k in _positions(s.results, g.members)]
    for entries in (s.results, s.xs, s.where):
        _replace(entries, at)


def _positions(nodes: list[int], members: tuple[int, ...]) -> list[int]:
    return [nodes.index(n) for n in members]


def _replace(entries: list[int], at: list[int], *new: int) -> None:
    gone = set(at)
    entries[:] = [x for k, x in enumerate(entries) if k not in gone] + list(new)
