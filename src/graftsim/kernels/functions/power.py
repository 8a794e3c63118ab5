"""Roots and powers."""

from __future__ import annotations

import math

from graftsim.kernels.functions.constants import parts
from graftsim.kernels.functions.exponential import scaled
from graftsim.kernels.functions.logarithm import fraction, split, split_any
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
    corrected with it, but for a third. Within 1 ulp.
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
    e = m.fma(m.neg(m.mul(a, w)), m.mul(w, w), 1.0)
    w = m.fma(m.mul(w, e), m.horner(_THIRD[: int(m.pick(2, 4))], e), w)
    y = m.mul(m.mul(a, w), w)
    e = m.fma(m.neg(y), w, 1.0)
    y = m.fma(m.mul(y, e), m.horner(_TWO_THIRDS[: int(m.pick(2, 3))], e), y)
    y = m.mul(y, m.where(tiny, 2.0 ** (-shift // 3), 1.0))
    return m.signed(m.where(m.lt(a, math.inf), y, a), x)


def _parity(m: Real, y: int) -> tuple[int, int]:
    """Is y whole? Is it odd?"""
    whole, half = m.eq(m.p.apply("rint", y), y), m.mul(y, 0.5)
    return whole, m.p.band(whole, m.p.compare("ne", m.p.apply("rint", half), half))


def _special(m: Real, x: int, y: int, size: int) -> int:
    """x^y from |x|^y: its sign, NaN for roots of negative numbers, and what is 1 even with NaN."""
    whole, odd = _parity(m, y)
    size = m.signed(size, m.where(odd, x, 1.0))
    root = m.p.band(m.lt(x, 0.0), m.p.bnot(m.p.bor(whole, m.eq(x, -math.inf))))
    size = m.where(root, math.nan, size)
    return m.where(m.p.bor(m.eq(y, 0.0), m.eq(x, 1.0)), 1.0, size)


def _log_edges(m: Real, logarithm: int, a: int) -> int:
    """log a, also for zero, infinite and NaN a."""
    logarithm = m.where(m.eq(a, 0.0), -math.inf, logarithm)
    return m.where(m.lt(a, math.inf), logarithm, a)


def pow(m: Real, x: int, y: int) -> int:
    """2^(y log2 |x|), the logarithm to more bits than the result has: within 0.6 (f32), 1.5 ulp."""
    # A larger |y| gives the same; a finite one has no 0 times infinity, for 1^inf.
    limit = 2.0**100
    bounded = m.above(m.below(y, limit), -limit)
    size = (_short_pow if m.single else _long_pow)(m, m.abs(x), bounded)
    return _special(m, x, y, size)


def _short_pow(m: Real, a: int, y: int) -> int:
    """For f32, through doubles."""
    d, p = Real(m.p, "f64"), m.p
    a, y = p.convert(a, "f64"), p.convert(y, "f64")
    e, moved = split(d, a)
    f = fraction(d, moved)
    logarithm = _log_edges(d, d.fma(f, d.poly("log2", f, d.mul(f, f)), e), a)
    t = d.above(d.below(d.mul(y, logarithm), 200.0), -200.0)
    k, bits = d.nearest(t, 1.0, d.bias)
    r = d.sub(t, k)
    e = d.fma(d.poly("short exp2", r), r, 1.0)
    return p.convert(d.mul(e, d.real(d.left(bits, d.mantissa))), "f32")


def _long_pow(m: Real, a: int, y: int) -> int:
    """With sums of two floats."""
    high, low = _long_log2(m, a)
    high = _log_edges(m, high, a)
    t = m.mul(y, high)
    rest = m.fma(y, low, m.fma(y, high, m.neg(t)))
    rest = m.where(m.lt(m.abs(t), 1100.0), rest, 0.0)
    t = m.above(m.below(t, 1100.0), -1100.0)
    k, bits = m.nearest(t, 1.0, 2 * m.bias)
    r = m.add(m.sub(t, k), rest)
    return scaled(m, m.fma(m.poly("exp2", r, m.mul(r, r)), r, 1.0), bits)


def _sum(m: Real, a: int, b: int) -> tuple[int, int]:
    """a + b exactly, |a| >= |b|."""
    s = m.add(a, b)
    return s, m.sub(b, m.sub(s, a))


def _product(m: Real, a: int, b: int | float) -> tuple[int, int]:
    """a b exactly."""
    p = m.mul(a, b)
    return p, m.fma(a, b, m.neg(p))


def _long_log2(m: Real, a: int) -> tuple[int, int]:
    """log2 a to 2^-65 of itself: e + 2 atanh(s) / ln 2, s = f / (2 + f).

    atanh s = s + s (z/3 + z² P(z)), z = s²; all but the last term with errors kept.
    """
    e, moved = split_any(m, a)
    f = fraction(m, moved)
    d, d_low = _sum(m, m.node(2.0), f)
    inverse = m.div(1.0, d)
    s = m.mul(f, inverse)
    s_low = m.mul(m.fma(m.neg(s), d_low, m.fma(m.neg(s), d, f)), inverse)
    z, z_low = _product(m, s, s)
    z_low = m.fma(m.add(s, s), s_low, z_low)
    third, third_low = parts("third", m.type, 2)
    t, t_low = _product(m, z, third)
    t_low = m.fma(z_low, third, m.fma(z, third_low, t_low))
    square = m.mul(z, z)
    u, u_low = _sum(m, t, m.mul(square, m.poly("log power", z)))
    v, v_low = _product(m, s, u)
    v_low = m.fma(s_low, u, m.fma(s, m.add(u_low, t_low), v_low))
    w, w_low = _sum(m, s, v)
    w_low = m.add(w_low, m.add(v_low, s_low))
    scale, scale_low = parts("2/ln2", m.type, 2)
    n, n_low = _product(m, w, scale)
    n_low = m.fma(w_low, scale, m.fma(w, scale_low, n_low))
    high, low = _sum(m, e, n)
    return high, m.add(low, n_low)
