"""Scalar algebra: operations that are simplified as they are built.

Numbers fold, zeros and ones vanish, signs move outwards, so that a textbook formula in dense
matrices costs what its non-zero terms cost; and what is zero or one by its form is known to be: a
joint without armature lets nothing of an inertia about its axis through, since a - b (a / b) is
zero, and its torque as it is, p + (tau - p). As for zero times anything, that holds whatever the
numbers turn out to be: not NaN where one is infinite. What has no rule of its own here is built by
`apply`, from the table of operations.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

from graftsim.kernels.ir import fold
from graftsim.kernels.ir.ops import OPS
from graftsim.kernels.ir.sizes import Size


class Algebra(ABC):
    """Builder of scalar operations. Where a node is kept, and what it may share, is left open."""

    def __init__(self) -> None:
        # Of each node: operation, arguments, type. See `Op` for what the arguments are.
        self.ops: list[str] = []
        self.args: list[tuple[Any, ...]] = []
        self.types: list[str] = []
        # Of numbers that are quotients of numbers: these two.
        self._quotients: dict[int, tuple[int, int]] = {}

    @abstractmethod
    def const(self, value: Any, type: str) -> int:
        """Constant of a type."""

    @abstractmethod
    def node(self, op: str, args: tuple[int, ...], type: str, key: Any = None) -> int:
        """Node of a pure operation, as it is. `key` tells apart what the arguments do not."""

    @abstractmethod
    def hoists(self, a: int, b: int) -> bool:
        """Is b known outside of a loop that a is in?"""

    def type(self, a: int) -> str:
        """Type of a node."""
        return self.types[a]

    def is_const(self, a: int) -> bool:
        """Is the node a constant?"""
        return self.ops[a] == "const"

    def value(self, a: int) -> Any:
        """Value of a constant."""
        return self.args[a][0]

    def operands(self, a: int) -> tuple[int, ...]:
        """Nodes that a node is computed from."""
        return self.args[a][: OPS[self.ops[a]].arity]

    def _fold(self, op: str, operands: tuple[int, ...], type: str) -> int:
        values = [self.args[a][0] for a in operands]
        return self.const(fold.fold(op, values, self.types[operands[0]]), type)

    def apply(self, op: str, *operands: int) -> int:
        """Operation of the table whose result has its operands' type, or is a bool."""
        row = OPS[op]
        type = "i1" if row.result == "bit" else self.types[operands[-1]]
        if row.fold is not None and all(self.ops[a] == "const" for a in operands):
            return self._fold(op, operands, type)
        if row.commutative and operands[0] > operands[1]:
            operands = operands[::-1]
        return self.node(op, operands, type)

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
            for x, y in ((a, b), (b, a)):
                if ops[y] == "sub" and args[y][1] == x:
                    return args[y][0]
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
        elif a == b:
            return self.const(0, t)
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
                for x, y in ((a, b), (b, a)):
                    top, below = self._quotients.get(y, (y, y))
                    if below == x != y:
                        return top
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
                if ops[b] == "div" and args[b][1] == a:
                    return args[b][0]
                if ops[b] == "mul" and ops[args[b][0]] == "const":
                    return self.mul(self.mul(a, args[b][0]), args[b][1])
            return self.node("mul", (a, b), t)
        if ops[a] == "neg":
            return self.neg(self.mul(args[a][0], b))
        if ops[b] == "neg":
            return self.neg(self.mul(a, args[b][0]))
        for x, y in ((a, b), (b, a)):
            if ops[y] == "div" and args[y][1] == x and t[0] == "f":
                return args[y][0]
        return self.node("mul", (a, b) if a < b else (b, a), t)

    def div(self, a: int, b: int) -> int:
        """a / b; integers truncate towards zero."""
        ops, args, t = self.ops, self.args, self.types[a]
        if ops[b] == "const":
            v = args[b][0]
            if ops[a] == "const" and (t[0] == "f" or v != 0):
                out = self._fold("div", (a, b), t)
                if t[0] == "f" and 1e-30 < abs(self.value(out)) < 1e30:
                    self._quotients[out] = a, b
                return out
            if v == 1:
                return a
            if t[0] == "f" and abs(math.frexp(v)[0]) == 0.5 and 1e-30 < abs(v) < 1e30:
                # The reciprocal of a power of two is exact.
                return self.mul(a, self.const(1 / v, t))
        elif t[0] == "f":
            if ops[a] == "const" and args[a][0] == 0:
                return a
            if a == b:
                return self.const(1, t)
            if ops[b] == "neg":
                return self.neg(self.div(a, args[b][0]))
            if ops[a] == "neg":
                return self.neg(self.div(args[a][0], b))
            if self.hoists(a, b):
                return self.mul(a, self.div(self.const(1, t), b))
        return self.node("div", (a, b), t)

    def fma(self, a: int, b: int, c: int) -> int:
        """a b + c with one rounding."""
        t = self.types[a]
        if all(self.ops[x] == "const" for x in (a, b, c)):
            values = (self.args[x][0] for x in (a, b, c))
            return self.const(fold.fused(*values, type=t), t)
        return self.node("fma", (a, b, c), t)

    def rem(self, a: int, b: int) -> int:
        """Remainder with the sign of a."""
        if self.types[a][0] != "f" and self.is_const(b) and self.value(b) == 0:
            return self.node("rem", (a, b), self.types[a])
        return self.apply("rem", a, b)

    def abs(self, a: int) -> int:
        """Absolute value."""
        if self.ops[a] in ("abs", "sqrt"):
            return a
        return self.apply("abs", self.args[a][0] if self.ops[a] == "neg" else a)

    def min(self, a: int, b: int) -> int:
        """Smaller one; NaN if either is."""
        if self.types[a] == "i1":
            return self.band(a, b)
        return a if a == b else self.apply("min", a, b)

    def max(self, a: int, b: int) -> int:
        """Larger one; NaN if either is."""
        if self.types[a] == "i1":
            return self.bor(a, b)
        return a if a == b else self.apply("max", a, b)

    # -- bits and choices ----------------------------------------------------------------------

    def bnot(self, a: int) -> int:
        """Bitwise or logical not."""
        return self.args[a][0] if self.ops[a] == "bnot" else self.apply("bnot", a)

    def band(self, a: int, b: int) -> int:
        """Bitwise or logical and."""
        found = self._known_bits(a, b, falsy=True)
        return self.apply("band", a, b) if found is None else found

    def bor(self, a: int, b: int) -> int:
        """Bitwise or logical or."""
        found = self._known_bits(a, b, falsy=False)
        return self.apply("bor", a, b) if found is None else found

    def _known_bits(self, a: int, b: int, falsy: bool) -> int | None:
        """The result of `and` (falsy) or `or`, if it is one of the operands."""
        if a == b:
            return a
        for x, y in ((a, b), (b, a)):
            known = self.ops[x] == "const"
            if known and (self.types[a] == "i1" or self.args[x][0] in (0, -1)):
                return x if (not self.args[x][0]) == falsy else y
        return None

    def compare(self, kind: str, a: int, b: int) -> int:
        """a < b and its kin; false where either is NaN, except `ne`."""
        if a == b and self.types[a][0] == "i":
            return self.const(kind in ("le", "ge", "eq"), "i1")
        if self.types[a] == "i1" and not (self.is_const(a) and self.is_const(b)):
            return self._compare_bits(kind, a, b)
        return self.apply(kind, a, b)

    def _compare_bits(self, kind: str, a: int, b: int) -> int:
        # False is below true; the processor would take the only bit for a sign.
        if kind in ("gt", "ge"):
            a, b = b, a
        if kind in ("lt", "gt"):
            return self.band(self.bnot(a), b)
        if kind in ("le", "ge"):
            return self.bor(self.bnot(a), b)
        different = self.apply("bxor", a, b)
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
        if self.ops[a] == "const" and not isinstance(self.args[a][0], Size):
            return self.const(fold.converted(self.args[a][0], was, type), type)
        return self.node("convert", (a,), type, key=type)

    def bitcast(self, a: int, type: str) -> int:
        """The same bits as another type."""
        was = self.types[a]
        if was == type:
            return a
        if self.ops[a] == "const":
            return self.const(fold.reinterpreted(self.args[a][0], was, type), type)
        if self.ops[a] == "bitcast" and self.types[self.args[a][0]] == type:
            return self.args[a][0]
        return self.node("bitcast", (a,), type, key=type)
