"""Held-out cost: how well parameters explain windows that took no part in the fit."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.identify.problem import Problem
from graftsim.identify.residuals import as_data, derivatives, window_function
from graftsim.identify.windows import Windows
from graftsim.optim.least_squares import Bounded, LevenbergMarquardt, Point, levenberg_marquardt

ITERATIONS = 20


class Heldout:
    """Costs of a set of windows for any parameters, each window from its best initial state.

    The unknowns of a window's initial state cost every model the same, so costs can be compared.
    """

    def __init__(self, problem: Problem, windows: Windows) -> None:
        self.problem, self.windows = problem, windows
        self.data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
        one = window_function(
            problem.setup, problem.parameters, self.data, problem.huber_width, problem.nlocal
        )

        def residual(theta: Any, local: Any, data: Any) -> Any:
            return jax.vmap(one, (None, 0, 0))(theta, local, data)

        def jacobian(theta: Any, local: Any, data: Any) -> Any:
            def f(_: Any, l: Any, w: Any) -> Any:
                return one(theta, l, w)

            r, _, J = derivatives(f, jnp.zeros(0, theta.dtype), local, data)
            return r, J

        self._residual, self._jacobian = jax.jit(residual), jax.jit(jacobian)
        self.samples = np.array(
            [sum(m[i].sum() for m in windows.mask) for i in range(len(windows))]
        )

    def cost(self, theta: np.ndarray) -> np.ndarray:
        """Half the whitened sum of squares of each window; infinite where it is not finite."""
        local = np.zeros((len(self.windows), self.problem.nlocal))
        dtype = self.problem.simulator.dt.dtype
        numbers = jnp.asarray(theta, dtype)
        if local.shape[1]:
            local = self._initial(numbers, local)
        r = np.asarray(self._residual(numbers, jnp.asarray(local, dtype), self.data), float)
        cost = 0.5 * np.sum(r * r, 1)
        return np.where(np.isfinite(cost), cost, np.inf)

    def _initial(self, theta: Any, start: np.ndarray) -> np.ndarray:
        """Displacements of the initial states that fit each window best."""
        w = len(start)

        def jacobian(_: np.ndarray, local: np.ndarray) -> Any:
            r, J = self._jacobian(theta, jnp.asarray(local, theta.dtype), self.data)
            r, J = np.array(r, float), np.array(J, float)
            lost = ~(np.isfinite(r).all(1) & np.isfinite(J).all((1, 2)))
            r[lost], J[lost] = 0.0, 0.0
            return r, np.zeros((w, r.shape[1], 0)), J

        empty = np.zeros(0)
        found = levenberg_marquardt(
            lambda t, l: jacobian(t, l)[0],
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
