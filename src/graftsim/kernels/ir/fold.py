"""Values of operations on known numbers, exactly as the processor would compute them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graftsim.kernels.ir.ops import OPS
from graftsim.kernels.ir.types import DTYPES

if TYPE_CHECKING:
    from fractions import Fraction

INT64 = 2**63


def fold(name: str, values: Sequence[Any], type: str) -> Any:
    """An operation of Python numbers of one type; to be rounded to the type by `Program.const`."""
    op = OPS[name]
    if op.plain is not None and type[0] == "f":
        # Of float32 numbers, the float64 result rounded once more is the right one.
        return op.plain(*values)
    if op.whole is not None and type == "i64":
        # Indices for the most part: Python's own are quicker than NumPy's.
        found = op.whole(*values)
        # What overflows is left to NumPy, which wraps.
        if -INT64 <= found < INT64:
            return found
    assert op.fold is not None
    with np.errstate(all="ignore"):
        return op.fold(*(DTYPES[type].type(v) for v in values))


def fused(a: float, b: float, c: float, type: str) -> float:
    """a b + c, rounded once."""
    from fractions import Fraction

    if not all(math.isfinite(v) for v in (a, b, c)):
        return a * b + c
    return _round(Fraction(a) * Fraction(b) + Fraction(c), type, c)


def _round(exact: Fraction, type: str, like: float) -> float:
    """Nearest number of a type; zero takes the sign of `like`."""
    if exact == 0:
        return math.copysign(0.0, like)
    if type == "f64":
        return float(exact)
    # Rounding twice can err by one unit only at exact ties of the first rounding: break them.
    near = float(exact)
    if near != exact:
        bits = np.float64(near).view(np.int64)
        if int(bits) & 0x1FFFFFFF == 0x10000000:
            near = float((bits + (1 if (exact > near) == (near > 0) else -1)).view(np.float64))
    return near


def converted(value: Any, was: str, type: str) -> Any:
    """The number as another type; floats beyond whole numbers become the nearest of these."""
    if was[0] == "f" and type[0] != "f":
        return _saturate(value, type)
    if was[0] == "i" and type == "i64":
        return int(value)
    with np.errstate(all="ignore"):
        return DTYPES[was].type(value).astype(DTYPES[type])


def _saturate(value: float, type: str) -> int:
    """Nearest whole number that a type holds, towards zero; zero for NaN."""
    low, high = np.iinfo(DTYPES[type]).min, np.iinfo(DTYPES[type]).max
    if not math.isfinite(value):
        return 0 if value != value else high if value > 0 else low
    return min(max(int(value), int(low)), int(high))


def reinterpreted(value: Any, was: str, type: str) -> Any:
    """The same bits as another type of the same width."""
    return DTYPES[was].type(value).view(DTYPES[type])
