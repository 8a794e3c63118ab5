"""The intermediate form: a graph of scalar operations in nested regions, folded as it is built.

A node is one scalar of one simulation; the back end turns it into a vector over lanes, or into one
number where it is the same for all lanes (uniform). Nodes are pure and numbered; equal operations
share a number. A node is placed in the outermost loop that its operands allow, so what depends on
parameters alone leaves the time loop by construction.

Memory is for what cannot be scalars: arrays indexed at run time, and what a loop keeps.

In a program of one simulation all scalars are uniform, and vectors are free for something else: a
wide node holds neighbours in an array (`wide`).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

DTYPES = {
    "f32": np.dtype(np.float32),
    "f64": np.dtype(np.float64),
    "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64),
    "u32": np.dtype(np.uint32),
    "u64": np.dtype(np.uint64),
    "i1": np.dtype(np.bool_),
}
TYPES = {dtype: name for name, dtype in DTYPES.items()}
BITS = {"f32": 32, "f64": 64, "i32": 32, "i64": 64, "u32": 32, "u64": 64, "i1": 1}

_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}


@dataclass(eq=False)
class Region:
    """A straight run of items: node numbers and statements. `loop` regions repeat."""

    parent: Region | None
    loop: bool
    items: list[Any] = field(default_factory=list)
    memo: dict[tuple[Any, ...], int] = field(default_factory=dict)
    owner: Any = None

    def __post_init__(self) -> None:
        self.depth: int = 0 if self.parent is None else self.parent.depth + 1


@dataclass(eq=False)
class Buffer:
    """Memory for `size` scalars of each lane, or of all lanes together (uniform)."""

    number: int
    type: str
    size: int
    uniform: bool
    region: Region
    role: str = "work"  # work, input, output
    slot: int = -1
    stores: list[Store] = field(default_factory=list)
    base: Buffer | None = None

    def inside(self, region: Region) -> Buffer:
        """The same memory, changing with each turn of a loop: what is read there stays there."""
        return Buffer(
            self.number, self.type, self.size, self.uniform, region, self.role, self.slot,
            self.stores, self,
        )  # fmt: skip


@dataclass(eq=False)
class Store:
    """buffer[index] = value."""

    buffer: Buffer
    index: int
    value: int
    region: Region


@dataclass(eq=False)
class Loop:
    """A counted loop (`count`) or one that runs while `going` holds in any lane.

    Carried scalars are `phis`; their values at the end of an iteration are `nexts`. Lanes of a
    `while` loop that are done keep their values: the tracer selects, so nothing is masked here.
    """

    body: Region
    count: int = -1
    counter: int = -1
    phis: list[int] = field(default_factory=list)
    inits: list[int] = field(default_factory=list)
    nexts: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    # Values of the last iteration that are read after the loop: result -> node of the body.
    exports: dict[int, int] = field(default_factory=dict)
    test: Region | None = None
    going: int = -1


@dataclass(eq=False)
class Branch:
    """A real branch on a uniform condition, or on whether any lane wants the first side."""

    condition: int
    sides: list[Region]
    values: list[list[int]]
    results: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Library:
    """Calls of the C library's double function, lane by lane, skipped if no lane needs it."""

    name: str
    xs: list[int]
    where: list[int]
    results: list[int] = field(default_factory=list)


class Program:
    """Builder and container. `root` runs once a call, `tile` once for each set of lanes."""

    def __init__(self, wide: int = 1) -> None:
        # Scalars in a wide node; 1 in a program of many simulations, which has none.
        self.wide = wide
        self.ops: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self.types: list[str] = []
        self.regions: list[Region] = []
        self.uniform: list[bool] = []
        self.buffers: list[Buffer] = []
        self.root = Region(None, loop=False)
        self.tile = Region(self.root, loop=True)
        self.region = self.tile
        self._constants: dict[tuple[str, Any], int] = {}

    # -- nodes -------------------------------------------------------------------------------

    def type(self, a: int) -> str:
        """Type of a node."""
        return self.types[a]

    def const(self, value: Any, type: str) -> int:
        """Constant of a type."""
        kind = value.__class__
        plain = (
            (kind is float and type == "f64")
            or (kind is int and type == "i64" and -_INT64 <= value < _INT64)
            or (kind is bool and type == "i1")
        )
        if not plain:
            with np.errstate(over="ignore"):
                value = DTYPES[type].type(value).item()
        # Zeros of both signs and NaN are told apart by their text.
        key = (type, value if value and value == value else repr(value))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._append("const", (value,), type, self.root, True)
        return found

    def is_const(self, a: int) -> bool:
        """Is the node a constant?"""
        return self.ops[a] == "const"

    def value(self, a: int) -> Any:
        """Value of a constant."""
        return self.args[a][0]

    def _append(
        self, op: str, args: tuple[Any, ...], type: str, region: Region, uniform: bool
    ) -> int:
        self.ops.append(op)
        self.args.append(args)
        self.types.append(type)
        self.regions.append(region)
        self.uniform.append(uniform)
        return len(self.ops) - 1

    def _place(self, deepest: Region) -> Region:
        """Region for a node whose deepest operand lives in `deepest`: outside of idle loops."""
        region = self.region
        target = region
        while region is not deepest:
            assert region.parent is not None
            if region.loop:
                target = region.parent
            region = region.parent
        return target

    def node(self, op: str, args: tuple[int, ...], type: str, key: Any = None) -> int:
        """Node of a pure operation, shared with an equal one that is in scope."""
        regions, uniform = self.regions, self.uniform
        deepest = self.root
        same = True
        for a in args:
            r = regions[a]
            if r.depth > deepest.depth:
                deepest = r
            same = same and uniform[a]
        target = deepest if deepest is self.region else self._place(deepest)
        key = (op, *args, key) if key is not None else (op, *args)
        r = target
        while True:
            found = r.memo.get(key)
            if found is not None:
                return found
            if r is deepest or r.parent is None:
                break
            r = r.parent
        n = self._append(op, args, type, target, same)
        target.memo[key] = n
        target.items.append(n)
        return n

    # -- arithmetic --------------------------------------------------------------------------

    def _fold(self, op: str, args: tuple[int, ...], type: str) -> int:
        plain = _PLAIN.get(op) if type[0] == "f" else None
        if plain is not None:
            # Of float32 numbers, the float64 result rounded once more is the right one.
            return self.const(plain(*(self.args[a][0] for a in args)), type)
        whole = _WHOLE.get(op) if type == "i64" else None
        if whole is not None:
            found = whole(*(self.args[a][0] for a in args))
            # What overflows is left to NumPy, which wraps.
            if -_INT64 <= found < _INT64:
                return self.const(found, type)
        values = [DTYPES[self.types[a]].type(self.args[a][0]) for a in args]
        with np.errstate(all="ignore"):
            return self.const(_EVALUATE[op](*values), type)

    def add(self, a: int, b: int) -> int:
        """a + b."""
        ops, args, t = self.ops, self.args, self.types[a]
        if ops[a] == "const":
            if ops[b] == "const":
                return self._fold("add", (a, b), t)
            if args[a][0] == 0:
                return b
        elif ops[b] == "const":
            if args[b][0] == 0:
                return a
        elif t[0] == "f":
            if ops[b] == "neg":
                return self.sub(a, args[b][0])
            if ops[a] == "neg":
                return self.sub(b, args[a][0])
        return self.node("add", (a, b) if a < b else (b, a), t)

    def sub(self, a: int, b: int) -> int:
        """a - b."""
        ops, args, t = self.ops, self.args, self.types[a]
        if ops[b] == "const":
            if ops[a] == "const":
                return self._fold("sub", (a, b), t)
            if args[b][0] == 0:
                return a
        elif ops[a] == "const" and args[a][0] == 0:
            return self.neg(b)
        elif ops[b] == "neg":
            return self.add(a, args[b][0])
        elif ops[a] == "neg":
            return self.neg(self.add(args[a][0], b))
        return self.node("sub", (a, b), t)

    def neg(self, a: int) -> int:
        """-a."""
        op = self.ops[a]
        if op == "const":
            return self._fold("neg", (a,), self.types[a])
        if op == "neg":
            return self.args[a][0]
        if op == "sub" and self.types[a][0] == "f":
            return self.sub(self.args[a][1], self.args[a][0])
        return self.node("neg", (a,), self.types[a])

    def mul(self, a: int, b: int) -> int:
        """a b. Zero times anything is zero: structural zeros must vanish."""
        ops, args, t = self.ops, self.args, self.types[a]
        if ops[b] == "const":
            a, b = b, a
        if ops[a] == "const":
            if ops[b] == "const":
                return self._fold("mul", (a, b), t)
            v = args[a][0]
            if v == 0:
                return a
            if v == 1:
                return b
            if t[0] == "f":
                if v == -1:
                    return self.neg(b)
                if ops[b] == "neg":
                    return self.mul(self.neg(a), args[b][0])
                if ops[b] == "mul" and ops[args[b][0]] == "const":
                    return self.mul(self.mul(a, args[b][0]), args[b][1])
            return self.node("mul", (a, b), t)
        if ops[a] == "neg":
            return self.neg(self.mul(args[a][0], b))
        if ops[b] == "neg":
            return self.neg(self.mul(a, args[b][0]))
        return self.node("mul", (a, b) if a < b else (b, a), t)

    def div(self, a: int, b: int) -> int:
        """a / b; integers truncate towards zero."""
        ops, args, t = self.ops, self.args, self.types[a]
        if ops[b] == "const":
            v = args[b][0]
            if ops[a] == "const" and (t[0] == "f" or v != 0):
                return self._fold("div", (a, b), t)
            if v == 1:
                return a
            if t[0] == "f" and abs(math.frexp(v)[0]) == 0.5 and 1e-30 < abs(v) < 1e30:
                # The reciprocal of a power of two is exact.
                return self.mul(a, self.const(1 / v, t))
        elif t[0] == "f":
            if ops[a] == "const" and args[a][0] == 0:
                return a
            if ops[b] == "neg":
                return self.neg(self.div(a, args[b][0]))
            if ops[a] == "neg":
                return self.neg(self.div(args[a][0], b))
            if self._hoists(a, b):
                return self.mul(a, self.div(self.const(1, t), b))
        return self.node("div", (a, b), t)

    def _hoists(self, a: int, b: int) -> bool:
        """Would 1 / b leave a loop in which a stays?"""
        return self.leaves(self.regions[a], b)

    def leaves(self, r: Region, b: int) -> bool:
        """Is b known outside of a loop that r is in?"""
        outer = self.regions[b]
        while r.depth > outer.depth and r.parent is not None:
            if r.loop:
                return True
            r = r.parent
        return False

    def fma(self, a: int, b: int, c: int) -> int:
        """a b + c with one rounding."""
        t = self.types[a]
        if all(self.ops[x] == "const" for x in (a, b, c)):
            from fractions import Fraction

            va, vb, vc = (self.args[x][0] for x in (a, b, c))
            if all(math.isfinite(v) for v in (va, vb, vc)):
                exact = Fraction(va) * Fraction(vb) + Fraction(vc)
                return self.const(_round(exact, t, vc), t)
            return self.const(va * vb + vc, t)
        return self.node("fma", (a, b, c), t)

    def rem(self, a: int, b: int) -> int:
        """Remainder with the sign of a."""
        if self.is_const(a) and self.is_const(b) and (self.types[a][0] == "f" or self.value(b)):
            return self._fold("rem", (a, b), self.types[a])
        return self.node("rem", (a, b), self.types[a])

    def unary(self, op: str, a: int) -> int:
        """sqrt, abs, floor, ceil, trunc, rint, bnot."""
        if self.ops[a] == "const":
            return self._fold(op, (a,), self.types[a])
        if op == "abs" and self.ops[a] in ("abs", "sqrt"):
            return a
        if op == "abs" and self.ops[a] == "neg":
            a = self.args[a][0]
        if op == "bnot" and self.ops[a] == "bnot":
            return self.args[a][0]
        return self.node(op, (a,), self.types[a])

    def binary(self, op: str, a: int, b: int) -> int:
        """min, max, copysign, xadd, xsub, xmul, band, bor, bxor, shl, lshr, ashr."""
        t = self.types[a]
        if self.ops[a] == "const" and self.ops[b] == "const":
            return self._fold(op, (a, b), t)
        if op in ("band", "bor"):
            if a == b:
                return a
            for x, y in ((a, b), (b, a)):
                if self.ops[x] == "const" and (t == "i1" or self.args[x][0] in (0, -1)):
                    falsy = not self.args[x][0]
                    return x if falsy == (op == "band") else y
        if op in ("min", "max") and a == b:
            return a
        if op in _SYMMETRIC and a > b:
            a, b = b, a
        return self.node(op, (a, b), t)

    def sqrt(self, a: int) -> int:
        """Square root."""
        return self.unary("sqrt", a)

    def abs(self, a: int) -> int:
        """Absolute value."""
        return self.unary("abs", a)

    def floor(self, a: int) -> int:
        """Largest whole number not above a."""
        return self.unary("floor", a)

    def ceil(self, a: int) -> int:
        """Smallest whole number not below a."""
        return self.unary("ceil", a)

    def trunc(self, a: int) -> int:
        """Whole number towards zero."""
        return self.unary("trunc", a)

    def rint(self, a: int) -> int:
        """Nearest whole number, ties to even."""
        return self.unary("rint", a)

    def bnot(self, a: int) -> int:
        """Bitwise or logical not."""
        return self.unary("bnot", a)

    def min(self, a: int, b: int) -> int:
        """Smaller one; NaN if either is."""
        if self.types[a] == "i1":
            return self.band(a, b)
        return self.binary("min", a, b)

    def max(self, a: int, b: int) -> int:
        """Larger one; NaN if either is."""
        if self.types[a] == "i1":
            return self.bor(a, b)
        return self.binary("max", a, b)

    def copysign(self, a: int, b: int) -> int:
        """Size of a, sign of b."""
        return self.binary("copysign", a, b)

    def xadd(self, a: int, b: int) -> int:
        """Exactly IEEE a + b: never fused nor simplified."""
        return self.binary("xadd", a, b)

    def xsub(self, a: int, b: int) -> int:
        """Exactly IEEE a - b."""
        return self.binary("xsub", a, b)

    def xmul(self, a: int, b: int) -> int:
        """Exactly IEEE a b."""
        return self.binary("xmul", a, b)

    def band(self, a: int, b: int) -> int:
        """Bitwise or logical and."""
        return self.binary("band", a, b)

    def bor(self, a: int, b: int) -> int:
        """Bitwise or logical or."""
        return self.binary("bor", a, b)

    def bxor(self, a: int, b: int) -> int:
        """Bitwise or logical exclusive or."""
        return self.binary("bxor", a, b)

    def shl(self, a: int, b: int) -> int:
        """Shift left."""
        return self.binary("shl", a, b)

    def lshr(self, a: int, b: int) -> int:
        """Shift right, zeros in."""
        return self.binary("lshr", a, b)

    def ashr(self, a: int, b: int) -> int:
        """Shift right, sign in."""
        return self.binary("ashr", a, b)

    def compare(self, kind: str, a: int, b: int) -> int:
        """a < b and its kin; false where either is NaN, except `ne`."""
        if self.ops[a] == "const" and self.ops[b] == "const":
            return self.const(bool(_COMPARE[kind](self.args[a][0], self.args[b][0])), "i1")
        if a == b and self.types[a][0] == "i":
            return self.const(kind in ("le", "ge", "eq"), "i1")
        if self.types[a] == "i1":
            return self._compare_bits(kind, a, b)
        return self.node(kind, (a, b), "i1")

    def _compare_bits(self, kind: str, a: int, b: int) -> int:
        # False is below true; the processor would take the only bit for a sign.
        if kind in ("gt", "ge"):
            a, b = b, a
        if kind in ("lt", "gt"):
            return self.band(self.bnot(a), b)
        if kind in ("le", "ge"):
            return self.bor(self.bnot(a), b)
        different = self.bxor(a, b)
        return different if kind == "ne" else self.bnot(different)

    def select(self, c: int, a: int, b: int) -> int:
        """a where c, else b."""
        if a == b:
            return a
        if self.ops[c] == "const":
            return a if self.args[c][0] else b
        if self.ops[c] == "bnot":
            return self.select(self.args[c][0], b, a)
        return self.node("select", (c, a, b), self.types[a])

    def convert(self, a: int, type: str) -> int:
        """Numeric conversion; to bool: is it not zero?"""
        was = self.types[a]
        if was == type:
            return a
        if type == "i1":
            return self.compare("ne", a, self.const(0, was))
        if self.ops[a] == "const":
            if was[0] == "f" and type[0] != "f":
                return self.const(_saturate(self.args[a][0], type), type)
            if was[0] == "i" and type == "i64":
                return self.const(int(self.args[a][0]), type)
            with np.errstate(all="ignore"):
                return self.const(DTYPES[was].type(self.args[a][0]).astype(DTYPES[type]), type)
        return self.node("convert", (a,), type, key=type)

    def bitcast(self, a: int, type: str) -> int:
        """The same bits as another type."""
        if self.types[a] == type:
            return a
        if self.ops[a] == "const":
            return self.const(DTYPES[self.types[a]].type(self.args[a][0]).view(DTYPES[type]), type)
        if self.ops[a] == "bitcast" and self.types[self.args[a][0]] == type:
            return self.args[a][0]
        return self.node("bitcast", (a,), type, key=type)

    # -- statements --------------------------------------------------------------------------

    def library(self, name: str, xs: list[int], where: list[int]) -> list[int]:
        """C library's `name` of each x where asked, else zero; skipped if nobody asks."""
        zero = [self.const(0, self.types[x]) for x in xs]
        wanted = [i for i, w in enumerate(where) if not (self.is_const(w) and not self.value(w))]
        if not wanted:
            return zero
        statement = Library(name, [xs[i] for i in wanted], [where[i] for i in wanted])
        needed = (*statement.xs, *statement.where)
        here = self.region
        self.region = self._place(max((self.regions[a] for a in needed), key=lambda r: r.depth))
        same = all(self.uniform[a] for a in needed)
        for i in wanted:
            zero[i] = self.result(statement, self.types[xs[i]], same)
        self.region.items.append(statement)
        self.region = here
        return zero

    def result(self, statement: Any, type: str, uniform: bool) -> int:
        """New node in the present region that a statement defines."""
        n = self._append("result", (statement,), type, self.region, uniform)
        statement.results.append(n)
        return n

    def export(self, loop: Loop, n: int) -> int:
        """Value of a node of a counted loop's body in its last iteration."""
        for result, node in loop.exports.items():
            if node == n:
                return result
        region = loop.body.parent
        assert region is not None
        result = self._append("result", (loop,), self.types[n], region, self.uniform[n])
        loop.exports[result] = n
        return result

    def phi(self, type: str, uniform: bool) -> int:
        """New carried scalar of the present (loop) region."""
        return self._append("phi", (), type, self.region, uniform or self.wide > 1)

    # -- wide nodes: not uniform, in a program where all others are -----------------------------

    def wide_phi(self, type: str) -> int:
        """New carried vector of the present (loop) region."""
        return self._append("phi", (), type, self.region, False)

    def pack(self, scalars: Sequence[int]) -> int:
        """Wide node of scalars."""
        n = self.node("pack", tuple(scalars), self.types[scalars[0]])
        self.uniform[n] = False
        return n

    def lane(self, a: int, k: int) -> int:
        """Scalar of a wide node."""
        n = self.node("lane", (a, self.const(k, "i64")), self.types[a])
        self.uniform[n] = True
        return n

    def total(self, a: int) -> int:
        """Sum of the scalars of a wide node, in whatever order."""
        n = self.node("total", (a,), self.types[a])
        self.uniform[n] = True
        return n

    # -- memory --------------------------------------------------------------------------------

    def buffer(
        self, type: str, size: int, uniform: bool, role: str = "work", slot: int = -1
    ) -> Buffer:
        """New memory, defined in the present region."""
        uniform = uniform or self.wide > 1
        region = self.root if role == "input" and uniform else self.region
        b = Buffer(len(self.buffers), type, size, uniform, region, role, slot)
        self.buffers.append(b)
        return b

    def load(self, buffer: Buffer, index: int, fresh: bool = False) -> int:
        """buffer[index]; `fresh` where the buffer is being changed."""
        uniform = buffer.uniform and self.uniform[index]
        r = self.regions[index]
        deepest = r if r.depth > buffer.region.depth else buffer.region
        target = self.region if fresh else self._place(deepest)
        key = ("load", buffer.number, index)
        if not fresh and (found := target.memo.get(key)) is not None:
            return found
        n = self._append("load", (index, buffer), buffer.type, target, uniform)
        if not fresh:
            target.memo[key] = n
        target.items.append(n)
        return n

    def store(self, buffer: Buffer, index: int, value: int) -> None:
        """buffer[index] = value, here and now."""
        s = Store(buffer, index, value, self.region)
        buffer.stores.append(s)
        self.region.items.append(s)

    def open(self, loop: bool) -> Region:
        """Enter a new region."""
        self.region = Region(self.region, loop)
        return self.region

    def close(self) -> Region:
        """Leave the present region; returns it."""
        done = self.region
        assert done.parent is not None
        self.region = done.parent
        return done

    def for_range(self, count: int, body: Callable[[int], None]) -> Loop:
        """Counted loop without carried scalars."""
        region = self.open(loop=True)
        counter = self.phi("i64", True)
        body(counter)
        self.close()
        loop = Loop(region, count=self.const(count, "i64"), counter=counter)
        region.owner = loop
        self.region.items.append(loop)
        return loop


_SYMMETRIC = ("band", "bor", "bxor", "xadd", "xmul", "min", "max")


def _shift(a: Any, b: Any, unsigned: bool) -> Any:
    if not unsigned:
        return a >> b
    u = np.dtype(f"u{a.dtype.itemsize}")
    return (a.view(u) >> b.astype(u)).view(a.dtype)


def _saturate(value: float, type: str) -> int:
    """Nearest whole number that a type holds, towards zero; zero for NaN."""
    low, high = np.iinfo(DTYPES[type]).min, np.iinfo(DTYPES[type]).max
    if not math.isfinite(value):
        return 0 if value != value else high if value > 0 else low
    return min(max(int(value), int(low)), int(high))


def _divide(a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return a / b
    # In whole numbers: a float64 does not hold all 64 bits.
    quotient = abs(int(a)) // abs(int(b))
    return a.dtype.type(quotient if (a < 0) == (b < 0) else -quotient)


# What Python's own floats do alike, and faster.
_PLAIN: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
}
# Of whole numbers, which are indices for the most part: Python's own are quicker than NumPy's.
_WHOLE: dict[str, Callable[..., int]] = {**_PLAIN, "min": min, "max": max}
_INT64 = 2**63
_EVALUATE: dict[str, Callable[..., Any]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": _divide,
    "rem": np.fmod,
    "neg": lambda a: -a,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "rint": np.rint,
    "bnot": np.invert,
    "min": np.minimum,
    "max": np.maximum,
    "copysign": np.copysign,
    "xadd": lambda a, b: a + b,
    "xsub": lambda a, b: a - b,
    "xmul": lambda a, b: a * b,
    "band": np.bitwise_and,
    "bor": np.bitwise_or,
    "bxor": np.bitwise_xor,
    "shl": lambda a, b: a << b,
    "lshr": lambda a, b: _shift(a, b, True),
    "ashr": lambda a, b: _shift(a, b, False),
}


def _round(exact: Any, type: str, like: float) -> float:
    """Nearest number of a type; zero takes the sign of `like`."""
    if exact == 0:
        return math.copysign(0.0, like)
    if type == "f64":
        return float(exact)
    # Rounding twice can err by one unit only at exact ties of the first rounding: break them.
    near = float(exact)
    if near != exact:
        bits = np.float64(near).view(np.int64)
        if int(bits) & 0x1FFFFFFF == 0x10000000:
            near = float((bits + (1 if (exact > near) == (near > 0) else -1)).view(np.float64))
    return near
