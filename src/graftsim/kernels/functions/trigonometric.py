"""sin, cos, tan."""

from __future__ import annotations

import math
from collections.abc import Callable

from graftsim.kernels.functions.constants import parts
from graftsim.kernels.functions.real import Real
from graftsim.kernels.ir.program import Program


def _limit(m: Real) -> float:
    """Largest |x| of the fast path: there the reduction costs no accuracy, see `_Reduced`."""
    return m.pick(1e5, 1e12)


class _Reduced:
    """|x| = k pi/2 + r, |r| <= pi/4 (1 + 2^-17), by Cody and Waite with three parts of pi/2.

    The first step is exact, since both products are multiples of 2^-mantissa and cancel. The second
    rounds to half a unit of r; the third takes away what two parts of pi/2 leave (below 2^-30 ulp
    of 1), and matters only where r is tiny.
    """

    def __init__(self, m: Real, x: int) -> None:
        self.m, self.a = m, m.abs(x)
        self.parts = parts("pi", m.type, 3, 0.5)
        self.k, self.bits = m.nearest(self.a, 2 / math.pi)
        self.first = m.fma(self.k, -self.parts[0], self.a)

    def r(self) -> int:
        """r, rounded."""
        second = self.m.fma(self.k, -self.parts[1], self.first)
        return self.m.fma(self.k, -self.parts[2], second)

    def twofold(self) -> tuple[int, int]:
        """r as a sum of two floats."""
        m = self.m
        product = m.mul(self.k, self.parts[1])
        r = m.sub(self.first, product)
        rest = m.sub(m.sub(self.first, r), product)
        rest = m.sub(rest, m.fma(self.k, self.parts[1], m.neg(product)))
        return r, m.fma(self.k, -self.parts[2], rest)

    def odd(self, ahead: int = 0) -> int:
        """Is k + ahead odd?"""
        m = self.m
        return m.p.compare("ne", m.mask(m.plus(self.bits, ahead), 1), m.integer(0))

    def flip(self, a: int, ahead: int, sign: int | None = None) -> int:
        """a, negated where bit 1 of k + ahead is set, and where `sign` is negative."""
        m = self.m
        turn = m.left(m.plus(self.bits, ahead), m.width - 2)
        if sign is not None:
            turn = m.p.apply("bxor", turn, m.bits(sign))
        return m.real(m.p.apply("bxor", m.bits(a), m.mask(turn, 1 << m.width - 1)))


def _pair(m: Real, r: int) -> tuple[int, int]:
    """sin r and cos r for |r| <= pi/4."""
    z = m.mul(r, r)
    sin = m.fma(m.mul(r, z), m.poly("sin", z), r)
    cos = m.fma(m.mul(z, z), m.poly("cos", z), m.fma(z, -0.5, 1.0))
    return sin, cos


def _sin(m: Real, x: int) -> int:
    """Within 1.6 ulp."""
    reduced = _Reduced(m, x)
    sin, cos = _pair(m, reduced.r())
    return reduced.flip(m.where(reduced.odd(), cos, sin), 0, x)


def _cos(m: Real, x: int) -> int:
    """Within 1.6 ulp."""
    reduced = _Reduced(m, x)
    sin, cos = _pair(m, reduced.r())
    return reduced.flip(m.where(reduced.odd(), sin, cos), 1)


def _tan(m: Real, x: int) -> int:
    """tan r = r + r z P(z), with r to twice the precision; -1 / tan r in odd quadrants.

    Within 1.8 ulp.
    """
    reduced = _Reduced(m, x)
    r, rest = reduced.twofold()
    z = m.mul(r, r)
    rough = m.mul(m.mul(r, z), m.poly("tan", z, m.mul(z, z)))
    # tan' = 1 + tan²
    square = m.mul(m.add(r, rough), m.add(r, rough))
    t = m.add(r, m.add(rough, m.fma(rest, square, rest)))
    odd = reduced.odd()
    t = m.div(m.where(odd, -1.0, t), m.where(odd, t, 1.0))
    sign = m.mask(m.bits(x), 1 << m.width - 1)
    return m.real(m.p.apply("bxor", m.bits(t), sign))


def _with_slow_path(
    name: str, fast: Callable[[Real, int], int]
) -> Callable[[Program, list[int]], list[int]]:
    """Beyond the limit the C library reduces with more digits of pi. Its accuracy is then ours.

    (Its double functions lose a few ulp at the very hardest arguments, around 1e255.)
    """

    def function(p: Program, xs: list[int]) -> list[int]:
        if not xs:
            return []
        m = Real(p, p.type(xs[0]))
        far = [m.gt(m.abs(x), _limit(m)) for x in xs]
        slow = p.library(name, xs, far)
        return [p.select(f, s, fast(m, x)) for f, s, x in zip(far, slow, xs, strict=True)]

    return function


sin = _with_slow_path("sin", _sin)
cos = _with_slow_path("cos", _cos)
tan = _with_slow_path("tan", _tan)
