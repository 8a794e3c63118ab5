"""Numbers in words' company: as many digits as they deserve, and no more."""

from __future__ import annotations

import math

MINUS = "\N{MINUS SIGN}"
NONE = "\N{EN DASH}"
THIN = "\N{NARROW NO-BREAK SPACE}"
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def exponent(x: float) -> int:
    """Power of ten of the leading digit; 0 for zero, NaN and infinity."""
    return math.floor(math.log10(abs(x))) if x and math.isfinite(x) else 0


def decimal(x: float, places: int) -> str:
    """A number with a digit at 10^-places as its last (negative: rounded to tens, hundreds ...)."""
    if not math.isfinite(x):
        return "∞" if x == math.inf else f"{MINUS}∞" if x == -math.inf else NONE
    top = exponent(x)
    if x and (top < -4 or top > 6):
        digits = max(0, places + top)
        mantissa = f"{x / 10.0**top:.{digits}f}"
        if abs(float(mantissa)) >= 10:
            return decimal(math.copysign(10.0 ** (top + 1), x), places)
        return f"{mantissa.replace('-', MINUS)}×10{str(top).translate(_SUPERSCRIPT)}"
    text = f"{round(x, places):.{max(places, 0)}f}"
    if not float(text):
        text = text.lstrip("-")
    return text.replace("-", MINUS)


def rounded(x: float, digits: int = 3) -> str:
    """A number with so many significant digits; an en dash for NaN."""
    if not math.isfinite(x) or not x:
        return "0" if x == 0 else decimal(x, 0)
    return decimal(x, digits - 1 - exponent(x))


def places_for(std: float, value: float) -> int:
    """Decimal places that show two digits of the uncertainty; without one, four of the value."""
    if math.isfinite(std) and std > 0:
        places = 1 - exponent(std)
        # An uncertainty far above the value must not round the value away, nor one far below
        # show digits that no one reads.
        if value:
            places = min(max(places, 1 - exponent(value)), 7 - exponent(value))
        return places
    return 3 - exponent(value) if value and math.isfinite(value) else 3


def percent(x: float) -> str:
    """A fraction as a percentage with two digits; above 1000 % only that."""
    if not math.isfinite(x):
        return NONE
    return f"> 1000{THIN}%" if x > 10 else f"{rounded(100 * x, 2)}{THIN}%"


def times(ratio: float) -> str:
    """A ratio for "n times": two digits, three from a hundred."""
    if ratio == math.inf:
        return "infinitely many"
    return rounded(ratio, 3 if ratio >= 100 else 2)


def duration(seconds: float) -> str:
    """A wall time in the unit that people would use."""
    if not math.isfinite(seconds):
        return NONE
    if seconds < 60:
        return f"{rounded(seconds, 2)} s"
    if seconds < 3600:
        return f"{int(seconds // 60)} min {int(seconds % 60)} s"
    return f"{int(seconds // 3600)} h {int(seconds % 3600 // 60)} min"


def unit(text: str) -> str:
    """A unit as it is printed: powers raised, products dotted, nothing for a plain number."""
    if text in ("", "1"):
        return ""
    for power in ("2", "3"):
        text = text.replace(f"^{power}", power.translate(_SUPERSCRIPT))
    return text
