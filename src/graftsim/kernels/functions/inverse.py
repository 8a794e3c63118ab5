"""asin, acos, atan, atan2."""

from __future__ import annotations

from graftsim.kernels.functions.constants import parts
from graftsim.kernels.functions.real import Real


def _arcsine(m: Real, x: int) -> tuple[int, int, int]:
    """|x| > 1/2, s and s z P(z) with asin s = s + s z P(z).

    s is |x| up to 1/2, and sqrt((1 - |x|)/2) above, where asin |x| = pi/2 - 2 asin s.
    """
    a = m.abs(x)
    far = m.gt(a, 0.5)
    z = m.where(far, m.fma(a, -0.5, 0.5), m.mul(a, a))
    s = m.where(far, m.sqrt(z), a)
    return far, s, m.mul(m.mul(s, z), m.poly("asin", z, m.mul(z, z)))


def asin(m: Real, x: int) -> int:
    """pi/2 is taken as 1 + 0.57, since pi/2 - 2 s rounds more coarsely than the result may be.

    Within 1.3 ulp.
    """
    far, s, small = _arcsine(m, x)
    high, low = parts("pi", m.type, 2, 0.5)
    outer = m.add(m.fma(s, -2.0, 1.0), m.add(m.fma(small, -2.0, low), high - 1))
    return m.signed(m.where(far, outer, m.add(s, small)), x)


def acos(m: Real, x: int) -> int:
    """2 asin s near 1, pi - 2 asin s near -1, pi/2 - asin x between. Within 1.3 ulp."""
    far, s, small = _arcsine(m, x)
    high, low = parts("pi", m.type, 2, 0.5)
    signed_s, signed_small = m.signed(s, x), m.signed(small, x)
    middle = m.add(m.sub(high, signed_s), m.sub(low, signed_small))
    left = m.lt(x, 0.0)
    outer = m.add(
        m.fma(signed_s, 2.0, m.where(left, 2 * high, 0.0)),
        m.fma(signed_small, 2.0, m.where(left, 2 * low, 0.0)),
    )
    return m.where(far, outer, middle)


def _arctangent(m: Real, t: int, high: int, low: int) -> int:
    """high + low + atan t for |t| <= 1."""
    z = m.mul(t, t)
    small = m.fma(m.mul(t, z), m.poly("atan", z, m.mul(z, z)), low)
    return m.add(high, m.add(t, small))


def atan(m: Real, x: int) -> int:
    """pi/2 - atan(1/|x|) above 1. Within 1.8 ulp."""
    a = m.abs(x)
    far = m.gt(a, 1.0)
    t = m.div(m.where(far, -1.0, a), m.where(far, a, 1.0))
    high, low = parts("pi", m.type, 2, 0.5)
    y = _arctangent(m, t, m.where(far, high, 0.0), m.where(far, low, 0.0))
    return m.signed(y, x)


def atan2(m: Real, y: int, x: int) -> int:
    """atan of the smaller over the larger one, then into the right octant. Within 1.8 ulp."""
    ay, ax = m.abs(y), m.abs(x)
    steep = m.gt(ay, ax)
    n, d = m.where(steep, ax, ay), m.where(steep, ay, ax)
    # Also infinite ones, and zeros, of which neither has a quotient.
    same = m.where(m.gt(n, 0.0), 1.0, 0.0)
    t = m.where(m.eq(n, d), same, m.div(n, d))
    left = m.p.compare("lt", m.bits(x), m.integer(0))
    t = m.where(m.p.apply("bxor", steep, left), m.neg(t), t)
    high, low = parts("pi", m.type, 2, 0.5)
    base = m.where(steep, high, m.where(left, 2 * high, 0.0))
    rest = m.where(steep, low, m.where(left, 2 * low, 0.0))
    return m.signed(_arctangent(m, t, base, rest), y)
