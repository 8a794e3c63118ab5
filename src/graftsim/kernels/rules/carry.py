"""What goes round a loop.

Optimistic propagation of constants to a fixed point (as in Wegman and Zadeck 1991): assume that
each carried scalar that begins as a known number stays that number (`belief`: "same"), trace the
body, weaken each assumption that it refutes (to "uniform", the same for all lanes, then to "free"),
and repeat until all hold. So zeros that go round a loop stay zeros, and counters stay counters.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import SMALL, Edits, LazyArray, Value
from graftsim.kernels.ir.sizes import within
from graftsim.kernels.ir.statements import Buffer, Loop
from graftsim.kernels.ir.trace import Interpreter, type_of
from graftsim.kernels.rules import edits
from graftsim.kernels.rules.indexing import copy_of
from graftsim.kernels.rules.wide import FEWEST, pack_of, source

# A carried array no larger than this is scalars, wherever it comes from.
STATE = 1024


class Carry:
    """What goes round a loop: scalars as phis, large arrays in memory."""

    def __init__(self, t: Interpreter, inits: list[Value], avals: list[Any], body: Any) -> None:
        self.t, self.p = t, t.p
        t.met[-1] += 1
        # Where the loop stands: the same each time that a loop around it is traced.
        self.site = (*t.met, id(body))
        self.avals = avals
        self.inits: list[Value] = []
        self.memory: list[LazyArray | None] = []
        for x, aval in zip(inits, avals, strict=True):
            if isinstance(x, LazyArray) and not within(x.shape, STATE):
                self.memory.append(copy_of(t, x, type_of(aval)))
                self.inits.append(x)
            else:
                self.memory.append(None)
                self.inits.append(t.arrays.explode(x))
        p = self.p
        self.scalars: list[int] = self._flat()
        self.belief = [
            "same" if p.is_const(n) else "uniform" if p.uniform[n] else "free" for n in self.scalars
        ]
        self.phis: list[int] = []
        self.wide_phis: list[int] = []
        self.wide_inits: list[int] = []
        # Scalars that are carried in one vector: by lane, their positions.
        self.groups: list[dict[int, int]] = []
        self.scattered: set[int] = set()
        # What an iteration begins with; arrays of which each changes a few elements.
        self.entered: list[Value] = []
        self.edited: set[int] = set()
        self.fresh = not self._recall()

    def _recall(self) -> bool:
        """Begin with what proved to hold before, where a loop around this one is traced again."""
        if self.site not in self.t.learned:
            return False
        memory, belief, groups, scattered = self.t.learned[self.site]
        if any(m is not None and not kept for m, kept in zip(self.memory, memory, strict=True)):
            return False
        for k, kept in enumerate(memory):
            if kept and self.memory[k] is None:
                self.memory[k] = copy_of(self.t, self.inits[k], type_of(self.avals[k]))
        self.scalars = self._flat()
        assert len(self.scalars) == len(belief)
        self.belief = [
            "free" if b in ("uniform", "wide") and not self.p.uniform[n] else b
            for b, n in zip(belief, self.scalars, strict=True)
        ]
        self.groups, self.scattered = list(groups), set(scattered)
        return True

    def learn(self) -> None:
        """Remember what holds, for the next time that the loop is traced."""
        memory = [m is not None for m in self.memory]
        self.t.learned[self.site] = memory, self.belief, self.groups, self.scattered

    def _flat(self) -> list[int]:
        own = zip(self.inits, self.memory, strict=True)
        return [
            n
            for x, m in own
            if m is None and not isinstance(x, LazyArray)
            for n in x.ravel().tolist()
        ]

    def demote(self) -> None:
        """Move to memory what is large, if too much of it changes, or little in any place."""
        at = 0
        for k, x in enumerate(self.inits):
            if self.memory[k] is not None:
                continue
            moving = sum(b != "same" for b in self.belief[at : at + x.size])
            if moving > STATE or k in self.edited:
                self.memory[k] = copy_of(self.t, x, type_of(self.avals[k]))
                del self.belief[at : at + x.size]
                self.belief = ["uniform" if b == "wide" else b for b in self.belief]
                self.groups.clear()
            else:
                at += x.size
        self.scalars = self._flat()

    def enter(self) -> list[Value]:
        """Values at the start of an iteration, in the present (loop) region."""
        p = self.p
        self.phis = [
            n if b in ("same", "wide") else p.phi(p.types[n], b == "uniform")
            for n, b in zip(self.scalars, self.belief, strict=True)
        ]
        self.wide_phis, self.wide_inits = [], []
        for group in self.groups:
            some = next(iter(group.values()))
            inits = [self.scalars[group.get(lane, some)] for lane in range(p.wide)]
            self.wide_inits.append(p.pack(inits))
            self.wide_phis.append(p.wide_phi(p.types[inits[0]]))
            for lane, k in group.items():
                self.phis[k] = p.lane(self.wide_phis[-1], lane)
        values: list[Value] = []
        at = 0
        for x, m in zip(self.inits, self.memory, strict=True):
            if m is not None:
                assert m.buffer is not None
                values.append(self._inside(m.buffer, m.shape))
            else:
                ids = np.array(self.phis[at : at + x.size], dtype=np.int64)
                values.append(ids.reshape(x.shape))
                at += x.size
        self.entered = values
        return values

    def _inside(self, buffer: Buffer, shape: tuple[int, ...]) -> LazyArray:
        """Memory that changes between iterations: its loads must not leave the loop."""
        p, here = self.p, self.p.region
        alias = buffer.inside(here)
        return LazyArray(
            shape, buffer.type, lambda i: p.load(alias, self.t.arrays.offset(shape, i)), view=True
        )

    def nexts(self, outs: list[Value]) -> tuple[list[int], list[Value]]:
        """Scalars and arrays at the end of an iteration."""
        scalars, arrays = [], []
        for k, (x, m) in enumerate(zip(outs, self.memory, strict=True)):
            if m is None:
                if self._changes(k, x) is not None:
                    self.edited.add(k)
                scalars += self.t.arrays.explode(x).ravel().tolist()
            else:
                arrays.append(x)
        return scalars, arrays

    def holds(self, nexts: list[int], diverges: bool = False) -> bool:
        """Does every assumption hold? Those that do not are weakened."""
        p, good = self.p, all(self.memory[k] is not None for k in self.edited)
        for k, (b, n) in enumerate(zip(self.belief, nexts, strict=True)):
            if b == "same" and n != self.scalars[k]:
                self.belief[k] = "free"
                if p.uniform[n] and not diverges:
                    self.belief[k] = "uniform"
                good = False
            elif b == "uniform" and (diverges or not p.uniform[n]):
                self.belief[k] = "free"
                good = False
            elif b != "same" and n == self.phis[k]:
                self.belief[k] = "same"
                good = False
        return self._stay_wide(nexts) and good and not self._become_wide(nexts)

    def _stay_wide(self, nexts: list[int]) -> bool:
        """Do vectors still hold what they held? Others are given up for good."""
        kept = [
            g
            for g in self.groups
            if all(self.belief[k] == "wide" for k in g.values())
            and pack_of(self.p, {lane: nexts[k] for lane, k in g.items()}) is not None
        ]
        for g in self.groups:
            if g not in kept:
                self.scattered.update(g.values())
                for k in g.values():
                    if self.belief[k] == "wide":
                        self.belief[k] = "uniform"
        stay = len(kept) == len(self.groups)
        self.groups = kept
        return stay

    def _become_wide(self, nexts: list[int]) -> bool:
        """Are there scalars that come out of a vector together?"""
        found: dict[int, dict[int, int]] = {}
        for k, (b, n) in enumerate(zip(self.belief, nexts, strict=True)):
            where = source(self.p, n)
            if b == "uniform" and where is not None and k not in self.scattered:
                found.setdefault(where[0], {}).setdefault(where[1], k)
        new = [g for g in found.values() if len(g) >= min(FEWEST, self.p.wide)]
        self.groups += new
        for g in new:
            for k in g.values():
                self.belief[k] = "wide"
        return bool(new)

    def update(self, arrays: list[Value]) -> None:
        """Write the next iteration's arrays: all read before any is overwritten.

        Of what changes in few places, nothing else is moved.
        """
        t = self.t
        kept = [(k, m) for k, m in enumerate(self.memory) if m is not None]
        fresh = [
            self._changes(k, x)
            or (x if x is self.entered[k] else t.arrays.materialise(_opaque(x), m.type))
            for x, (k, m) in zip(arrays, kept, strict=True)
        ]
        for x, (k, m) in zip(fresh, kept, strict=True):
            assert m.buffer is not None
            place = partial(t.arrays.offset, m.shape)
            if isinstance(x, Edits):
                edits.apply(t, x, m.buffer, place)
            elif x is not self.entered[k]:
                t.arrays.write(x, m.buffer, place)

    def _changes(self, k: int, x: Value) -> Edits | None:
        """Changes of few elements, if otherwise it is what an iteration began with."""
        known = x.edits if isinstance(x, LazyArray) and not within(x.shape, SMALL) else None
        return known if known is not None and known.base is self.entered[k] else None

    def finish(self, loop: Loop, nexts: list[int]) -> list[Value]:
        """Complete the loop with what is carried; the values after it."""
        p = self.p
        results: list[int] = []
        for b, init, phi, n in zip(self.belief, self.scalars, self.phis, nexts, strict=True):
            if b in ("same", "wide"):
                results.append(init)
                continue
            loop.phis.append(phi)
            loop.inits.append(init)
            loop.nexts.append(n)
            results.append(
                p.result(loop, p.types[init], p.uniform[phi] and (b != "free" or p.wide > 1))
            )
        for group, phi, init in zip(self.groups, self.wide_phis, self.wide_inits, strict=True):
            loop.phis.append(phi)
            loop.inits.append(init)
            last = pack_of(p, {lane: nexts[k] for lane, k in group.items()})
            assert last is not None
            loop.nexts.append(last)
            result = p.result(loop, p.types[phi], False)
            for lane, k in group.items():
                results[k] = p.lane(result, lane)
        values: list[Value] = []
        at = 0
        for x, m in zip(self.inits, self.memory, strict=True):
            if m is not None:
                values.append(m)
            else:
                values.append(np.array(results[at : at + x.size], np.int64).reshape(x.shape))
                at += x.size
        return values


def _opaque(x: Value) -> Value:
    if not isinstance(x, LazyArray):
        return x
    return LazyArray(x.shape, x.type, x.at, store=x.store)
