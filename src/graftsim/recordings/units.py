"""Units that logs come in, and their factors to SI. One table, no inference."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graftsim.errors import LogError, suggest


@dataclass(frozen=True)
class Unit:
    """A unit of measurement: `value_si = factor * value`.

    dimension: a word such as "angle"; two units convert into each other if it is the same.
    si: the symbol of the SI unit of that dimension.
    """

    symbol: str
    dimension: str
    factor: float
    si: str


# dimension: (SI symbol, {symbol: factor}). The first symbol of each row is the SI one.
_TABLE: dict[str, dict[str, float]] = {
    "number": {"1": 1.0, "%": 0.01},
    "time": {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0},
    "angle": {
        "rad": 1.0,
        "mrad": 1e-3,
        "deg": math.pi / 180,
        "rev": 2 * math.pi,
    },
    "angular velocity": {
        "rad/s": 1.0,
        "mrad/s": 1e-3,
        "deg/s": math.pi / 180,
        "rev/s": 2 * math.pi,
        "rpm": 2 * math.pi / 60,
    },
    "angular acceleration": {"rad/s^2": 1.0, "deg/s^2": math.pi / 180, "rev/s^2": 2 * math.pi},
    "length": {"m": 1.0, "cm": 1e-2, "mm": 1e-3, "um": 1e-6, "in": 0.0254},
    "velocity": {"m/s": 1.0, "cm/s": 1e-2, "mm/s": 1e-3, "km/h": 1 / 3.6},
    # g is standard gravity, as accelerometers report it, never the gram.
    "acceleration": {"m/s^2": 1.0, "mm/s^2": 1e-3, "cm/s^2": 1e-2, "g": 9.80665, "mg": 9.80665e-3},
    "force": {"N": 1.0, "mN": 1e-3, "kN": 1e3, "lbf": 4.4482216152605},
    "torque": {"N m": 1.0, "mN m": 1e-3, "N cm": 1e-2, "N mm": 1e-3, "kN m": 1e3},
    "current": {"A": 1.0, "mA": 1e-3},
    "voltage": {"V": 1.0, "mV": 1e-3},
}
_UNITS = {
    symbol: Unit(symbol, dimension, factor, next(iter(row)))
    for dimension, row in _TABLE.items()
    for symbol, factor in row.items()
}
_ALIASES = {
    "": "1",
    "-": "1",
    "none": "1",
    "°": "deg",
    "degree": "deg",
    "degrees": "deg",
    "radian": "rad",
    "radians": "rad",
    "turn": "rev",
    "turns": "rev",
    "°/s": "deg/s",
    "dps": "deg/s",
    "rad/s2": "rad/s^2",
    "deg/s2": "deg/s^2",
    "m/s2": "m/s^2",
    "mm/s2": "mm/s^2",
    "cm/s2": "cm/s^2",
    "Nm": "N m",
    "mNm": "mN m",
    "Ncm": "N cm",
    "Nmm": "N mm",
    "kNm": "kN m",
    "sec": "s",
    "seconds": "s",
    "percent": "%",
}


def unit(text: str) -> Unit:
    """The unit written as `text`, in any of the usual spellings (`N m`, `Nm`, `N*m`, `m/s²`).

    Raises: LogError for a unit that is not in the table.
    """
    plain = text.strip().replace("²", "2").replace("µ", "u").replace("μ", "u")
    plain = plain.replace("·", " ").replace("*", " ")
    for candidate in (plain, _ALIASES.get(plain), _ALIASES.get(plain.replace(" ", ""))):
        if candidate in _UNITS:
            return _UNITS[candidate]
    raise LogError(
        f"unit {text!r} is not known. {suggest(text, _UNITS, limit=len(_UNITS))} "
        "For any other unit give `scale`, the factor to SI."
    )


def si_symbol(dimension: str) -> str:
    """Symbol of the SI unit of a dimension of the table.

    Raises: KeyError for an unknown dimension.
    """
    return next(iter(_TABLE[dimension]))
