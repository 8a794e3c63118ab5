"""erf, erfc and the inverse of erf."""

from __future__ import annotations

import math

from graftsim.kernels.functions.constants import CENTRES, parts
from graftsim.kernels.functions.exponential import reduce, scaled
from graftsim.kernels.functions.logarithm import combine, fraction, rough_inverse, split
from graftsim.kernels.functions.real import Real
from graftsim.kernels.functions.tables import TABLES


def _centred(m: Real, name: str, x: int) -> int:
    """Polynomial in x - centre."""
    t = m.sub(x, CENTRES[name])
    return m.poly(name, t, m.mul(t, t))


def _near(m: Real, x: int) -> int:
    """erf x for |x| <= 1/2."""
    z = m.mul(x, x)
    return m.fma(x, m.poly("erf", z, m.mul(z, z)), x)


def _complement(m: Real, a: int) -> int:
    """erfc a for a >= 1/2: exp(-a²) y P(y - centre), y = 1 / (a + 3).

    Its logarithm falls steeply, so all that is rounded on the way (a², a + 3, y, the products) has
    its error gathered, and added before the last rounding.
    """
    a = m.below(a, m.pick(10.5, 27.5))
    d = m.add(a, 3.0)
    y = m.div(1.0, d)
    # 1 / (a + 3) = y (1 + off); y P feels that 1 to 3 times, which the quadratic says to 1 percent.
    off = m.fma(m.neg(y), d, 1.0)
    lost = m.sub(a, m.sub(d, 3.0))
    off = m.mul(m.fma(m.neg(lost), y, off), m.fma(y, m.fma(y, 14.2, 2.64), 1.0))
    t = m.sub(y, CENTRES["erfc"])
    c0, *others = TABLES["erfc"][m.type]
    h = m.horner(others, t, m.mul(t, t))
    g = m.fma(t, h, c0)
    g_low = m.fma(t, h, m.sub(c0, g))
    w = m.mul(y, g)
    w_low = m.fma(y, g_low, m.fma(y, g, m.neg(w)))
    # exp(-a²) = 2^k exp(r), a² and r as sums of two floats
    square = m.mul(a, a)
    k, first, _, bits = reduce(m, m.neg(square), 2 * m.bias)
    rest = m.fma(a, m.neg(a), square)
    rest = m.fma(k, -parts("ln2", m.type, 2)[1], rest)
    r = m.add(first, rest)
    low = m.add(m.sub(first, r), rest)
    z = m.mul(r, r)
    small = m.fma(z, m.poly("exp", r, None if m.single else z), low)
    w_low = m.fma(w, off, w_low)
    tail = m.fma(w_low, m.add(r, small), w_low)
    return scaled(m, m.add(w, m.fma(w, r, m.fma(w, small, tail))), bits)


def erf(m: Real, x: int) -> int:
    """x + x P(x²) up to 1/2, 1 - erfc |x| above. Within 1.3 ulp."""
    a = m.abs(x)
    far = m.sub(1.0, _complement(m, a))
    return m.signed(m.where(m.lt(a, 0.5), _near(m, a), far), x)


def erfc(m: Real, x: int) -> int:
    """1 - erf x up to 1/2, the complement above, 2 less it on the left. Within 1.9 ulp."""
    a = m.abs(x)
    far = _complement(m, a)
    far = m.where(m.lt(x, 0.0), m.sub(2.0, far), far)
    return m.where(m.lt(a, 0.5), m.sub(1.0, _near(m, x)), far)


def erf_inv(m: Real, x: int) -> int:
    """x P(w) with w = -log(1 - x²) up to 5, x P(sqrt w) above. Within 2 ulp."""
    v = m.fma(m.neg(x), x, 1.0)
    e, moved = split(m, v)
    w = m.neg(combine(m, e, fraction(m, moved)))
    close = m.lt(w, 5.0)
    s = m.sqrt(w)
    near, far = _centred(m, "erf_inv", w), _centred(m, f"erf_inv far {m.type}", s)
    # The far result is nearly s, so it feels the rounding error of the root, (w - s²) / (2 s). The
    # near one feels that of w - centre where w is small, with a slope of 0.23 there.
    far_off = m.mul(m.fma(m.neg(s), s, w), m.mul(rough_inverse(m, s), 0.53))
    t = m.sub(w, CENTRES["erf_inv"])
    near_off = m.mul(m.sub(w, m.add(t, CENTRES["erf_inv"])), 0.23)
    a = m.abs(x)
    off = m.mul(a, m.where(close, near_off, far_off))
    y = m.fma(a, m.where(close, near, far), off)
    y = m.where(m.lt(a, 1.0), y, m.where(m.eq(a, 1.0), math.inf, math.nan))
    return m.signed(y, x)
