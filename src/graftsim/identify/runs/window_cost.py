"""The windows of a problem as what a local solver minimises."""

from __future__ import annotations

import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs import gradient
from graftsim.identify.runs.failures import FailureTolerant, SimulationCount
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.bounded import Bounded
from graftsim.optim.local_solver import Arrays, Evaluate, LeastSquares


class WindowCost(LeastSquares):
    """Residuals and derivatives of windows, of which a few may diverge: see `FailureTolerant`."""

    def __init__(
        self,
        problem: Problem,
        compiled: ResidualProgram,
        allowed: int = 0,
        tally: SimulationCount | None = None,
    ) -> None:
        """allowed: so many windows may be lost at a time. tally: counts the windows simulated."""
        self.problem, self.data = problem, compiled.data
        self._tolerant = FailureTolerant(
            compiled.residual,
            compiled.jacobian,
            allowed,
            SimulationCount() if tally is None else tally,
        )

    def residual(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """See `LeastSquares.residual`."""
        return self._tolerant.residual(theta, local)

    def jacobian(self, theta: np.ndarray, local: np.ndarray, active: np.ndarray) -> Arrays:
        """See `LeastSquares.jacobian`."""
        return self._tolerant.jacobian(theta, local, active)

    def cost_and_gradient(self, bounds: Bounded) -> Evaluate:
        """See `LeastSquares.cost_and_gradient`."""
        return gradient.cost_and_gradient(self.problem, self.data, bounds)

    def sizes(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """See `LeastSquares.sizes`."""
        return gradient.sizes(self.problem, theta), gradient.local_sizes(self.problem)
