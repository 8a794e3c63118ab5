"""log and its relatives: x = 2^e (1 + f), 1 + f between 1/sqrt 2 and sqrt 2."""

from __future__ import annotations

import math

from graftsim.kernels.functions.constants import parts
from graftsim.kernels.functions.real import Arg, Real


def split(m: Real, x: int, more: Arg = 0.0) -> tuple[int, int]:
    """e + more and 2^e from the bits of a positive normal x: (float, bits of e + bias shifted)."""
    root = m.bits_of(math.sqrt(0.5))
    moved = m.plus(m.bits(x), (m.bias << m.mantissa) - root)
    less = 2.0**m.mantissa + m.bias
    less = less - more if isinstance(more, float) else m.sub(less, more)
    return m.count(m.right(moved, m.mantissa), less), moved


def fraction(m: Real, moved: int) -> int:
    """f of the moved bits that `split` gives."""
    root = m.bits_of(math.sqrt(0.5))
    return m.sub(m.real(m.plus(m.mask(moved, (1 << m.mantissa) - 1), root)), 1.0)


def _of_fraction(m: Real, f: int, rest: int | None = None) -> int:
    """log(1 + f) + rest."""
    square = m.mul(f, f)
    p = m.poly("log", f, square)
    if rest is None:
        return m.fma(square, p, f)
    return m.add(f, m.fma(square, p, rest))


def combine(m: Real, e: int, f: int, rest: int | None = None) -> int:
    """e ln 2 + log(1 + f) + rest.

    One float of ln 2 is enough: what it lacks is 0.03 (f32) or 0.2 (f64) ulp of it.
    """
    return m.fma(e, parts("ln2", m.type, 1)[0], _of_fraction(m, f, rest))


def _edges(m: Real, y: int, x: int, argument: int) -> int:
    """Value y, -inf where the logarithm's argument is zero, NaN below; infinite and NaN x stay."""
    wrong = m.where(m.eq(argument, 0.0), -math.inf, math.nan)
    y = m.where(m.gt(argument, 0.0), y, wrong)
    return m.where(m.lt(x, math.inf), y, x)


def split_any(m: Real, x: int) -> tuple[int, int]:
    """`split`, also of subnormal numbers: they are scaled up."""
    tiny = m.lt(x, 2.0 ** (1 - m.bias))
    shift = m.mantissa + 2
    normal = m.where(tiny, m.mul(x, 2.0**shift), x)
    return split(m, normal, m.where(tiny, float(-shift), 0.0))


def log(m: Real, x: int) -> int:
    """Within 1.4 ulp."""
    e, moved = split_any(m, x)
    return _edges(m, combine(m, e, fraction(m, moved)), x, x)


def log2(m: Real, x: int) -> int:
    """e + log(1 + f) / ln 2, exact for powers of two. Within 1.8 ulp."""
    e, moved = split_any(m, x)
    return _edges(m, m.fma(_of_fraction(m, fraction(m, moved)), 1 / math.log(2), e), x, x)


def log1p(m: Real, x: int) -> int:
    """log of u = 1 + x, whose rounding error does not enter: f = 2^-e x + (2^-e - 1), one rounding.

    2^-e is taken as 2^(2-e) / 4, which is normal for all e. Within 1.8 ulp.
    """
    u = m.add(x, 1.0)
    e, moved = split(m, u)
    shifted = m.mask(moved, -1 << m.mantissa)
    power = m.real(m.p.sub(m.integer((2 * m.bias + 2) << m.mantissa), shifted))
    f = m.fma(m.mul(x, 0.25), power, m.fma(power, 0.25, -1.0))
    y = _edges(m, combine(m, e, f), x, u)
    # Also minus zero, and subnormal numbers, which lose bits above.
    return m.where(m.lt(m.abs(x), 2.0 ** -(m.mantissa + 2)), x, y)


def rough_inverse(m: Real, a: int) -> int:
    """0.94 / a within 7 percent: the exponent changes its sign, the mantissa runs backwards."""
    return m.mul(m.real(m.p.sub(m.integer(2 * m.bias << m.mantissa), m.bits(a))), 0.94)


def asinh(m: Real, x: int) -> int:
    """x + x z P(z) below 1/2, else log(u), u = a + sqrt(a² + 1). Within 1.4 ulp.

    Rounding errors of u are gathered and divided by u roughly. Above 2^(mantissa/2 + 2) a² does not
    feel the 1, and may overflow: there it is log(a) + log(2).
    """
    a = m.abs(x)
    z = m.mul(a, a)
    small = m.fma(m.mul(a, z), m.poly("asinh", z, m.mul(z, z)), a)
    v = m.fma(a, a, 1.0)
    q = m.sqrt(v)
    u = m.add(a, q)
    added = m.sub(a, m.sub(u, q))
    squared = m.sub(m.fma(a, a, m.sub(1.0, v)), m.fma(q, q, m.neg(v)))
    rest = m.fma(m.mul(squared, 0.5), rough_inverse(m, q), added)
    rest = m.mul(rest, rough_inverse(m, u))
    large = _log_of(m, a, u, rest)
    y = m.where(m.lt(a, 0.5), small, large)
    return m.signed(m.where(m.lt(a, math.inf), y, a), x)


def _log_of(m: Real, a: int, u: int, rest: int | None = None) -> int:
    """log(u) + rest, or log(a) + log(2) for huge a."""
    huge = m.gt(a, 2.0 ** (m.mantissa // 2 + 2))
    if rest is not None:
        rest = m.where(huge, 0.0, rest)
    e, moved = split(m, m.where(huge, a, u), m.where(huge, 1.0, 0.0))
    return combine(m, e, fraction(m, moved), rest)


def acosh(m: Real, x: int) -> int:
    """s + s t P(t), t = x - 1, s = sqrt(2 t), up to a result of 1; above, log(x + sqrt(x² - 1)).

    Within 1.6 ulp.
    """
    t = m.sub(x, 1.0)
    s = m.sqrt(m.add(t, t))
    small = m.fma(m.mul(s, t), m.poly("acosh", t, m.mul(t, t)), s)
    u = m.add(x, m.sqrt(m.fma(x, x, -1.0)))
    y = m.where(m.lt(x, 1.5625), small, _log_of(m, x, u))
    return m.where(m.lt(x, math.inf), y, x)


def atanh(m: Real, x: int) -> int:
    """e ln 2 / 2 + (s + s³ P(s²)), where (1 + a)/(1 - a) = 2^e (1 + s)/(1 - s), |s| < 0.29.

    e comes from the difference of the bits of 1 + a and 1 - a, nearly a logarithm. It is 0, and
    then s = a, up to a = 1/4; so the errors of s are small beside the result. Within 1.7 ulp.
    """
    a = m.abs(x)
    up, down = m.add(a, 1.0), m.sub(1.0, a)
    gap = m.p.sub(m.bits(up), m.bits(down))
    moved = m.mask(m.plus(gap, 1 << m.mantissa - 2), -1 << m.mantissa)
    e = m.count(m.right(moved, m.mantissa), 2.0**m.mantissa)
    power = m.real(m.plus(moved, m.bias << m.mantissa))
    # Below 1/2, 1 - a is rounded but 1 + 2^e is exact; above it is the other way round.
    near = m.lt(a, 0.5)
    more, less = m.add(power, 1.0), m.sub(1.0, power)
    n = m.where(near, m.fma(a, more, less), m.fma(m.neg(power), down, up))
    d = m.where(near, m.fma(a, less, more), m.fma(power, down, up))
    s = m.div(n, d)
    z = m.mul(s, s)
    y = m.fma(m.mul(s, z), m.poly("atanh", z, m.mul(z, z)), s)
    y = m.fma(e, 0.5 * parts("ln2", m.type, 1)[0], y)
    y = m.where(m.lt(a, 1.0), y, m.where(m.eq(a, 1.0), math.inf, math.nan))
    return m.signed(y, x)
