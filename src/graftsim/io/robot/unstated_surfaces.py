"""Numbers of pairs that a robot file cannot hold, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from graftsim.io.robot.numbers import floats
from graftsim.model.model import Model
from graftsim.model.pairs import SURFACE, listed, surface

_TOLERANCE = 1e-6


def lost_numbers(model: Model, pairs: Sequence[int], kept: Iterable[str]) -> list[str]:
    """One sentence for each number of `pairs` that differs from the default for unstated numbers.

    `kept`: the quantities that the file has.
    """
    silent = {"surface": dict.fromkeys(SURFACE)}
    gravity = float(np.linalg.norm(floats(model.world.gravity))) or 9.81
    weight = float(floats(model.link.mass).sum()) * gravity
    expected = surface(silent, silent, {}, weight)
    found: dict[tuple[str, float], list[str]] = {}
    for quantity in sorted(set(SURFACE) - set(kept)):
        values = floats(getattr(model.pair, quantity))
        for k in pairs:
            value = float(values[k])
            if abs(value - expected[quantity]) > _TOLERANCE * max(abs(expected[quantity]), 1e-3):
                found.setdefault((quantity, value), []).append(model.pair.names[k])
    return [f"pair.{q} {v:g} of {listed(names)}." for (q, v), names in found.items()]
