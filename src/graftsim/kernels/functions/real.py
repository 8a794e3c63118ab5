"""Notation for the functions: exact IEEE operations on one float type, numbers as constants.

All functions are built from these: nothing is reassociated or fused behind their back, and `fma`
is one rounding. An argument that is a Python float is a constant; a Python int is a node.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from graftsim.kernels.functions.tables import TABLES
from graftsim.kernels.ir.program import Program

Arg = int | float


class Real:
    """Operations on nodes of one float type."""

    def __init__(self, p: Program, type: str) -> None:
        self.p, self.type = p, type
        self.single = type == "f32"
        self.whole = "i32" if self.single else "i64"
        self.mantissa, self.bias = (23, 127) if self.single else (52, 1023)
        self.width = 32 if self.single else 64

    def pick(self, single: float, double: float) -> float:
        """The constant for this type."""
        return single if self.single else double

    def node(self, a: Arg) -> int:
        """Node of an argument."""
        return self.p.const(a, self.type) if isinstance(a, float) else a

    # -- float operations ----------------------------------------------------------------------

    def add(self, a: Arg, b: Arg) -> int:
        """a + b."""
        return self.p.apply("xadd", self.node(a), self.node(b))

    def sub(self, a: Arg, b: Arg) -> int:
        """a - b."""
        return self.p.apply("xsub", self.node(a), self.node(b))

    def mul(self, a: Arg, b: Arg) -> int:
        """a b."""
        return self.p.apply("xmul", self.node(a), self.node(b))

    def div(self, a: Arg, b: Arg) -> int:
        """a / b."""
        return self.p.div(self.node(a), self.node(b))

    def fma(self, a: Arg, b: Arg, c: Arg) -> int:
        """a b + c with one rounding."""
        return self.p.fma(self.node(a), self.node(b), self.node(c))

    def abs(self, a: int) -> int:
        """|a|."""
        return self.p.abs(a)

    def sqrt(self, a: int) -> int:
        """Square root."""
        return self.p.apply("sqrt", a)

    def neg(self, a: int) -> int:
        """-a."""
        return self.p.neg(a)

    def signed(self, a: Arg, b: int) -> int:
        """Size of a, sign of b."""
        return self.p.apply("copysign", self.node(a), b)

    def poly(self, name: str, x: int, square: int | None = None) -> int:
        """Polynomial of the table; with x² at hand, odd and even powers in parallel."""
        return self.horner(TABLES[name][self.type], x, square)

    def horner(self, c: Sequence[float], x: int, square: int | None = None) -> int:
        """c0 + c1 x + c2 x² + ..."""
        total, serial = self.node(c[-1]), c[:-1]
        if square is not None and len(c) > 7:
            # Where terms cancel, halves have larger errors than the whole: only high powers split.
            total = self.fma(self.horner(c[4::2], square), x, self.horner(c[3::2], square))
            serial = c[:3]
        for value in reversed(serial):
            total = self.fma(total, x, value)
        return total

    # -- choices -------------------------------------------------------------------------------

    def lt(self, a: Arg, b: Arg) -> int:
        """a < b; false with NaN."""
        return self.p.compare("lt", self.node(a), self.node(b))

    def gt(self, a: Arg, b: Arg) -> int:
        """a > b; false with NaN."""
        return self.p.compare("gt", self.node(a), self.node(b))

    def eq(self, a: Arg, b: Arg) -> int:
        """a == b; false with NaN."""
        return self.p.compare("eq", self.node(a), self.node(b))

    def where(self, c: int, a: Arg, b: Arg) -> int:
        """a where c, else b."""
        return self.p.select(c, self.node(a), self.node(b))

    def below(self, x: int, high: float) -> int:
        """min(x, high), NaN kept: one instruction, unlike `Program.min`."""
        return self.where(self.gt(x, high), high, x)

    def above(self, x: int, low: float) -> int:
        """max(x, low), NaN kept."""
        return self.where(self.lt(x, low), low, x)

    # -- bits ----------------------------------------------------------------------------------

    def integer(self, value: int) -> int:
        """Whole constant; bits beyond the width are dropped."""
        value &= (1 << self.width) - 1
        return self.p.const(value - (value >> self.width - 1 << self.width), self.whole)

    def bits(self, a: int) -> int:
        """Bits of a float."""
        return self.p.bitcast(a, self.whole)

    def real(self, a: int) -> int:
        """Float of bits."""
        return self.p.bitcast(a, self.type)

    def bits_of(self, value: float) -> int:
        """Bits of a number."""
        form = ("<f", "<I") if self.single else ("<d", "<Q")
        return struct.unpack(form[1], struct.pack(form[0], value))[0]

    def plus(self, a: int, value: int) -> int:
        """Whole a + value."""
        return self.p.add(a, self.integer(value))

    def mask(self, a: int, value: int) -> int:
        """Bits of a that are set in value."""
        return self.p.band(a, self.integer(value))

    def left(self, a: int, by: int) -> int:
        """Shifted towards the sign."""
        return self.p.apply("shl", a, self.integer(by))

    def right(self, a: int, by: int) -> int:
        """Shifted away from the sign, zeros in."""
        return self.p.apply("lshr", a, self.integer(by))

    @property
    def magic(self) -> float:
        """A float added to it is rounded to a whole number, which then is in its low bits."""
        return 1.5 * 2.0**self.mantissa

    def nearest(self, x: int, scale: float, offset: int = 0) -> tuple[int, int]:
        """k = nearest whole number to `scale` x, as a float; and bits whose low end is k + offset.

        No conversion instruction, which processors before AVX-512 lack for 64 bits.
        """
        magic = self.magic + offset
        t = self.fma(x, scale, magic)
        return self.sub(t, magic), self.bits(t)

    def count(self, a: int, less: Arg) -> int:
        """2^mantissa + a - less as a float, for a whole number 0 <= a < 2^mantissa."""
        power = self.bits_of(2.0**self.mantissa)
        return self.sub(self.real(self.p.bor(a, self.integer(power))), less)


def reciprocals(m: Real, ds: Sequence[int]) -> list[int]:
    """1 / d of each, within 1.6 ulp, by one division for two: none takes longer.

    All are finite, and so are their products.
    """
    out = [0] * len(ds)
    waiting: dict[Any, int] = {}
    for i, d in enumerate(ds):
        # Only of those that are computed together, so that nothing is drawn into a loop.
        place = id(m.p.regions[d]), m.p.uniform[d]
        j = waiting.pop(place, None)
        if j is None:
            waiting[place] = i
            continue
        both = m.div(1.0, m.mul(d, ds[j]))
        out[i], out[j] = m.mul(both, ds[j]), m.mul(both, d)
    for i in waiting.values():
        out[i] = m.div(1.0, ds[i])
    return out
