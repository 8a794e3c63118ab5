"""Held-out cost: how well parameters explain windows that took no part in the fit."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import Compiled, as_data
from graftsim.identify.problem.windows import Windows
from graftsim.optim.least_squares import Bounded, LevenbergMarquardt, Point, levenberg_marquardt

ITERATIONS = 20


class Heldout:
    """Costs of a set of windows for any parameters, each window from its best initial state.

    The unknowns of a window's initial state cost every model the same, so costs can be compared.
    """

    def __init__(
        self, problem: Problem, windows: Windows, compiled: Compiled | None = None
    ) -> None:
        """`compiled`: programs of other windows of the problem, used if they fit these too."""
        self.problem, self.windows = problem, windows
        data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
        shared = compiled.on(data) if compiled is not None else None
        self.compiled = shared or Compiled(
            problem.setup, problem.parameters, data, problem.huber_width, problem.nlocal
        )
        self.samples = sum(mask.sum(1) for mask in windows.mask)

    def cost(self, theta: np.ndarray) -> np.ndarray:
        """Half the whitened sum of squares of each window; infinite where it is not finite."""
        local = np.zeros((len(self.windows), self.problem.nlocal))
        if local.shape[1]:
            local = self._initial(theta, local)
        r = self.compiled.residual(theta, local)
        with np.errstate(over="ignore"):
            cost = 0.5 * np.sum(r * r, 1)
        return np.asarray(np.where(np.isfinite(cost), cost, np.inf))

    def _initial(self, theta: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Displacements of the initial states that fit each window best."""
        none = np.zeros(0, int)

        def lost(r: np.ndarray) -> np.ndarray:
            return np.asarray(~np.isfinite(r).all(1))

        def residual(_: np.ndarray, local: np.ndarray) -> np.ndarray:
            r = np.array(self.compiled.residual(theta, local))
            r[lost(r)] = 0.0
            return r

        def jacobian(_: np.ndarray, local: np.ndarray) -> Any:
            r, J_t, J = (np.array(x) for x in self.compiled.jacobian(theta, local, none))
            away = lost(r) | ~np.isfinite(J).all((1, 2))
            r[away], J[away] = 0.0, 0.0
            return r, J_t, J

        empty = np.zeros(0)
        found = levenberg_marquardt(
            residual,
            jacobian,
            Point(empty, start, np.inf, 1e-3),
            Bounded(empty, empty, empty, np.ones(0), self.problem.local_std),
            LevenbergMarquardt(iterations=ITERATIONS, cost_tolerance=1e-5),
        )
        return found.local


def compare(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Mean logarithm of before over after, and its standard error, from paired costs [w].

    Logarithms, because costs of windows differ by orders of magnitude, and a few that leave the
    track would drown the rest.
    """
    both = np.isfinite(before) & np.isfinite(after)
    if both.sum() < 2:
        return 0.0, np.inf
    gain = np.log(np.maximum(before[both], 1e-300) / np.maximum(after[both], 1e-300))
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))


def typical(cost: np.ndarray) -> float:
    """Geometric mean of the finite costs."""
    return float(np.exp(np.mean(np.log(np.maximum(cost[np.isfinite(cost)], 1e-300)))))
