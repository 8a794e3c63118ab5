"""Where values live: in a register, or in a slot of memory. Decided before any text is written.

Within a loop values live in registers; a value that crosses into another loop goes through a slot:
that keeps live ranges short, LLVM's time linear, and lets values that all lanes share be read as
scalars and spread on the fly. The scratch memory of a thread holds the slots, then the arrays.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.codegen.registers import Kept, Key, keep
from graftsim.kernels.codegen.schedule import is_long
from graftsim.kernels.codegen.target import Target
from graftsim.kernels.codegen.visitor import Visitor
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import value
from graftsim.kernels.ir.statements import Branch, Buffer, Library, Loop, Region, Store

BYTES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8, "u32": 4, "u64": 8, "i1": 1}
_LINE = 64  # bytes of a line of the cache, on which arrays begin


@dataclass(frozen=True)
class Layout:
    """Decisions about the values of a program."""

    lanes: int
    # Node: its place in scratch memory, in bytes. Nodes without one live in registers.
    slots: dict[int, int]
    # Bytes of all slots.
    end: int
    # Working buffers, in the order in which they lie behind the slots.
    work: tuple[Buffer, ...]
    # Divisors of several quotients in a region, which share one reciprocal.
    reciprocals: frozenset[tuple[int, Region]]
    # Of long programs: what is no longer at hand after an item.
    drops: Mapping[object, Sequence[Key]]
    # Lanes of nodes that have another number of them.
    widths: dict[int, int]

    def width(self, n: int) -> int:
        """Lanes of a node that is not uniform."""
        return self.widths.get(n, self.lanes)

    def places(self, n: int | None = None) -> tuple[dict[Buffer, int], int]:
        """Where the working buffers begin, and the bytes of scratch memory, in a call with n."""
        end, at = self.end, {}
        for b in self.work:
            at[b] = _aligned(end, _LINE)
            end = at[b] + BYTES[b.type] * value(b.size, n) * (1 if b.uniform else self.lanes)
        return at, end


def lay_out(p: Program, live: Live, lanes: int, target: Target | None = None) -> Layout:
    """Layout of what is needed of a program, for vectors of so many lanes."""
    uses = _Uses(p, live)
    uses.walk(p.root)
    # Narrow vectors of rows are left to LLVM: `keep` counts registers of one width.
    kept = keep(p, live, lanes, target) if is_long(p, live) and not p.widths else Kept()
    end = 0
    slots = {}
    for n in sorted(uses.crossing | kept.crossing):
        width = BYTES[p.types[n]] * (1 if p.uniform[n] else p.widths.get(n, lanes))
        slots[n] = _aligned(end, width)
        end = slots[n] + width
    end = _add_waiting(p, slots, kept, lanes, end)
    shared = frozenset(key for key, quotients in uses.divisors.items() if quotients > 1)
    return Layout(lanes, slots, end, tuple(uses.work.values()), shared, kept.drops, p.widths)


def _add_waiting(p: Program, slots: dict[int, int], kept: Kept, lanes: int, end: int) -> int:
    """Slots of what waits within a run, used again by others when it has been read last."""
    free: dict[int, list[int]] = {}
    busy: list[tuple[int, int, int]] = []
    for n, (start, stop) in sorted(kept.waiting.items(), key=lambda pair: pair[1]):
        if n in slots:
            continue
        while busy and busy[0][0] < start:
            _, at, width = heappop(busy)
            free.setdefault(width, []).append(at)
        width = BYTES[p.types[n]] * (1 if p.uniform[n] else lanes)
        if own := free.get(width):
            slots[n] = own.pop()
        else:
            slots[n] = _aligned(end, width)
            end = slots[n] + width
        heappush(busy, (stop, slots[n], width))
    return end


def _aligned(at: int, width: int) -> int:
    return -(-at // width) * width


class _Uses(Visitor):
    """Which values cross between loops, which buffers are used, what is divided by."""

    def __init__(self, p: Program, live: Live) -> None:
        super().__init__(p, live)
        self.crossing: set[int] = set()
        self.work: dict[int, Buffer] = {}
        self.divisors: Counter[tuple[int, Region]] = Counter()

    def use(self, n: int, region: Region) -> None:
        """A value is read in a region."""
        p = self.p
        if p.ops[n] != "const" and region.repeats is not p.regions[n].repeats:
            self.crossing.add(n)

    def touch(self, b: Buffer) -> None:
        """Memory is read or written."""
        b = b.base or b
        if b.role == "work":
            self.work.setdefault(b.number, b)

    def node(self, n: int, region: Region) -> None:
        p, op = self.p, self.p.ops[n]
        if op == "lane" and p.args[n][0] not in p.widths:
            # Of a full vector it is read from memory; of a narrow one a shuffle is as good.
            self.crossing.add(p.args[n][0])
            return
        if op == "load":
            self.touch(p.args[n][1])
        elif op == "div" and p.types[n][0] == "f":
            self.divisors[p.args[n][1], region] += 1
        for a in p.operands(n):
            self.use(a, region)

    def store(self, s: Store) -> None:
        self.touch(s.buffer)
        self.use(s.value, s.region)
        self.use(s.index, s.region)

    def library(self, s: Library, region: Region) -> None:
        for n in (*s.xs, *s.where):
            self.use(n, region)

    def tile(self, tile: Region) -> None:
        self.walk(tile)

    def loop(self, s: Loop, region: Region) -> None:
        live = self.live.nodes
        kept = [k for k, phi in enumerate(s.phis) if phi in live]
        for k in kept:
            self.use(s.inits[k], region)
        self.walk(s.body)
        last = s.body
        if s.test is None:
            self.use(s.count, region)
        else:
            self.use(s.going, s.body)
            self.walk(s.test)
            last = s.test
        for k in kept:
            self.use(s.nexts[k], last)
        for r, n in s.exports.items():
            if r in live:
                self.use(n, last)

    def branch(self, s: Branch, region: Region) -> None:
        self.use(s.condition, region)
        for side, values in zip(s.sides, s.values, strict=True):
            self.walk(side)
            for r, v in zip(s.results, values, strict=True):
                if r in self.live.nodes:
                    self.use(v, side)
