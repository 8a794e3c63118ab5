"""Held-out cost: how well parameters explain windows that took no part in the fit."""

from __future__ import annotations

import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import as_data
from graftsim.identify.problem.windows import Windows
from graftsim.identify.runs.initial_states import best_initial_states
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.least_squares import LevenbergMarquardt

ITERATIONS = 20


class Heldout:
    """Costs of a set of windows for any parameters, each window from its best initial state.

    The unknowns of a window's initial state cost every model the same, so costs can be compared.
    """

    def __init__(
        self, problem: Problem, windows: Windows, compiled: ResidualProgram | None = None
    ) -> None:
        """`compiled`: programs of other windows of the problem, used if they fit these too."""
        self.problem, self.windows = problem, windows
        data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
        shared = compiled.on(data) if compiled is not None else None
        self.compiled = shared or ResidualProgram(problem, data)
        self.samples = sum(mask.sum(1) for mask in windows.mask)

    def cost(self, theta: np.ndarray) -> np.ndarray:
        """Half the whitened sum of squares of each window; infinite where it is not finite."""
        local = self._initial(theta, np.zeros((len(self.windows), self.problem.nlocal)))
        r = self.compiled.residual(theta, local)
        with np.errstate(over="ignore"):
            cost = 0.5 * np.sum(r * r, 1)
        return np.asarray(np.where(np.isfinite(cost), cost, np.inf))

    def _initial(self, theta: np.ndarray, start: np.ndarray) -> np.ndarray:
        """Displacements of the initial states that fit each window best."""
        options = LevenbergMarquardt(iterations=ITERATIONS, cost_tolerance=1e-5)
        return best_initial_states(self.compiled, theta, start, self.problem.local_std, options)


def compare(before: np.ndarray, after: np.ndarray) -> tuple[float, float]:
    """Mean logarithm of before over after, and its standard error, from paired costs [w].

    Logarithms: costs of windows differ by orders of magnitude, so a few whose simulation departs
    from the recording would dominate a mean of costs.
    """
    both = np.isfinite(before) & np.isfinite(after)
    if both.sum() < 2:
        return 0.0, np.inf
    gain = np.log(np.maximum(before[both], 1e-300) / np.maximum(after[both], 1e-300))
    return float(gain.mean()), float(gain.std(ddof=1) / np.sqrt(len(gain)))


def typical(cost: np.ndarray) -> float:
    """Geometric mean of the finite costs."""
    return float(np.exp(np.mean(np.log(np.maximum(cost[np.isfinite(cost)], 1e-300)))))
