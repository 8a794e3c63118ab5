"""What depends on what within a region, and an order of its items that respects it.

Rows that share vectors are computed together: in the graph, a group stands for its members. Where
one member needs another by a detour there is no order, and a group has to be given up.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region, Store

# An item of a region, or a group of items.
Unit = Any


def inner(item: Any) -> list[Region]:
    """Regions of an item."""
    if isinstance(item, Region):
        return [item]
    if isinstance(item, Loop):
        return [item.body] if item.test is None else [item.body, item.test]
    return item.sides if isinstance(item, Branch) else []


def regions(region: Region) -> Iterator[Region]:
    """A region and all within it."""
    yield region
    for item in region.items:
        if item.__class__ is not int:
            for r in inner(item):
                yield from regions(r)


class Order:
    """The items of a region that are needed, and what each needs of the same region."""

    def __init__(self, p: Program, live: Live, region: Region) -> None:
        self.p, self.live = p, live
        nodes = live.nodes
        self.items = [
            i for i in region.items if (i in nodes if i.__class__ is int else self._shown(i))
        ]
        # The item that defines a node.
        self._provider: dict[int, Any] = {}
        for item in self.items:
            if isinstance(item, int):
                self._provider[item] = item
            elif isinstance(item, Loop | Branch | Library):
                more = item.exports if isinstance(item, Loop) else ()
                self._provider.update(dict.fromkeys([*item.results, *more], item))
        self.needs: dict[Any, list[Any]] = {}
        provider, operands = self._provider.get, p.operands
        for item in self.items:
            if item.__class__ is int:
                found = [provider(a) for a in operands(item)]
                self.needs[item] = [x for x in found if x is not None]
            else:
                self.needs[item] = self._needs(item)
        self._keep_memory()

    def _shown(self, item: Any) -> bool:
        return isinstance(item, Region) or self.live.has(item)

    def _needs(self, item: Any) -> list[Any]:
        nodes = list(self._nodes(item))
        for i in self._within(item):
            nodes += self._nodes(i)
        found = (self._provider.get(n) for n in nodes)
        return [x for x in dict.fromkeys(found) if x is not None and x is not item]

    def _within(self, item: Any) -> Iterator[Any]:
        """Items of the regions of an item that are needed."""
        nodes = self.live.nodes
        for r in inner(item):
            for region in regions(r):
                for i in region.items:
                    if i in nodes if i.__class__ is int else self.live.has(i):
                        yield i

    def _nodes(self, item: Any) -> tuple[int, ...] | list[int]:
        """Nodes that an item reads itself."""
        if item.__class__ is int:
            return self.p.operands(item)
        if isinstance(item, Store):
            return (item.value, item.index)
        if isinstance(item, Library):
            return [*item.xs, *item.where]
        if isinstance(item, Loop):
            end = item.count if item.test is None else item.going
            return [*item.inits, *item.nexts, *item.exports.values(), end]
        if isinstance(item, Branch):
            return [item.condition, *(n for side in item.values for n in side)]
        return ()

    def _keep_memory(self) -> None:
        """What reads or writes memory stays behind what wrote it, or read it before."""
        wrote: dict[int, Any] = {}
        read: dict[int, list[Any]] = defaultdict(list)
        for item in self.items:
            if item.__class__ is int and self.p.ops[item] != "load":
                continue
            reads: set[int] = set()
            writes: set[int] = set()
            for i in (item, *self._within(item)):
                self._touched(i, reads, writes)
            before = [wrote[b] for b in reads | writes if b in wrote]
            before += [x for b in writes for x in read[b]]
            self.needs[item] += [x for x in before if x is not item]
            for b in reads:
                read[b].append(item)
            for b in writes:
                wrote[b], read[b] = item, []

    def _touched(self, item: Any, reads: set[int], writes: set[int]) -> None:
        if item.__class__ is int:
            if self.p.ops[item] == "load" and self.p.args[item][1].role != "input":
                reads.add(self.p.args[item][1].number)
        elif isinstance(item, Store):
            writes.add(item.buffer.number)

    def sorted(
        self,
        unit: Callable[[Any], Unit] = lambda item: item,
        members: Callable[[Unit], Sequence[Any]] = lambda unit: (unit,),
        give_up: Callable[[list[Unit]], Unit] | None = None,
    ) -> list[Unit]:
        """Units, each behind what it needs, else as the items stand.

        unit: the group of an item, or itself. members: the items of a unit. give_up: dissolves one
        of the groups in a circle of units, and returns it.
        """
        done: dict[Unit, bool] = {}
        out: list[Unit] = []
        for item in self.items:
            while not done.get(unit(item)):
                self._visit(unit(item), done, out, unit, members, give_up)
        return out

    def _visit(
        self, start: Unit, done: dict[Unit, bool], out: list[Unit], unit: Callable[[Any], Unit],
        members: Callable[[Unit], Sequence[Any]], give_up: Callable[[list[Unit]], Unit] | None,
    ) -> None:  # fmt: skip
        """Append a unit behind what it needs; come back early if the unit itself is given up."""
        path: list[Unit] = []
        left: list[list[Any]] = []

        def enter(x: Unit) -> None:
            done[x] = False
            path.append(x)
            left.append([d for m in members(x) for d in self.needs[m]][::-1])

        enter(start)
        while path:
            if not left[-1]:
                left.pop()
                done[path[-1]] = True
                out.append(path.pop())
                continue
            following = unit(left[-1][-1])
            state = done.get(following)
            if state is None:
                enter(following)
            elif state:
                left[-1].pop()
            else:
                assert give_up is not None, "a circle of items"
                gone = give_up(path[path.index(following) :])
                for x in path[path.index(gone) :]:
                    del done[x]
                at = path.index(gone)
                del path[at:], left[at:]
