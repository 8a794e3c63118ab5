"""Which groups pay: vectors save operations, but scalars must get into them and out again."""

from __future__ import annotations

from collections import Counter, defaultdict, deque

from graftsim.kernels.ir.statements import Branch, Loop, Region
from graftsim.kernels.rows.groups import Group, Groups, Row, Source, Sums

# Operations that it takes to get a scalar into a vector, out of one, and into all lanes of one.
_IN, _OUT, _SPREAD = 1.0, 1.0, 0.5
# Lanes of one vector in another order.
_PERMUTED = 1.5


class Worth:
    """What groups cost and save, kept up to date as groups are dropped."""

    def __init__(self, found: Groups) -> None:
        self.found, self.p = found, found.p
        # How often a node is read as a scalar, a group as a vector, a row as one yet to be made.
        self._scalar: Counter[int] = Counter()
        self._readers: dict[Group, Counter[Group]] = defaultdict(Counter)
        self._packs: Counter[tuple[Row, Region]] = Counter()
        live = found.live
        for n in live.nodes:
            if n not in found.of:
                self._scalar.update(a for a, _ in found.reads(n))
        for s in live.stores:
            self._scalar.update((s.value, s.index))
        for s in live.statements:
            if isinstance(s, Loop):
                self._scalar[s.count if s.test is None else s.going] += 1
            elif isinstance(s, Branch):
                self._scalar[s.condition] += 1
        for g in found.groups:
            for source in g.sources:
                self._read(g, source, 1)

    def _read(self, g: Group, source: Source, sign: int) -> None:
        """Count, or count no more, what a group reads."""
        row = source.row
        whole = self.found.whole(row)
        if whole is not None:
            self._readers[whole[0]][g] += sign
        elif len(set(row)) == 1:
            self._scalar[row[0]] += sign
        elif (key := self._pack(source)) is not None:
            self._packs[key] += sign
            if self._packs[key] == (1 if sign > 0 else 0):
                for n in row:
                    self._scalar[n] += sign

    def _pack(self, source: Source) -> tuple[Row, Region] | None:
        """The vector that must be made of scalars; known numbers are a vector as they are."""
        if all(self.p.is_const(n) for n in source.row):
            return None
        return source.row, self.found.place(source.row, source.region)

    # -- costs -------------------------------------------------------------------------------

    def saved(self) -> Sums:
        """By all groups together, in each loop."""
        out = Sums(float)
        for g in self.found.groups:
            out[self.p.regions[g.members[0]].repeats] += self._lanes_saved(g)
            for face in g.faces:
                out[self.p.regions[face[0]].repeats] -= self._taken_out(face)
            for s in g.sources:
                if self.found.whole(s.row) is None:
                    out[s.region.repeats] -= self._spread(s)
        for (row, region), times in self._packs.items():
            if times:
                out[region.repeats] -= self._made(row, region)
        return out

    def _lanes_saved(self, g: Group) -> float:
        return (len(g.members) - 1) * self.found.cost_of(g.members[0])

    def _taken_out(self, face: Row) -> float:
        weight = self.found.weight(self.p.regions[face[0]])
        return _OUT * weight * sum(self._scalar[n] > 0 for n in face)

    def _spread(self, source: Source) -> float:
        n = source.row[0]
        if len(set(source.row)) > 1 or self.p.is_const(n):
            return 0.0
        # What comes from outside of the loop is spread as it is read from memory.
        here = self.p.regions[n].repeats is source.region.repeats
        return _SPREAD * self.found.weight(source.region) * here

    def _made(self, row: Row, region: Region) -> float:
        """Of a vector that is made of scalars."""
        groups = {self.found.of.get(n, (None,))[0] for n in row}
        operations = _PERMUTED if None not in groups and len(groups) == 1 else _IN * len(row)
        return operations * self.found.weight(region)

    def gain(self, g: Group) -> float:
        """What would be lost without a group."""
        found = self.found
        gain = self._lanes_saved(g) - sum(map(self._taken_out, g.faces))
        for source in g.sources:
            whole = found.whole(source.row)
            if whole is not None:
                missing = sum(self._scalar[n] == 0 for n in source.row)
                gain += _OUT * found.weight(self.p.regions[source.row[0]]) * missing
            elif len(set(source.row)) == 1:
                gain -= self._spread(source)
            elif (key := self._pack(source)) is not None and self._packs[key] == 1:
                gain -= self._made(*key)
        places = {
            (s.row, found.place(s.row, s.region))
            for reader in self._readers[g]
            for s in reader.sources
            if s.row in g.faces
        }
        return gain + sum(_IN * len(row) * found.weight(place) for row, place in places)

    # -- dropping ----------------------------------------------------------------------------

    def drop(self, g: Group) -> set[Group]:
        """Compute the members of a group as scalars; the groups for which that matters."""
        found = self.found
        near = {whole[0] for s in g.sources if (whole := found.whole(s.row)) is not None}
        readers = [r for r, times in self._readers[g].items() if times]
        own = [(r, s) for r in readers for s in r.sources if s.row in g.faces]
        for source in g.sources:
            self._read(g, source, -1)
        for reader, source in own:
            self._read(reader, source, -1)
        found.remove(g)
        for reader, source in own:
            if reader is not g:
                self._read(reader, source, 1)
        for n in g.members:
            self._scalar.update(a for a, _ in found.reads(n))
        self._readers.pop(g, None)
        return (near | set(readers)) & found.groups.keys()

    def prune(self) -> None:
        """Drop what does not pay, until all that is left does."""
        todo = deque(self.found.groups)
        waiting = set(todo)
        while todo:
            g = todo.popleft()
            waiting.discard(g)
            if g in self.found.groups and self.gain(g) < 0:
                near = self.drop(g) - waiting
                todo += near
                waiting |= near
