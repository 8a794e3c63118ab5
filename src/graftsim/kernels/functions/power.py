"""Roots and powers."""

from __future__ import annotations

import math

from graftsim.kernels.functions.real import Real


def rsqrt(m: Real, x: int) -> int:
    """1 / sqrt(x). Within 1.5 ulp."""
    return m.div(1.0, m.sqrt(x))


# (1 - e)^(-1/3) and (1 - e)^(-2/3) as power series.
_THIRD = (1 / 3, 2 / 9, 14 / 81, 35 / 243)
_TWO_THIRDS = (2 / 3, 5 / 9, 40 / 81)


def cbrt(m: Real, x: int) -> int:
    """Without division: w ~ x^(-1/3) from a third of the bits, improved once; then y = x w².

    With e = 1 - x w³ the series of (1 - e)^(-2/3) corrects y; errors made in y enter e, and are
    corrected with it, but for a third. Within 1.2 ulp.
    """
    a = m.abs(x)
    tiny = m.lt(a, 2.0 ** (1 - m.bias))
    shift = int(m.pick(24, 54))
    a = m.where(tiny, m.mul(a, 2.0**shift), a)
    # -1/3 of the leading mantissa bits, as a float that holds them in its low end.
    drop = m.width - m.mantissa
    power = 2.0**m.mantissa
    number = m.count(m.right(m.bits(a), drop), power)
    start = float(round((4 * m.bias / 3 - 0.0997) * 2.0 ** (m.mantissa - drop)))
    w = m.real(m.left(m.bits(m.fma(number, -1 / 3, power + start)), drop))
    e = m.fma(m.mul(m.mul(a, w), m.mul(w, w)), -1.0, 1.0)
    w = m.fma(m.mul(w, e), m.horner(_THIRD[: int(m.pick(2, 4))], e), w)
    y = m.mul(m.mul(a, w), w)
    e = m.fma(m.neg(y), w, 1.0)
    y = m.fma(m.mul(y, e), m.horner(_TWO_THIRDS[: int(m.pick(2, 3))], e), y)
    y = m.mul(y, m.where(tiny, 2.0 ** (-shift // 3), 1.0))
    return m.signed(m.where(m.lt(a, math.inf), y, a), x)
