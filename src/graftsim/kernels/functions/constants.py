"""Mathematical constants as sums of floats."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

_DIGITS = {
    "pi": "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899",
    "2/ln2": "2.8853900817779268147198493620037842748532919083059718682708988138622184383623",
    "third": "1/3",
    "ln2": "0.69314718055994530941723212145817656807550013436025525412068000949339362196969472",
}

# Where polynomials are expanded whose first coefficient is not known exactly: chosen so that the
# first two coefficients are nearly floats, in the types that use them.
CENTRES = {
    "erfc": 0.1272021484375,
    "erf_inv": 2.4568359375,
    "erf_inv far f32": 3.0390625,
    "erf_inv far f64": 4.044921875,
}

# Where the quotient for tanh in float32 ends: what it gives there, it gives beyond.
TANH_END = 7.9


@cache
def parts(name: str, type: str, count: int, scale: float = 1.0) -> tuple[float, ...]:
    """`scale` times a constant as a sum of floats, each nearest to what the ones before leave."""
    rest, out = Fraction(_DIGITS[name]) * Fraction(scale), []
    for _ in range(count):
        # The second rounding cannot matter: no part lies that close to a tie.
        part = float(np.float32(float(rest))) if type == "f32" else float(rest)
        out.append(part)
        rest -= Fraction(part)
    return tuple(out)
