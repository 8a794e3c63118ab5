"""Equal rows: operations that do the same to other numbers, found from arrays of a few rows.

An array of four rows, one for each leg, says which scalars correspond. From there groups grow
backwards: what corresponding operations read corresponds, as in superword-level parallelism
(Larsen and Amarasinghe 2000), whose seeds had to be guessed from memory accesses.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.ir.ops import OPS
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import Size
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region

Row = tuple[int, ...]
# Of each loop, by its region.
Sums = defaultdict[Region, float]
# Operations that are never members of a group.
_ALONE = frozenset(("const", "load", "pack", "lane", "total"))
_COSTS = {"div": 4.0, "rem": 8.0, "sqrt": 4.0, "phi": 0.0, "result": 0.0, "const": 0.0}
# Turns that a loop is taken to make whose number is not known.
_TURNS, _WHILE_TURNS = 100, 10


@dataclass(frozen=True)
class Source:
    """What the members of a group read, one node each, and where."""

    row: Row
    region: Region


@dataclass(eq=False)
class Group:
    """Nodes that are computed in one vector, in the order of its lanes.

    What a loop carries has two faces, the nodes within the loop and those after it; all else one.
    """

    faces: list[Row]
    sources: list[Source]
    # The wide node of each face, once there are any.
    wholes: list[int] = field(default_factory=list)

    @property
    def members(self) -> Row:
        """Nodes of the first face."""
        return self.faces[0]

    @property
    def width(self) -> int:
        """Lanes of its vector: a power of two."""
        return width(self.members)


def width(row: Sequence[int]) -> int:
    """Lanes of the vector of a row."""
    return 1 << (len(row) - 1).bit_length()


class Groups:
    """The groups of a program, and what it takes to find more."""

    def __init__(self, p: Program, live: Live) -> None:
        self.p, self.live = p, live
        self.groups: dict[Group, None] = {}
        # Of a member: its group, and which of the faces it is in.
        self.of: dict[int, tuple[Group, int]] = {}
        self._weights: dict[Region, float] = {}
        # Where a carried scalar, or the result of a statement, stands in it.
        self._place: dict[int, tuple[Any, int]] = {}
        for s in live.statements:
            found = [*zip(s.results, range(len(s.results)), strict=True)]
            if isinstance(s, Loop):
                found += zip(s.phis, range(len(s.phis)), strict=True)
            self._place.update((n, (s, k)) for n, k in found)
        self._classes: dict[int, int] = {}
        self._seed: dict[int, Row] = {}

    def weight(self, region: Region) -> float:
        """How often a region runs in a call."""
        found = self._weights.get(region)
        if found is None:
            found = 1.0 if region.parent is None else self.weight(region.parent)
            s = region.owner
            if isinstance(s, Branch):
                found /= 2
            elif isinstance(s, Loop) and region is s.body:
                found *= self._turns(s)
            self._weights[region] = found
        return found

    def cost_of(self, n: int) -> float:
        """Of an operation in a call, of one scalar or one vector."""
        return _COSTS.get(self.p.ops[n], 1.0) * self.weight(self.p.regions[n])

    @cached_property
    def costs(self) -> Sums:
        """Of all that a loop runs, without groups."""
        out = Sums(float)
        for n in self.live.nodes:
            out[self.p.regions[n].repeats] += self.cost_of(n)
        return out

    def remove(self, g: Group) -> None:
        """Forget a group."""
        del self.groups[g]
        for face in g.faces:
            for n in face:
                del self.of[n]

    def _turns(self, s: Loop) -> int:
        if s.test is not None:
            return _WHILE_TURNS
        known = self.p.is_const(s.count) and not isinstance(self.p.value(s.count), Size)
        return max(self.p.value(s.count), 1) if known else _TURNS

    def place(self, row: Row, region: Region) -> Region:
        """Where a vector of scalars is put together that is read in a region."""
        regions = self.p.regions
        deepest = max((regions[n] for n in row), key=lambda r: r.depth)
        return region if deepest is region else self.p.place(deepest, region)

    def statement(self, n: int) -> Any:
        """The statement that defines a phi or a result."""
        return self._place[n][0] if n in self._place else self.p.args[n][0]

    def unit(self, item: Any) -> Any:
        """The group of an item of a region, or the item itself."""
        return self.of[item][0] if isinstance(item, int) and item in self.of else item

    def whole(self, row: Row) -> tuple[Group, int] | None:
        """The group of which a row is a face."""
        found = self.of.get(row[0])
        return found if found is not None and found[0].faces[found[1]] == row else None

    # -- the graph ---------------------------------------------------------------------------

    def reads(self, n: int) -> list[tuple[int, Region]]:
        """What a node reads, and where; of a phi or result, through its statement."""
        p, op = self.p, self.p.ops[n]
        if op not in ("phi", "result"):
            return [(a, p.regions[n]) for a in p.operands(n)]
        if n not in self._place:
            s = p.args[n][0] if op == "result" else None
            if not isinstance(s, Loop) or n not in s.exports:
                return []
            return [(s.exports[n], s.test or s.body)]
        s, k = self._place[n]
        if isinstance(s, Loop):
            parent = s.body.parent
            assert parent is not None
            return [(s.inits[k], parent), (s.nexts[k], s.test or s.body)]
        if isinstance(s, Library):
            return [(s.xs[k], p.regions[n]), (s.where[k], p.regions[n])]
        return [(v[k], side) for v, side in zip(s.values, s.sides, strict=True)]

    def _kind(self, n: int) -> tuple[Any, ...] | None:
        """What members of a group have in common; None: it cannot be in one."""
        p, op = self.p, self.p.ops[n]
        if op in _ALONE or not p.uniform[n] or self.weight(p.regions[n]) <= 1:
            return None
        if op in ("phi", "result"):
            if op == "phi" and n not in self._place:  # a counter
                return None
            return op, n in self._place, self.statement(n), p.types[n]
        return op, p.regions[n], p.types[n], *(p.types[a] for a in p.operands(n))

    # -- growing -----------------------------------------------------------------------------

    def grow(self, seeds: Iterable[Row]) -> list[Group]:
        """Groups of these rows and of all that leads to them."""
        todo = list(seeds)
        for row in todo:
            for n in row:
                self._seed.setdefault(n, row)
        self._classes.clear()
        new: list[Group] = []
        while todo:
            group = self._form(todo.pop())
            if group is not None:
                new.append(group)
                todo += [s.row for s in group.sources]
        return new

    def _form(self, row: Row) -> Group | None:
        if len(set(row)) < len(row) or not all(map(self._free, row)):
            return None
        kind = self._kind(row[0])
        if kind is None or any(self._kind(n) != kind for n in row):
            return None
        faces = [row]
        s, _ = self._place.get(row[0], (None, 0))
        if isinstance(s, Loop):
            at = [self._place[n][1] for n in row]
            faces = [tuple(s.phis[k] for k in at), tuple(s.results[k] for k in at)]
            if any(n in self.of for face in faces for n in face):
                return None
        group = Group(faces, self._aligned(row))
        self.groups[group] = None
        for f, face in enumerate(faces):
            self.of.update((n, (group, f)) for n in face)
        return group

    def _free(self, n: int) -> bool:
        return n in self.live.nodes and n not in self.of

    def _aligned(self, row: Row) -> list[Source]:
        """What a row reads; operands that commute are put beside their like."""
        lists = [self.reads(n) for n in row]
        if OPS[self.p.ops[row[0]]].commutative:
            first = self._kinds(lists[0])
            lists = [x[::-1] if _crossed(first, self._kinds(x)) else x for x in lists]
        columns = zip(*lists, strict=True)
        return [Source(tuple(n for n, _ in column), column[0][1]) for column in columns]

    def _kinds(self, reads: list[tuple[int, Region]]) -> list[tuple[int, str]]:
        return [(self._class(n), self.p.ops[n]) for n, _ in reads]

    def _class(self, n: int) -> int:
        """A number that corresponding nodes have in common, if the same was done to seeds."""
        found = self._classes
        if n in found:
            return found[n]
        p, stack = self.p, [n]
        while stack:
            n = stack[-1]
            op, seed = p.ops[n], self._seed.get(n)
            below = () if seed or op in _ALONE or op in ("phi", "result") else p.operands(n)
            left = [a for a in below if a not in found]
            if left:
                stack += left
                continue
            stack.pop()
            kinds = [found[a] for a in below]
            if OPS[op].commutative:
                kinds.sort()
            found[n] = hash((op, *kinds) if below else seed or n)
        return found[n]


def _crossed(first: list[tuple[int, str]], other: list[tuple[int, str]]) -> bool:
    """Are two operands more like the others if they change places? Classes count before words."""
    if first == other:
        return False
    straight, crossed = (
        [sum(x[k] == y[k] for x, y in zip(first, ys, strict=True)) for k in (0, 1)]
        for ys in (other, other[::-1])
    )
    return crossed > straight
