"""Levenberg-Marquardt over the parameters that may move, and no derivative by the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from graftsim.identify.problem.residuals import Compiled
from graftsim.identify.runs.failures import Tally, Tolerant
from graftsim.optim.least_squares import (
    Bounded,
    LevenbergMarquardt,
    Point,
    levenberg_marquardt,
)


def solve(
    compiled: Compiled,
    start: Point,
    bounds: Bounded,
    options: LevenbergMarquardt,
    callback: Callable[[Point, float], None] | None = None,
    tally: Tally | None = None,
    allowed: int = 0,
) -> Point:
    """Minimum from a start; parameters whose bounds meet stay there, at no cost of computing.

    tally: counts the windows simulated. allowed: so many of them may be lost, see `Tolerant`.
    """
    active = np.flatnonzero(bounds.upper > bounds.lower)
    whole = np.clip(start.theta, bounds.lower, bounds.upper)
    inside = bounds.only(active)
    # What fixed parameters cost, so that costs of different choices can be compared.
    nothing = np.zeros((0, bounds.local_std.size))
    fixed = bounds.prior_cost(whole, nothing) - inside.prior_cost(whole[active], nothing)

    def embed(part: np.ndarray, into: np.ndarray) -> np.ndarray:
        out = into.copy()
        out[active] = part
        return out

    def expand(p: Point) -> Point:
        scale = None if p.scale is None else embed(p.scale, np.ones_like(whole))
        return replace(p, theta=embed(p.theta, whole), cost=p.cost + fixed, scale=scale)

    tolerant = Tolerant(
        lambda t, l: compiled.residual(embed(t, whole), l),
        lambda t, l: compiled.jacobian(embed(t, whole), l, active),
        allowed,
        Tally() if tally is None else tally,
    )
    scale = None if start.scale is None else start.scale[active]
    found = levenberg_marquardt(
        tolerant.residual,
        tolerant.jacobian,
        replace(start, theta=whole[active], scale=scale),
        inside,
        options,
        None if callback is None else lambda p, size: callback(expand(p), size),
    )
    return expand(found)
