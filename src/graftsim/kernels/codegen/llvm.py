"""The back end: a program as the text of an LLVM module, lanes as vectors.

One function runs a range of tiles (a tile: as many simulations as a vector has lanes). Within a
loop values live in registers; a value that crosses into an inner loop goes through a slot in
memory: that keeps live ranges short, LLVM's time linear, and lets values that all lanes share be
read as scalars and spread on the fly.
"""

from __future__ import annotations

import struct
from collections import Counter
from itertools import pairwise
from typing import Any

from graftsim.kernels.codegen.liveness import Live, find_live
from graftsim.kernels.ir.program import BITS, Branch, Buffer, Library, Loop, Program, Region, Store

LLVM = {"f32": "float", "f64": "double", "i32": "i32", "i64": "i64", "u32": "i32", "u64": "i64",
        "i1": "i1"}  # fmt: skip
MEMORY = {**LLVM, "i1": "i8"}
BYTES = {"f32": 4, "f64": 8, "i32": 4, "i64": 8, "u32": 4, "u64": 8, "i1": 1}

# Whole numbers beyond this are read from a table, so that lengths do not change the machine code.
LITERAL = 64

_FLOAT = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract",
          "div": "fdiv", "rem": "frem", "xadd": "fadd", "xsub": "fsub", "xmul": "fmul"}  # fmt: skip
_INT = {"add": "add", "sub": "sub", "mul": "mul", "div": "sdiv", "rem": "srem", "band": "and",
        "bor": "or", "bxor": "xor", "shl": "shl", "lshr": "lshr", "ashr": "ashr"}  # fmt: skip
_INTRINSIC = {"sqrt": "sqrt", "floor": "floor", "ceil": "ceil", "trunc": "trunc",
              "rint": "roundeven", "copysign": "copysign", "fma": "fma", "min": "minimum",
              "max": "maximum", "abs": "fabs"}  # fmt: skip
_INTEGER_INTRINSIC = {"min": "smin", "max": "smax"}
_UNSIGNED = {"div": "udiv", "rem": "urem", "ashr": "lshr", "min": "umin", "max": "umax",
             "slt": "ult", "sle": "ule", "sgt": "ugt", "sge": "uge"}  # fmt: skip
_COMPARE = {"lt": ("olt", "slt"), "le": ("ole", "sle"), "gt": ("ogt", "sgt"),
            "ge": ("oge", "sge"), "eq": ("oeq", "eq"), "ne": ("une", "ne")}  # fmt: skip


class Module:
    """LLVM text of a program for a number of lanes."""

    def __init__(self, p: Program, lanes: int, live: Live | None = None) -> None:
        self.p, self.lanes = p, lanes
        self.live = find_live(p) if live is None else live
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}
        self.helpers: dict[str, str] = {}
        self.sizes: list[int] = []
        self._size_names: dict[tuple[str, int], str] = {}
        self._fresh = 0
        self.scratch = 0
        self._work: list[Buffer] = []
        self._plan()
        self.text = self._emit()

    # -- plan: which values need a slot -------------------------------------------------------

    def _plan(self) -> None:
        p, live = self.p, self.live
        self.count: Counter[int] = Counter()
        for n in live.nodes:
            if p.ops[n] != "const":
                self.count[id(self._loop_of(p.regions[n]))] += 1
        self.defined: dict[int, Region] = {}
        self.slots: dict[int, int] = {}
        self._divisors: Counter[tuple[int, int]] = Counter()
        self._needs: set[int] = set()
        self._walk(p.root, _Planner(self))
        for n in sorted(self._needs):
            self.slots[n] = self._allocate(n)

    def _allocate(self, n: int) -> int:
        width = BYTES[self.p.types[n]] * (1 if self.p.uniform[n] else self.lanes)
        at = -(-self.scratch // width) * width
        self.scratch = at + width
        return at

    def work(self) -> int:
        """Operations of a tile, all turns of its loops counted; ten of a loop without a count."""
        total = self.count[id(self.p.tile)]
        for s in self.live.statements:
            if isinstance(s, Loop):
                total += self.count[id(s.body)] * self._turns(s.body)
        return total

    def _turns(self, region: Region | None) -> int:
        turns = 1
        while region is not None:
            s = region.owner
            if isinstance(s, Loop) and region is s.body:
                turns *= self.p.value(s.count) if s.test is None else 10
            region = region.parent
        return turns

    def _loop_of(self, region: Region | None) -> Region:
        while region is not None and not region.loop and region.parent is not None:
            region = region.parent
        assert region is not None
        return region

    def _walk(self, region: Region, visitor: Any) -> None:
        """Items in order, the same for plan and emission."""
        tile = self.p.tile
        for item in region.items:
            if item is tile:
                visitor.tile(tile)
            elif isinstance(item, int):
                if item in self.live.nodes:
                    visitor.node(item, region)
            elif self.live.has(item):
                if isinstance(item, Store):
                    visitor.store(item)
                elif isinstance(item, Library):
                    visitor.library(item, region)
                elif isinstance(item, Loop):
                    visitor.loop(item, region)
                else:
                    visitor.branch(item, region)

    # -- text --------------------------------------------------------------------------------

    def line(self, text: str) -> None:
        """One instruction."""
        self.lines.append("  " + text)

    def name(self) -> str:
        """A new local name."""
        self._fresh += 1
        return f"%t{self._fresh}"

    def label(self) -> str:
        """A new block name."""
        self._fresh += 1
        return f"b{self._fresh}"

    def start(self, label: str) -> None:
        """Begin a block."""
        self.lines.append(f"{label}:")
        self.block = label

    def vector(self, type: str, uniform: bool, table: dict[str, str] = LLVM) -> str:
        """LLVM type of a value."""
        base = table[type]
        return base if uniform or self.lanes == 1 else f"<{self.lanes} x {base}>"

    def type(self, n: int) -> str:
        """LLVM type of a node."""
        return self.vector(self.p.types[n], self.p.uniform[n])

    def declare(self, name: str, result: str, *args: str) -> None:
        """Remember a declaration."""
        self.declared[name] = f"declare {result} @{name}({', '.join(args)})"

    def size(self, kind: str, value: int) -> str:
        """Name of a number from the table of sizes."""
        key = (kind, value)
        if key not in self._size_names:
            self._size_names[key] = f"%size{len(self.sizes)}"
            self.sizes.append(value)
        return self._size_names[key]

    def literal(self, value: Any, type: str, uniform: bool) -> str:
        """A constant operand."""
        if type == "i1":
            text = "true" if value else "false"
        elif type == "i64" and abs(value) > LITERAL:
            text = self.size("number", value)
            if uniform or self.lanes == 1:
                return text
            return self.spread(text, type)
        elif type[0] != "f":
            text = str(int(value))
        else:
            bits = struct.unpack("<Q", struct.pack("<d", value))[0]
            text = f"0x{bits:016X}"
        if uniform or self.lanes == 1:
            return text
        return f"splat ({LLVM[type]} {text})"

    def spread(self, text: str, type: str) -> str:
        """A scalar in all lanes."""
        base, vec = LLVM[type], self.vector(type, False)
        a, b = self.name(), self.name()
        self.line(f"{a} = insertelement {vec} poison, {base} {text}, i64 0")
        self.line(
            f"{b} = shufflevector {vec} {a}, {vec} poison, <{self.lanes} x i32> zeroinitializer"
        )
        return b

    def operand(self, n: int, uniform: bool) -> str:
        """Text of a node's value here, as a scalar or a vector."""
        p = self.p
        uniform = uniform or self.lanes == 1
        if p.ops[n] == "const":
            return self.literal(p.args[n][0], p.types[n], uniform)
        key = (n, uniform)
        found = self.here.get(key)
        if found is not None:
            return found
        if uniform or not p.uniform[n]:
            text = self._fetch(n)
        else:
            text = self.spread(self.operand(n, True), p.types[n])
        self.here[key] = text
        return text

    def _fetch(self, n: int) -> str:
        where = self.slots.get(n)
        if where is None:
            return self.ssa[n]
        p, type = self.p, self.p.types[n]
        memory = self.vector(type, p.uniform[n], MEMORY)
        ptr, out = self.name(), self.name()
        align = BYTES[type] * (1 if p.uniform[n] else self.lanes)
        self.line(f"{ptr} = getelementptr i8, ptr %scratch, i64 {where}")
        self.line(f"{out} = load {memory}, ptr {ptr}, align {align}")
        return self._from_memory(out, type, p.uniform[n])

    def _from_memory(self, text: str, type: str, uniform: bool) -> str:
        if type != "i1":
            return text
        out = self.name()
        self.line(
            f"{out} = trunc {self.vector('i1', uniform, MEMORY)} {text} to "
            f"{self.vector('i1', uniform)}"
        )
        return out

    def _to_memory(self, text: str, type: str, uniform: bool) -> str:
        if type != "i1":
            return text
        out = self.name()
        self.line(
            f"{out} = zext {self.vector('i1', uniform)} {text} to "
            f"{self.vector('i1', uniform, MEMORY)}"
        )
        return out

    def define(self, n: int, text: str) -> None:
        """The value of a node is this, here."""
        self.ssa[n] = text
        self.here[n, self.p.uniform[n] or self.lanes == 1] = text
        where = self.slots.get(n)
        if where is not None:
            type, uniform = self.p.types[n], self.p.uniform[n]
            kept = self._to_memory(text, type, uniform)
            ptr = self.name()
            align = BYTES[type] * (1 if uniform else self.lanes)
            self.line(f"{ptr} = getelementptr i8, ptr %scratch, i64 {where}")
            self.line(
                f"store {self.vector(type, uniform, MEMORY)} {kept}, ptr {ptr}, align {align}"
            )

    def forget(self) -> None:
        """What was at hand is not any more."""
        self.here: dict[tuple[Any, bool], str] = {}

    def _emit(self) -> str:
        p = self.p
        self.ssa: dict[int, str] = {}
        self._bases: dict[int, str] = {}
        self.forget()
        emitter = _Emitter(self)
        self.block = "entry"
        self._walk(p.root, emitter)
        self.line("ret void")
        head = [
            # Without the alignment, vectors that do not fit the registers would straddle the lines
            # of the cache.
            "define void @kernel(ptr noalias %buffers, ptr noalias %sizes, ptr noalias %scratch, "
            "i64 %begin, i64 %end) alignstack(64) {",
            "entry:",
        ]
        for name in self._size_names.values():
            k = int(name[5:])
            head.append(f"  %sizeptr{k} = getelementptr i64, ptr %sizes, i64 {k}")
            head.append(f"  {name} = load i64, ptr %sizeptr{k}")
        head += self._prologue
        text = [*head, *self.lines, "}"]
        return "\n".join([*self.declared.values(), *self.helpers.values(), *text]) + "\n"

    @property
    def _prologue(self) -> list[str]:
        out = []
        for b in self._work:
            key = self._size_names["work", b.number]
            out.append(f"  %work{b.number} = getelementptr i8, ptr %scratch, i64 {key}")
        return out

    def place_work(self, b: Buffer) -> str:
        """Base pointer of a work buffer."""
        if b.number not in self._bases:
            at = -(-self.scratch // 64) * 64
            self.scratch = at + BYTES[b.type] * b.size * (1 if b.uniform else self.lanes)
            self._size_names["work", b.number] = f"%size{len(self.sizes)}"
            self.sizes.append(at)
            self._work.append(b)
            self._bases[b.number] = f"%work{b.number}"
        return self._bases[b.number]


class _Planner:
    """First walk: where every value is defined and used."""

    def __init__(self, m: Module) -> None:
        self.m = m

    def use(self, n: int, region: Region) -> None:
        m = self.m
        if m.p.ops[n] == "const":
            return
        if m._loop_of(region) is not m._loop_of(m.defined[n]):
            m._needs.add(n)

    def define(self, n: int, region: Region) -> None:
        self.m.defined[n] = region

    def node(self, n: int, region: Region) -> None:
        p = self.m.p
        args = p.args[n]
        if p.ops[n] == "load":
            self.use(args[0], region)
        else:
            if p.ops[n] == "lane":
                self.m._needs.add(args[0])  # read from memory, where spreading costs nothing
                args = ()
            elif p.ops[n] == "div" and p.types[n][0] == "f":
                self.m._divisors[args[1], id(region)] += 1
            for a in args:
                self.use(a, region)
        self.define(n, region)

    def store(self, s: Store) -> None:
        self.use(s.value, s.region)
        self.use(s.index, s.region)

    def library(self, s: Library, region: Region) -> None:
        for n in (*s.xs, *s.where):
            self.use(n, region)
        for r in s.results:
            self.define(r, region)

    def tile(self, tile: Region) -> None:
        self.m._walk(tile, self)

    def loop(self, s: Loop, region: Region) -> None:
        live = self.m.live.nodes
        kept = [k for k, phi in enumerate(s.phis) if phi in live]
        for k in kept:
            self.use(s.inits[k], region)
        if s.test is None:
            self.use(s.count, region)
        self.define(s.counter, s.body)
        for k in kept:
            self.define(s.phis[k], s.body)
        self.m._walk(s.body, self)
        last = s.body
        if s.test is not None:
            self.use(s.going, s.body)
            self.m._walk(s.test, self)
            last = s.test
        for k in kept:
            self.use(s.nexts[k], last)
        exported = {r: n for r, n in s.exports.items() if r in live}
        for n in exported.values():
            self.use(n, last)
        for r in (*s.results, *exported):
            self.define(r, region)

    def branch(self, s: Branch, region: Region) -> None:
        self.use(s.condition, region)
        for side, values in zip(s.sides, s.values, strict=True):
            self.m._walk(side, self)
            for r, v in zip(s.results, values, strict=True):
                if r in self.m.live.nodes:
                    self.use(v, side)
        for r in s.results:
            self.define(r, region)


class _Emitter:
    """Second walk: the text."""

    def __init__(self, m: Module) -> None:
        self.m = m

    # -- nodes -------------------------------------------------------------------------------

    def node(self, n: int, region: Region) -> None:
        m, p = self.m, self.m.p
        op, args, type, uniform = p.ops[n], p.args[n], p.types[n], p.uniform[n]
        if op == "load":
            m.define(n, self._load(args[1], args[0]))
            return
        if op in ("lane", "pack", "total"):
            m.define(n, self._across(op, args, type))
            return
        values = [m.operand(a, uniform) for a in args]
        if op == "div" and type[0] == "f" and m._divisors[args[1], id(region)] > 1:
            m.define(n, self._times_reciprocal(args[1], values, type, uniform))
            return
        m.define(n, self.operation(op, values, [p.types[a] for a in args], type, uniform))

    def _across(self, op: str, args: tuple[int, ...], type: str) -> str:
        """Between scalars and a vector of them."""
        m, t, base = self.m, self.m.vector(type, False), LLVM[type]
        if op == "lane":
            at = m.slots[args[0]] + m.p.value(args[1]) * BYTES[type]
            ptr, out = m.name(), m.name()
            m.line(f"{ptr} = getelementptr i8, ptr %scratch, i64 {at}")
            m.line(f"{out} = load {MEMORY[type]}, ptr {ptr}, align {BYTES[type]}")
            return m._from_memory(out, type, True)
        if op == "total":
            out, name = m.name(), f"llvm.vector.reduce.fadd.{self._suffix(type, False)}"
            m.declare(name, base, base, t)
            x = m.operand(args[0], False)
            m.line(f"{out} = call reassoc {base} @{name}({base} -0.0, {t} {x})")
            return out
        if (stride := self._stride(args)) is not None:
            return self._load_strided(args[0], stride)
        whole = "poison"
        for k, a in enumerate(args):
            value, out = m.operand(a, True), m.name()
            m.line(f"{out} = insertelement {t} {whole}, {base} {value}, i64 {k}")
            whole = out
        return whole

    def _stride(self, loads: tuple[int, ...]) -> int | None:
        """Distance of elements of an input that are read at equal distances."""
        p = self.m.p
        if any(p.ops[a] != "load" or not p.is_const(p.args[a][0]) for a in loads):
            return None
        at, buffers = [p.value(p.args[a][0]) for a in loads], {p.args[a][1].number for a in loads}
        strides = {j - i for i, j in pairwise(at)}
        alike = len(buffers) == len(strides) == 1 and p.args[loads[0]][1].role == "input"
        return strides.pop() if alike else None

    def _load_strided(self, first: int, stride: int) -> str:
        m, (index, b) = self.m, self.m.p.args[first]
        ptr, _ = self._address(b, index)
        places, out = m.name(), m.name()
        steps = ", ".join(f"i64 {k * stride}" for k in range(m.lanes))
        m.line(f"{places} = getelementptr {MEMORY[b.type]}, ptr {ptr}, <{m.lanes} x i64> <{steps}>")
        self._gather(out, b, places)
        return m._from_memory(out, b.type, False)

    def _times_reciprocal(self, divisor: int, values: list[str], type: str, uniform: bool) -> str:
        m = self.m
        t = m.vector(type, uniform)
        key = (("reciprocal", divisor), uniform)
        if key not in m.here:
            one = m.literal(1.0, type, uniform)
            r = m.name()
            m.line(f"{r} = fdiv {t} {one}, {values[1]}")
            m.here[key] = r
        if values[0] == m.literal(1.0, type, uniform):
            return m.here[key]
        out = m.name()
        m.line(f"{out} = fmul contract {t} {values[0]}, {m.here[key]}")
        return out

    def operation(
        self, op: str, values: list[str], types: list[str], type: str, uniform: bool
    ) -> str:
        m = self.m
        t = m.vector(types[0], uniform)
        result = m.vector(type, uniform)
        out = m.name()
        real, unsigned = types[0][0] == "f", types[0][0] == "u"
        if op in _COMPARE:
            order = _COMPARE[op][1]
            word = f"icmp {_UNSIGNED.get(order, order) if unsigned else order}"
            word = f"fcmp {_COMPARE[op][0]}" if real else word
            m.line(f"{out} = {word} {t} {values[0]}, {values[1]}")
        elif op == "select":
            c = m.vector("i1", uniform)
            m.line(f"{out} = select {c} {values[0]}, {result} {values[1]}, {result} {values[2]}")
        elif op == "neg":
            if real:
                m.line(f"{out} = fneg {t} {values[0]}")
            else:
                m.line(f"{out} = sub {t} {m.literal(0, type, uniform)}, {values[0]}")
        elif op == "bnot":
            ones = m.literal(True if type == "i1" else -1, type, uniform)
            m.line(f"{out} = xor {t} {values[0]}, {ones}")
        elif op == "bitcast":
            m.line(f"{out} = bitcast {t} {values[0]} to {result}")
        elif op == "convert":
            self._convert(out, values[0], types[0], type, uniform)
        elif real and op in _INTRINSIC:
            self._intrinsic(out, _INTRINSIC[op], values, type, uniform)
        elif op == "abs" and unsigned:
            return values[0]
        elif op == "abs":
            name = f"llvm.abs.{self._suffix(type, uniform)}"
            m.declare(name, t, t, "i1")
            m.line(f"{out} = call {t} @{name}({t} {values[0]}, i1 false)")
        elif op in _INTEGER_INTRINSIC:
            word = _UNSIGNED[op] if unsigned else _INTEGER_INTRINSIC[op]
            self._intrinsic(out, word, values, type, uniform)
        else:
            word = (_FLOAT if real else _INT)[op]
            word = _UNSIGNED.get(op, word) if unsigned else word
            m.line(f"{out} = {word} {t} {values[0]}, {values[1]}")
        return out

    def _suffix(self, type: str, uniform: bool) -> str:
        lanes = "" if uniform or self.m.lanes == 1 else f"v{self.m.lanes}"
        return lanes + type.replace("u", "i")

    def _intrinsic(self, out: str, name: str, values: list[str], type: str, uniform: bool) -> None:
        m, t = self.m, self.m.vector(type, uniform)
        name = f"llvm.{name}.{self._suffix(type, uniform)}"
        m.declare(name, t, *[t] * len(values))
        m.line(f"{out} = call {t} @{name}({', '.join(f'{t} {v}' for v in values)})")

    def _convert(self, out: str, value: str, was: str, type: str, uniform: bool) -> None:
        m = self.m
        a, b = m.vector(was, uniform), m.vector(type, uniform)
        if was[0] == "f" and type[0] != "f":
            word = "fptoui" if type[0] == "u" else "fptosi"
            suffixes = f"{self._suffix(type, uniform)}.{self._suffix(was, uniform)}"
            name = f"llvm.{word}.sat.{suffixes}"
            m.declare(name, b, a)
            m.line(f"{out} = call {b} @{name}({a} {value})")
            return
        if was[0] == "f":
            word = "fpext" if BITS[type] > BITS[was] else "fptrunc"
        elif type[0] == "f":
            word = "uitofp" if was == "i1" or was[0] == "u" else "sitofp"
        elif was == "i1" or was[0] == "u":
            word = "zext" if BITS[type] > BITS[was] else "trunc"
        else:
            word = "sext" if BITS[type] > BITS[was] else "trunc"
        if a == b:
            word = "bitcast"
        m.line(f"{out} = {word} {a} {value} to {b}")

    # -- memory ------------------------------------------------------------------------------

    def _base(self, b: Buffer) -> str:
        m = self.m
        b = b.base or b
        if b.role == "work":
            return m.place_work(b)
        key = (("base", b.number), True)
        if key in m.here:
            return m.here[key]
        a, ptr = m.name(), m.name()
        m.line(f"{a} = getelementptr ptr, ptr %buffers, i64 {b.slot}")
        m.line(f"{ptr} = load ptr, ptr {a}, !invariant.load !0")
        if not b.uniform:
            offset, moved = m.name(), m.name()
            m.line(f"{offset} = mul i64 %tile, {m.size('stride', b.size * m.lanes)}")
            m.line(f"{moved} = getelementptr {MEMORY[b.type]}, ptr {ptr}, i64 {offset}")
            ptr = moved
        m.here[key] = ptr
        return ptr

    def _address(self, b: Buffer, index: int) -> tuple[str, bool]:
        """Pointer, or vector of pointers, to an element; and is it one pointer?"""
        m, p = self.m, self.m.p
        base, element = self._base(b), MEMORY[b.type]
        lane = 1 if b.uniform else m.lanes
        single = p.uniform[index] or m.lanes == 1
        out = m.name()
        if p.is_const(index) and abs(p.value(index) * lane) < 2**31:
            at = p.value(index) * lane
            at = str(at) if p.value(index) <= LITERAL else m.size("at", at)
            m.line(f"{out} = getelementptr {element}, ptr {base}, i64 {at}")
            return out, True
        i = m.operand(index, single)
        t = m.vector("i64", single)
        if lane > 1:
            scaled = m.name()
            m.line(f"{scaled} = mul {t} {i}, {m.literal(lane, 'i64', single)}")
            i = scaled
        if single:
            m.line(f"{out} = getelementptr {element}, ptr {base}, i64 {i}")
            return out, True
        if not b.uniform:
            own = ", ".join(f"i64 {k}" for k in range(m.lanes))
            moved = m.name()
            m.line(f"{moved} = add {t} {i}, <{own}>")
            i = moved
        m.line(f"{out} = getelementptr {element}, ptr {base}, {t} {i}")
        return out, False

    def _load(self, b: Buffer, index: int) -> str:
        m = self.m
        uniform = (b.uniform and m.p.uniform[index]) or m.lanes == 1
        ptr, single = self._address(b, index)
        t = m.vector(b.type, uniform, MEMORY)
        out = m.name()
        if single:
            m.line(f"{out} = load {t}, ptr {ptr}, align {BYTES[b.type]}")
        else:
            self._gather(out, b, ptr)
        return m._from_memory(out, b.type, uniform)

    def _gather(self, out: str, b: Buffer, places: str) -> None:
        m, t = self.m, self.m.vector(b.type, False, MEMORY)
        pointers, mask = f"<{m.lanes} x ptr>", f"<{m.lanes} x i1>"
        element = MEMORY[b.type]
        short = {"float": "f32", "double": "f64"}.get(element, element)
        name = f"llvm.masked.gather.v{m.lanes}{short}.v{m.lanes}p0"
        m.declare(name, t, pointers, "i32", mask, t)
        m.line(
            f"{out} = call {t} @{name}({pointers} {places}, i32 {BYTES[b.type]}, "
            f"{mask} splat (i1 true), {t} zeroinitializer)"
        )

    def store(self, s: Store) -> None:
        m, b = self.m, s.buffer
        ptr, single = self._address(b, s.index)
        uniform = b.uniform or m.lanes == 1
        t = m.vector(b.type, uniform, MEMORY)
        value = m._to_memory(m.operand(s.value, uniform), b.type, uniform)
        if single:
            m.line(f"store {t} {value}, ptr {ptr}, align {BYTES[b.type]}")
            return
        pointers, mask = f"<{m.lanes} x ptr>", f"<{m.lanes} x i1>"
        element = MEMORY[b.type]
        short = {"float": "f32", "double": "f64"}.get(element, element)
        name = f"llvm.masked.scatter.v{m.lanes}{short}.v{m.lanes}p0"
        m.declare(name, "void", t, pointers, "i32", mask)
        m.line(
            f"call void @{name}({t} {value}, {pointers} {ptr}, i32 {BYTES[b.type]}, "
            f"{mask} splat (i1 true))"
        )

    # -- statements --------------------------------------------------------------------------

    def library(self, s: Library, region: Region) -> None:
        m, p = self.m, self.m.p
        kept = [k for k, r in enumerate(s.results) if r in m.live.nodes]
        if not kept:
            return
        uniform = all(p.uniform[s.results[k]] for k in kept)
        b = m.vector("i1", uniform)
        masks = [m.operand(s.where[k], uniform) for k in kept]
        xs = [m.operand(s.xs[k], uniform) for k in kept]
        some = masks[0]
        for mask in masks[1:]:
            out = m.name()
            m.line(f"{out} = or {b} {some}, {mask}")
            some = out
        some = self.any(some, uniform)
        before, rare, after = m.block, m.label(), m.label()
        m.line(f"br i1 {some}, label %{rare}, label %{after}, !prof !1")
        m.start(rare)
        found = []
        for k, x, mask in zip(kept, xs, masks, strict=True):
            type = p.types[s.xs[k]]
            t = m.vector(type, uniform)
            helper = self._helper(s.name, type, uniform)
            y, z = m.name(), m.name()
            m.line(f"{y} = call {t} @{helper}({t} {x})")
            m.line(f"{z} = select {b} {mask}, {t} {y}, {t} {m.literal(0, type, uniform)}")
            found.append(z)
        m.line(f"br label %{after}")
        m.start(after)
        outs = []
        for k, z in zip(kept, found, strict=True):
            type = p.types[s.xs[k]]
            out = m.name()
            zero = m.literal(0, type, uniform)
            m.line(f"{out} = phi {m.vector(type, uniform)} [ {zero}, %{before} ], [ {z}, %{rare} ]")
            outs.append(out)
        for k, out in zip(kept, outs, strict=True):
            m.define(s.results[k], out)

    def any(self, value: str, uniform: bool) -> str:
        """Does it hold in any lane?"""
        m = self.m
        if uniform or m.lanes == 1:
            return value
        t = m.vector("i1", False)
        name = f"llvm.vector.reduce.or.v{m.lanes}i1"
        m.declare(name, "i1", t)
        out = m.name()
        m.line(f"{out} = call i1 @{name}({t} {value})")
        return out

    def _helper(self, name: str, type: str, uniform: bool) -> str:
        """Function that calls the C library for each lane."""
        m = self.m
        lanes = 1 if uniform else m.lanes
        helper = f"slow_{name}_{type}_{lanes}"
        if helper not in m.helpers:
            t = m.vector(type, uniform)
            m.declare(name, "double", "double")
            out = [f"define internal {t} @{helper}({t} %x) noinline cold {{"]
            result = "poison"
            for k in range(lanes):
                x = "%x"
                if lanes > 1:
                    out.append(f"  %x{k} = extractelement {t} %x, i64 {k}")
                    x = f"%x{k}"
                if type == "f32":
                    out.append(f"  %d{k} = fpext float {x} to double")
                    x = f"%d{k}"
                out.append(f"  %y{k} = call double @{name}(double {x})")
                y = f"%y{k}"
                if type == "f32":
                    out.append(f"  %f{k} = fptrunc double {y} to float")
                    y = f"%f{k}"
                if lanes > 1:
                    out.append(f"  %v{k} = insertelement {t} {result}, {LLVM[type]} {y}, i64 {k}")
                    y = f"%v{k}"
                result = y
            out.append(f"  ret {t} {result}\n}}")
            m.helpers[helper] = "\n".join(out)
        return helper

    def tile(self, tile: Region) -> None:
        m = self.m
        before, head, after = m.block, m.label(), m.label()
        m.line(f"br label %{head}")
        m.start(head)
        m.forget()
        spot = len(m.lines)
        m._walk(tile, self)
        m.line("%tilenext = add i64 %tile, 1")
        m.line("%tiledone = icmp eq i64 %tilenext, %end")
        m.lines.insert(spot, f"  %tile = phi i64 [ %begin, %{before} ], [ %tilenext, %{m.block} ]")
        m.line(f"br i1 %tiledone, label %{after}, label %{head}")
        m.start(after)
        m.forget()

    def loop(self, s: Loop, region: Region) -> None:
        m, p = self.m, self.m.p
        live = m.live.nodes
        kept = [k for k, phi in enumerate(s.phis) if phi in live]
        inits = [m.operand(s.inits[k], p.uniform[s.phis[k]]) for k in kept]
        count = None
        if s.test is None:
            count = (
                m.size("count", p.value(s.count)) if p.is_const(s.count)
                else m.operand(s.count, True)
            )  # fmt: skip
        before, head, after = m.block, m.label(), m.label()
        m.line(f"br label %{head}")
        m.start(head)
        m.forget()
        spot = len(m.lines)
        names = {phi: m.name() for phi in [s.counter, *(s.phis[k] for k in kept)] if phi >= 0}
        for phi, name in names.items():
            m.define(phi, name)
        m._walk(s.body, self)
        if s.test is not None:
            going = self.any(m.operand(s.going, p.uniform[s.going]), p.uniform[s.going])
            inner = m.label()
            m.line(f"br i1 {going}, label %{inner}, label %{after}")
            m.start(inner)
            m.forget()
            m._walk(s.test, self)
        nexts = [m.operand(s.nexts[k], p.uniform[s.phis[k]]) for k in kept]
        exported = {r: m.operand(n, p.uniform[n]) for r, n in s.exports.items() if r in live}
        phis = []
        if s.counter >= 0 and s.test is None:
            step = m.name()
            m.line(f"{step} = add i64 {names[s.counter]}, 1")
            phis.append(f"  {names[s.counter]} = phi i64 [ 0, %{before} ], [ {step}, %{m.block} ]")
        for k, init, following in zip(kept, inits, nexts, strict=True):
            phi = s.phis[k]
            phis.append(
                f"  {names[phi]} = phi {m.type(phi)} [ {init}, %{before} ], "
                f"[ {following}, %{m.block} ]"
            )
        if s.test is None:
            done = m.name()
            m.line(f"{done} = icmp eq i64 {step}, {count}")
            m.line(f"br i1 {done}, label %{after}, label %{head}")
        else:
            m.line(f"br label %{head}")
        m.lines[spot:spot] = phis
        m.start(after)
        m.forget()
        for j, k in enumerate(kept):
            if s.results[k] in live:
                text = nexts[j] if s.test is None else names[s.phis[k]]
                m.define(s.results[k], text)
        for r, text in exported.items():
            m.define(r, text)

    def branch(self, s: Branch, region: Region) -> None:
        m, p = self.m, self.m.p
        uniform = p.uniform[s.condition]
        condition = self.any(m.operand(s.condition, uniform), uniform)
        labels, after = [m.label(), m.label()], m.label()
        m.line(f"br i1 {condition}, label %{labels[0]}, label %{labels[1]}")
        kept = [k for k, r in enumerate(s.results) if r in m.live.nodes]
        ends = []
        for label, side, values in zip(labels, s.sides, s.values, strict=True):
            m.start(label)
            m.forget()
            m._walk(side, self)
            texts = [m.operand(values[k], p.uniform[s.results[k]]) for k in kept]
            ends.append((m.block, texts))
            m.line(f"br label %{after}")
        m.start(after)
        m.forget()
        outs = []
        for j, k in enumerate(kept):
            out = m.name()
            pairs = ", ".join(f"[ {texts[j]}, %{block} ]" for block, texts in ends)
            m.line(f"{out} = phi {m.type(s.results[k])} {pairs}")
            outs.append((s.results[k], out))
        for r, out in outs:
            m.define(r, out)
