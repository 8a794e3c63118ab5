"""exp and its relatives: x = k ln 2 + r, |r| <= ln 2 / 2, and 2^k put together from bits."""

from __future__ import annotations

import math

from graftsim.kernels.functions.constants import TANH_END, parts
from graftsim.kernels.functions.real import Real, reciprocals
from graftsim.kernels.functions.tables import TABLES
from graftsim.kernels.ir.program import Program


def reduce(m: Real, x: int, offset: int) -> tuple[int, int, int, int]:
    """k, x - k ln2_high (exact), r, and bits whose low end is k + offset."""
    k, bits = m.nearest(x, 1 / math.log(2), offset)
    high, low = parts("ln2", m.type, 2)
    first = m.fma(k, -high, x)
    return k, first, m.fma(k, -low, first), bits


def scaled(m: Real, a: int, bits: int) -> int:
    """2^k a for bits that end in k + 2 bias: two factors, so that only the result can under-
    or overflow, and a subnormal one is rounded once."""
    half = m.mask(m.left(bits, m.mantissa - 1), -1 << m.mantissa)
    rest = m.p.sub(m.left(bits, m.mantissa), half)
    return m.mul(m.mul(a, m.real(half)), m.real(rest))


def clamped(m: Real, x: int) -> int:
    """x, moved to where exp x is surely zero or infinite if it lies beyond."""
    return m.above(m.below(x, m.pick(89.0, 710.0)), m.pick(-104.0, -746.0))


def exp(m: Real, x: int) -> int:
    """Within 0.9 ulp."""
    _, _, r, bits = reduce(m, clamped(m, x), 2 * m.bias)
    square = m.mul(r, r) if not m.single else None
    e = m.fma(m.fma(m.poly("exp", r, square), r, 1.0), r, 1.0)
    return scaled(m, e, bits)


def exp2(m: Real, x: int) -> int:
    """2^x = 2^k 2^r with x - k = r exact. Within 1 ulp."""
    x = m.above(m.below(x, m.pick(129.0, 1025.0)), m.pick(-151.0, -1076.0))
    k, bits = m.nearest(x, 1.0, 2 * m.bias)
    r = m.sub(x, k)
    square = m.mul(r, r) if not m.single else None
    return scaled(m, m.fma(m.poly("exp2", r, square), r, 1.0), bits)


def _less_one(m: Real, x: int, offset: int, careful: bool = False) -> tuple[int, int]:
    """exp r - 1, and the float with the bits k + offset of exponent: 2^(k + offset - bias)."""
    k, first, r, bits = reduce(m, x, offset)
    square = m.mul(r, r)
    p = m.poly("exp", r, None if m.single else square)
    if careful:
        low = parts("ln2", m.type, 2)[1]
        q = m.add(r, m.fma(square, p, m.fma(k, -low, m.sub(first, r))))
    else:
        q = m.fma(square, p, r)
    return q, m.real(m.left(bits, m.mantissa))


def expm1(m: Real, x: int) -> int:
    """2^k (exp r - 1) + (2^k - 1), at half size, so that k = bias + 1 has a float.

    Within 1.6 ulp.
    """
    inside = m.above(m.below(x, m.pick(89.0, 710.0)), m.pick(-18.0, -38.0))
    q, half = _less_one(m, inside, m.bias - 1, careful=True)
    y = m.fma(q, half, m.sub(half, 0.5))
    # Also minus zero, and numbers whose half would be subnormal.
    return m.where(m.lt(m.abs(x), 2.0 ** -(m.mantissa + 2)), x, m.add(y, y))


def logistic(m: Real, x: int) -> int:
    """1 / (1 + exp(-x)), the denominator scaled so that tiny results come out. Within 1.8 ulp."""
    shift = int(m.pick(64, 512))
    y = m.above(m.below(m.neg(x), m.pick(104.0, 746.0)), m.pick(-20.0, -40.0))
    q, power = _less_one(m, y, m.bias - shift)
    scale = 2.0**-shift
    # What 1 + 2^k rounds away counts where the two are far apart.
    total = m.add(power, scale)
    rest = m.sub(scale, m.sub(total, power))
    return m.mul(m.div(1.0, m.add(total, m.fma(power, q, rest))), scale)


def tanh(p: Program, xs: list[int]) -> list[int]:
    """float64 within 1.97 ulp; float32 to 4.1e-7 of itself, with half the operations."""
    if xs and p.type(xs[0]) == "f32":
        m = Real(p, "f32")
        return [_tanh_quotient(m, x) for x in xs]
    return careful_tanh(p, xs)


def _tanh_quotient(m: Real, x: int) -> int:
    """x P(x²) / Q(x²) up to where tanh x is one but for a rounding. Never above one."""
    a = m.above(m.below(x, TANH_END), -TANH_END)
    z = m.mul(a, a)
    return m.div(m.mul(a, m.poly("tanh above", z)), m.poly("tanh below", z))


def careful_tanh(p: Program, xs: list[int]) -> list[int]:
    """h / (h + 1) with h = (exp 2|x| - 1) / 2. Within 1.97 ulp."""
    if not xs:
        return []
    m = Real(p, p.type(xs[0]))
    hs = [_half_expm1_of_twice(m, m.abs(x)) for x in xs]
    # The denominator of NaN is one: a neighbour shares the division.
    ds = [m.add(h, 1.0) for h in hs]
    inverses = reciprocals(m, [m.where(m.gt(d, 1.0), d, 1.0) for d in ds])
    return [_tanh(m, *each) for each in zip(xs, hs, inverses, strict=True)]


def _tanh(m: Real, x: int, h: int, inverse: int) -> int:
    """The quotient and what it lacks, in which the rounding of h + 1 has no part."""
    y = m.mul(h, inverse)
    rest = m.fma(h, m.sub(1.0, y), m.neg(y))
    return m.signed(m.fma(rest, inverse, y), x)


def _half_expm1_of_twice(m: Real, a: int) -> int:
    """a = k ln 2 / 2 + s, where only float64 needs more of ln 2 / 2 than one float has."""
    a = m.below(a, m.pick(9.1, 19.1))
    k, bits = m.nearest(a, 2 / math.log(2), m.bias)
    high, low = parts("ln2", m.type, 2, 0.5)
    s = m.fma(k, -high, a)
    square = m.mul(s, s)
    doubled = [c * 2.0 ** (i + 1) for i, c in enumerate(TABLES["exp"][m.type])]
    p = m.horner(doubled, s, None if m.single else square)
    q = m.fma(square, p, s) if m.single else m.add(s, m.fma(square, p, m.mul(k, -low)))
    power = m.real(m.left(bits, m.mantissa))
    return m.fma(q, power, m.fma(power, 0.5, -0.5))


def _hyperbolic(m: Real, x: int) -> tuple[int, int, int, int, int]:
    """For |x| = k ln 2 + r: r, cosh r - 1, sinh r - r, and 2^k / 4, 2^-k / 4."""
    a = m.below(m.abs(x), m.pick(89.5, 710.6))
    _, _, r, bits = reduce(m, a, m.bias - 2)
    z = m.mul(r, r)
    up = m.left(bits, m.mantissa)
    down = m.p.sub(m.integer(2 * (m.bias - 2) << m.mantissa), up)
    up, down = m.real(up), m.real(m.p.max(down, m.integer(0)))
    c, s = m.mul(z, m.poly("cosh", z)), m.mul(m.mul(r, z), m.poly("sinh", z))
    return r, c, s, up, down


def sinh(m: Real, x: int) -> int:
    """sinh(k ln 2) cosh r + cosh(k ln 2) sinh r, the largest part last. Within 1.6 ulp."""
    r, c, s, up, down = _hyperbolic(m, x)
    cosh_k, sinh_k = m.add(up, down), m.sub(up, down)
    y = m.add(sinh_k, m.fma(r, cosh_k, m.fma(c, sinh_k, m.mul(s, cosh_k))))
    # As in expm1.
    y = m.where(m.lt(m.abs(x), 2.0 ** -(m.mantissa // 2 + 2)), x, m.add(y, y))
    return m.signed(y, x)


def cosh(m: Real, x: int) -> int:
    """cosh(k ln 2) cosh r + sinh(k ln 2) sinh r, the largest part last. Within 1.2 ulp."""
    r, c, s, up, down = _hyperbolic(m, x)
    cosh_k, sinh_k = m.add(up, down), m.sub(up, down)
    small = m.fma(c, cosh_k, m.fma(s, sinh_k, down))
    y = m.add(up, m.fma(r, sinh_k, small))
    return m.add(y, y)
