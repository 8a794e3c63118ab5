"""Inertias as files must have them: those of bodies that can exist."""

from __future__ import annotations

import numpy as np

from graftsim.errors import ModelError
from graftsim.io.robot import poses
from graftsim.model import checks

# Of the largest principal inertia: a few units in the last place.
_MARGIN = 8 * np.finfo(float).eps


def raised(name: str, mass: float, six: np.ndarray, lost: list[str]) -> np.ndarray:
    """Six inertias of a link, the smaller principal ones raised where no body has them.

    A fit of planar motion may change one axis alone: that one, the largest, is kept. What was
    raised is added to `lost` in a sentence.
    """
    try:
        checks.body(mass, six, name)
    except ModelError:
        values, axes = np.linalg.eigh(poses.symmetric(six))
        low = np.maximum(values[:2], 0.0)
        low = low + max(values[2] - low.sum(), 0.0) / 2
        lost.append(
            f"link {name}: principal inertias {', '.join(f'{v:.4g}' for v in values)} kg m^2 "
            f"belong to no body; the smaller two are raised to {low[0]:.4g} and {low[1]:.4g}."
        )
        return poses.six(axes @ np.diag([*low, values[2]]) @ axes.T)
    return six


def with_margin(principal: np.ndarray) -> np.ndarray:
    """Principal inertias [3], the largest no more than the sum of the others, rounding included.

    A flat body has A + B = C, which programs that check it miss by a unit in the last place. The
    smaller two are raised by what lacks, of the size of rounding, or of the digits of a file.
    """
    out = np.array(principal, float)
    largest = int(np.argmax(out))
    others = [k for k in range(3) if k != largest]
    lacking = out[largest] * (1 + _MARGIN) - out[others].sum()
    if lacking > 0:
        out[others] += lacking / 2
    return out
