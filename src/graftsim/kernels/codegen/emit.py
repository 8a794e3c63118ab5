"""The back end: a program as the text of an LLVM module, lanes as vectors.

One function runs a range of tiles (a tile: as many simulations as a vector has lanes). What is
decided about the values (`layout`) is decided by now: here each item becomes its instructions.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from graftsim.kernels.codegen.layout import Layout
from graftsim.kernels.codegen.library import helper
from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.codegen.memory import Memory
from graftsim.kernels.codegen.operations import operation, some_lane
from graftsim.kernels.codegen.values import Values
from graftsim.kernels.codegen.visitor import Visitor
from graftsim.kernels.codegen.writer import LLVM, Entry, Writer
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region, Store

# Without the alignment, vectors that do not fit the registers would straddle lines of the cache.
_HEAD = """define void @kernel(ptr noalias %buffers, ptr noalias %sizes, ptr noalias %scratch, \
i64 %begin, i64 %end) alignstack(64) {
entry:"""
# A condition that always holds and that LLVM knows nothing of: blocks that it keeps apart.
_GIVEN = "  %given = icmp ne ptr %scratch, null"
_NEVER = ["never:", "  unreachable"]
# Operations in a block of a long program: some passes of LLVM take the square of a block's length.
_BLOCK = 1000


@dataclass(frozen=True)
class Module:
    """LLVM text of a kernel, and the numbers that it reads from its table of sizes."""

    text: str
    sizes: tuple[Entry, ...]


def emit(p: Program, live: Live, layout: Layout) -> Module:
    """The kernel of a program."""
    e = _Emitter(p, live, layout)
    e.walk(p.root)
    w = e.w
    w.line("ret void")
    places, long = e.memory.places.values(), bool(layout.drops)
    body = [_HEAD, *w.read_sizes(), *places, *([_GIVEN] * long), *w.lines, *(_NEVER * long), "}"]
    text = "\n".join([*w.declared.values(), *w.helpers.values(), *body]) + "\n"
    return Module(text, tuple(w.sizes))


class _Emitter(Visitor):
    def __init__(self, p: Program, live: Live, layout: Layout) -> None:
        super().__init__(p, live)
        self.layout = layout
        self.w = Writer(layout.lanes)
        self.values = Values(p, layout, self.w)
        self.memory = Memory(self.values)
        self._operations = 0

    def type(self, n: int) -> str:
        """LLVM type of a node."""
        return self.w.vector(self.p.types[n], self.p.uniform[n])

    def widen(self, n: int) -> None:
        """Vectors are from here on as wide as a node."""
        if self.p.ops[n] in ("lane", "total"):
            n = self.p.args[n][0]
        self.w.lanes = self.layout.width(n)

    def define(self, n: int, text: str) -> None:
        """The value of a node is this, here."""
        self.widen(n)
        self.values.define(n, text)

    def carried(self, n: int, where: int) -> str:
        """A value as that of another node, such as a phi, to which it goes."""
        self.widen(where)
        return self.values.operand(n, self.p.uniform[where])

    def enter(self, label: str) -> None:
        """Begin a block in which nothing is at hand."""
        self.w.start(label)
        self.values.forget()

    # -- nodes -------------------------------------------------------------------------------

    def node(self, n: int, region: Region) -> None:
        p = self.p
        op, args, type, uniform = p.ops[n], p.args[n], p.types[n], p.uniform[n]
        self.widen(n)
        if op == "load":
            text = self.memory.load(args[1], args[0])
        elif op == "lane":
            text = self.values.lane(args[0], p.value(args[1]))
        elif op == "total":
            text = self._total(args[0], type)
        elif op == "pack":
            text = self._pack(args, type)
        else:
            values = [self.values.operand(a, uniform) for a in args]
            if op == "div" and (args[1], region) in self.layout.reciprocals:
                text = self._times_reciprocal(args[1], values, type, uniform)
            else:
                text = operation(self.w, op, values, [p.types[a] for a in args], type, uniform)
        self.values.define(n, text)
        self.values.drop(n)
        self._operations += 1
        if self.layout.drops and self._operations % _BLOCK == 0:
            label = self.w.label()
            self.w.line(f"br i1 %given, label %{label}, label %never, !prof !1")
            self.w.start(label)

    def _total(self, n: int, type: str) -> str:
        w, t, base = self.w, self.w.vector(type, False), LLVM[type]
        out, name = w.name(), f"llvm.vector.reduce.fadd.{w.suffix(type, False)}"
        w.declare(name, base, base, t)
        x = self.values.operand(n, False)
        w.line(f"{out} = call reassoc {base} @{name}({base} -0.0, {t} {x})")
        return out

    def _pack(self, scalars: tuple[int, ...], type: str) -> str:
        if (stride := self._stride(scalars)) is not None:
            index, buffer = self.p.args[scalars[0]]
            return self.memory.load_strided(buffer, index, stride)
        whole, t = "poison", self.w.vector(type, False)
        for k, a in enumerate(scalars):
            value, out = self.values.operand(a, True), self.w.name()
            self.w.line(f"{out} = insertelement {t} {whole}, {LLVM[type]} {value}, i64 {k}")
            whole = out
        return whole

    def _stride(self, loads: tuple[int, ...]) -> int | None:
        """Distance of elements of an input that are read at equal distances."""
        p = self.p
        if any(p.ops[a] != "load" or not p.is_const(p.args[a][0]) for a in loads):
            return None
        at, buffers = [p.value(p.args[a][0]) for a in loads], {p.args[a][1].number for a in loads}
        strides = {j - i for i, j in pairwise(at)}
        alike = len(buffers) == len(strides) == 1 and p.args[loads[0]][1].role == "input"
        return strides.pop() if alike else None

    def _times_reciprocal(self, divisor: int, values: list[str], type: str, uniform: bool) -> str:
        w = self.w
        t = w.vector(type, uniform)

        def reciprocal() -> str:
            one, out = w.literal(1.0, type, uniform), w.name()
            w.line(f"{out} = fdiv {t} {one}, {values[1]}")
            return out

        inverse = self.values.once(("reciprocal", divisor), uniform, reciprocal)
        if values[0] == w.literal(1.0, type, uniform):
            return inverse
        out = w.name()
        w.line(f"{out} = fmul contract {t} {values[0]}, {inverse}")
        return out

    # -- statements --------------------------------------------------------------------------

    def store(self, s: Store) -> None:
        self.memory.store(s)
        self.values.drop(s)

    def library(self, s: Library, region: Region) -> None:
        w, p = self.w, self.p
        kept = [k for k, r in enumerate(s.results) if r in self.live.nodes]
        if not kept:
            return
        uniform = all(p.uniform[s.results[k]] for k in kept)
        self.widen(s.results[kept[0]])
        b = w.vector("i1", uniform)
        masks = [self.values.operand(s.where[k], uniform) for k in kept]
        xs = [self.values.operand(s.xs[k], uniform) for k in kept]
        types = [p.types[s.xs[k]] for k in kept]
        zeros = [w.literal(0, type, uniform) for type in types]
        some = masks[0]
        for mask in masks[1:]:
            out = w.name()
            w.line(f"{out} = or {b} {some}, {mask}")
            some = out
        some = some_lane(w, some, uniform)
        before, rare, after = w.block, w.label(), w.label()
        w.line(f"br i1 {some}, label %{rare}, label %{after}, !prof !1")
        w.start(rare)
        found = []
        for x, mask, type, zero in zip(xs, masks, types, zeros, strict=True):
            t, function = w.vector(type, uniform), helper(w, s.name, type, uniform)
            y, z = w.name(), w.name()
            w.line(f"{y} = call {t} @{function}({t} {x})")
            w.line(f"{z} = select {b} {mask}, {t} {y}, {t} {zero}")
            found.append(z)
        w.line(f"br label %{after}")
        w.start(after)
        names = [w.name() for _ in kept]
        for out, z, type, zero in zip(names, found, types, zeros, strict=True):
            t = w.vector(type, uniform)
            w.line(f"{out} = phi {t} [ {zero}, %{before} ], [ {z}, %{rare} ]")
        for k, out in zip(kept, names, strict=True):
            self.values.define(s.results[k], out)

    def tile(self, tile: Region) -> None:
        w = self.w
        before, head, after = w.block, w.label(), w.label()
        w.line(f"br label %{head}")
        self.enter(head)
        spot = len(w.lines)
        self.walk(tile)
        w.line("%tilenext = add i64 %tile, 1")
        w.line("%tiledone = icmp eq i64 %tilenext, %end")
        w.lines.insert(spot, f"  %tile = phi i64 [ %begin, %{before} ], [ %tilenext, %{w.block} ]")
        w.line(f"br i1 %tiledone, label %{after}, label %{head}")
        self.enter(after)

    def loop(self, s: Loop, region: Region) -> None:
        w, values = self.w, self.values
        kept = [k for k, phi in enumerate(s.phis) if phi in self.live.nodes]
        carried = [s.phis[k] for k in kept]
        inits = [self.carried(s.inits[k], s.phis[k]) for k in kept]
        count = self._count(s)
        before, head, after = w.block, w.label(), w.label()
        w.line(f"br label %{head}")
        self.enter(head)
        spot = len(w.lines)
        counter = w.name() if s.counter >= 0 else ""
        names = [w.name() for _ in kept]
        if counter:
            values.define(s.counter, counter)
        for phi, name in zip(carried, names, strict=True):
            self.define(phi, name)
        self.walk(s.body)
        if s.test is not None:
            self._leave_unless(s, after)
            self.walk(s.test)
        nexts = [self.carried(s.nexts[k], s.phis[k]) for k in kept]
        exports = {r: self.carried(n, r) for r, n in s.exports.items() if r in self.live.nodes}
        ends = self._repeat(count, counter, head, after)
        phis = [f"  {counter} = phi i64 [ 0, %{before} ], [ {ends}, %{w.block} ]"] if ends else []
        for phi, name, init, following in zip(carried, names, inits, nexts, strict=True):
            self.widen(phi)
            phis.append(
                f"  {name} = phi {self.type(phi)} [ {init}, %{before} ], "
                f"[ {following}, %{w.block} ]"
            )
        w.lines[spot:spot] = phis
        self.enter(after)
        last = nexts if s.test is None else names
        for k, text in zip(kept, last, strict=True):
            if s.results[k] in self.live.nodes:
                self.define(s.results[k], text)
        for r, text in exports.items():
            self.define(r, text)

    def _count(self, s: Loop) -> str | None:
        """Turns of a counted loop."""
        if s.test is not None:
            return None
        if self.p.is_const(s.count):
            return self.w.size("count", self.p.value(s.count))
        return self.values.operand(s.count, True)

    def _leave_unless(self, s: Loop, after: str) -> None:
        """Leave a loop that no lane wants to go on with."""
        w, uniform = self.w, self.p.uniform[s.going]
        self.widen(s.going)
        going = some_lane(w, self.values.operand(s.going, uniform), uniform)
        inner = w.label()
        w.line(f"br i1 {going}, label %{inner}, label %{after}")
        self.enter(inner)

    def _repeat(self, count: str | None, counter: str, head: str, after: str) -> str:
        """The end of a turn; the next value of the counter, if turns are counted."""
        w = self.w
        if count is None:
            w.line(f"br label %{head}")
            return ""
        step, done = w.name(), w.name()
        w.line(f"{step} = add i64 {counter}, 1")
        w.line(f"{done} = icmp eq i64 {step}, {count}")
        w.line(f"br i1 {done}, label %{after}, label %{head}")
        return step

    def branch(self, s: Branch, region: Region) -> None:
        w, p = self.w, self.p
        uniform = p.uniform[s.condition]
        self.widen(s.condition)
        condition = some_lane(w, self.values.operand(s.condition, uniform), uniform)
        labels, after = [w.label(), w.label()], w.label()
        w.line(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        kept = [k for k, r in enumerate(s.results) if r in self.live.nodes]
        ends = []
        for label, side, values in zip(labels, s.sides, s.values, strict=True):
            self.enter(label)
            self.walk(side)
            texts = [self.carried(values[k], s.results[k]) for k in kept]
            ends.append((w.block, texts))
            w.line(f"br label %{after}")
        self.enter(after)
        outs = [w.name() for _ in kept]
        for j, (k, out) in enumerate(zip(kept, outs, strict=True)):
            self.widen(s.results[k])
            pairs = ", ".join(f"[ {texts[j]}, %{block} ]" for block, texts in ends)
            w.line(f"{out} = phi {self.type(s.results[k])} {pairs}")
        for k, out in zip(kept, outs, strict=True):
            self.define(s.results[k], out)
