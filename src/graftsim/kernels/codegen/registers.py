"""Which values stay in registers in a long straight run of code, and which wait in memory.

In straight-line code the order of all uses is known, and the best choice is Belady's (1966): when
registers run out, the value whose next use is farthest goes. LLVM's allocator, made for code with
branches, splits and evicts live ranges one by one; on runs of thousands of values this takes most
of the time of a compilation. So in long programs the choice is made here, in one pass: a value that
does not fit is stored where it is computed, and read again where it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.codegen.target import Target, host
from graftsim.kernels.codegen.visitor import Visitor
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region, Store, regions

# A node as a scalar, or in all lanes.
Key = tuple[int, bool]
# Loops that carry a larger share of all nodes, as reverse mode does for the weights of a network,
# are left to LLVM: what is carried lies in memory, and would be copied from one place to another.
_CARRIED = 0.05


@dataclass(eq=False)
class Run:
    """Items without a loop or branch between them: what each reads, and the node it makes."""

    items: list[object] = field(default_factory=list)
    reads: list[list[Key]] = field(default_factory=list)
    makes: list[tuple[int, ...]] = field(default_factory=list)


@dataclass(frozen=True)
class Kept:
    """Decisions for a long program; empty for others."""

    # What is no longer at hand after an item.
    drops: dict[object, list[Key]] = field(default_factory=dict)
    # Nodes that are read in another run than their own.
    crossing: set[int] = field(default_factory=set)
    # Nodes that wait in memory within a run: positions of where they are made and read last.
    waiting: dict[int, tuple[int, int]] = field(default_factory=dict)


def keep(p: Program, live: Live, lanes: int, target: Target | None = None) -> Kept:
    """What goes to memory when a run has more values than there are registers."""
    kept, first, most = Kept(), 0, registers(target or host())
    if _carried(p) > _CARRIED * len(live.nodes):
        return kept
    for run in runs(p, live, lanes):
        _keep_run(p, lanes, kept, run, first, most)
        first += len(run.items)
    return kept


def _carried(p: Program) -> int:
    """Values that loops carry from turn to turn."""
    every = (item for region in regions(p.root) for item in region.items)
    return sum(len(item.phis) for item in every if isinstance(item, Loop))


def registers(target: Target) -> tuple[int, int]:
    """Values and masks that are kept in registers; a few are left for operands and constants."""
    return (28, 6) if target.vector_bytes == 64 else (12, 3)


class _Hand:
    """The registers of one kind: which keys are in one, and where each is read next."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.next: dict[Key, int] = {}
        self._farthest: list[tuple[int, Key]] = []

    def hold(self, key: Key, reads: list[int]) -> None:
        """A key is at hand, until it is not read any more; `reads` has the next one last."""
        if reads:
            self.next[key] = reads[-1]
            heappush(self._farthest, (-reads[-1], key))
        else:
            self.next.pop(key, None)

    def drop(self) -> list[Key]:
        """Let go those that are read last, while there are too few registers."""
        gone = []
        while len(self.next) > self.most:
            read, key = heappop(self._farthest)
            if self.next.get(key) == -read:
                del self.next[key]
                gone.append(key)
        return gone


def _keep_run(
    p: Program, lanes: int, kept: Kept, run: Run, first: int, most: tuple[int, int]
) -> None:
    """Go over a run; its items are numbered from `first`. most: values and masks in registers."""
    reads: dict[Key, list[int]] = {}
    last: dict[int, int] = {}
    for at in range(len(run.items) - 1, -1, -1):
        for key in run.reads[at]:
            reads.setdefault(key, []).append(at)
            last.setdefault(key[0], at)
    vectors, masks = hands = [_Hand(m) for m in most]
    born: dict[int, int] = {}
    for at, item in enumerate(run.items):
        for key in run.reads[at]:
            n = key[0]
            hand = masks if p.types[n] == "i1" else vectors
            if _apart(p, n, p.uniform[n] or lanes == 1):
                pass  # It is spread again from where LLVM has it.
            elif n not in born:
                kept.crossing.add(n)
            elif key not in hand.next and (n, True) not in hand.next:
                kept.waiting[n] = first + born[n], first + last[n]
            reads[key].pop()
            hand.hold(key, reads[key])
        for n in run.makes[at]:
            born[n] = at
            key = n, p.uniform[n] or lanes == 1
            if key in reads:
                (masks if p.types[n] == "i1" else vectors).hold(key, reads[key])
        if gone := [key for hand in hands for key in hand.drop()]:
            kept.drops[item] = gone


def _apart(p: Program, n: int, single: bool) -> bool:
    """Whole numbers and bools that all lanes share are in other registers, which LLVM gives out."""
    return single and p.types[n][0] != "f"


def runs(p: Program, live: Live, lanes: int) -> list[Run]:
    """The runs of a program in the order in which they are written."""
    found = _Runs(p, live, lanes)
    found.walk(p.root)
    return found.all


class _Runs(Visitor):
    def __init__(self, p: Program, live: Live, lanes: int) -> None:
        super().__init__(p, live)
        self.lanes = lanes
        self.all = [Run()]

    def _add(self, item: object, reads: Iterable[Key], *makes: int) -> None:
        run, p = self.all[-1], self.p
        keys: dict[Key, None] = {}
        for n, single in reads:
            single = single or self.lanes == 1
            if p.ops[n] != "const" and not _apart(p, n, single):
                keys[n, single] = None
        run.items.append(item)
        run.reads.append(list(keys))
        run.makes.append(makes)

    def node(self, n: int, region: Region) -> None:
        p, op = self.p, self.p.ops[n]
        if op == "lane":
            reads: Iterable[Key] = ()
        elif op == "total":
            reads = ((p.args[n][0], False),)
        else:
            reads = [(a, p.uniform[n] or op == "pack") for a in p.operands(n)]
        self._add(n, reads, n)

    def store(self, s: Store) -> None:
        self._add(s, ((s.value, s.buffer.uniform), (s.index, self.p.uniform[s.index])))

    def library(self, s: Library, region: Region) -> None:
        kept = [r for r in s.results if r in self.live.nodes]
        uniform = all(self.p.uniform[r] for r in kept)
        self._add(s, ((n, uniform) for n in (*s.xs, *s.where)), *kept)

    def tile(self, tile: Region) -> None:
        self.all.append(Run())
        self.walk(tile)
        self.all.append(Run())

    def loop(self, s: Loop, region: Region) -> None:
        p, live = self.p, self.live.nodes
        kept = [k for k, phi in enumerate(s.phis) if phi in live]
        self._add((s, "begin"), self._as_made((s.inits[k], s.phis[k]) for k in kept))
        self.all.append(Run())
        self._add((s, "phis"), (), *(s.phis[k] for k in kept))
        self.walk(s.body)
        if s.test is not None:
            self._add((s, "going"), ((s.going, p.uniform[s.going]),))
            self.all.append(Run())
            self.walk(s.test)
        last = [(s.nexts[k], s.phis[k]) for k in kept]
        last += [(n, n) for r, n in s.exports.items() if r in live]
        self._add((s, "end"), self._as_made(last))
        self.all.append(Run())
        self._add((s, "results"), (), *(r for r in (*s.results, *s.exports) if r in live))

    def branch(self, s: Branch, region: Region) -> None:
        self._add((s, "begin"), ((s.condition, self.p.uniform[s.condition]),))
        kept = [k for k, r in enumerate(s.results) if r in self.live.nodes]
        for side, values in zip(s.sides, s.values, strict=True):
            self.all.append(Run())
            self.walk(side)
            self._add((s, side), self._as_made((values[k], s.results[k]) for k in kept))
        self.all.append(Run())
        self._add((s, "results"), (), *(s.results[k] for k in kept))

    def _as_made(self, pairs: Iterable[tuple[int, int]]) -> list[Key]:
        return [(n, self.p.uniform[to]) for n, to in pairs]
