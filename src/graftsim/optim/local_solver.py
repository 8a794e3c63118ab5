"""Interface of local solvers, and what a problem offers them.

A new solver is one class here or in a user's own file: `fit(problem, local=MySolver())`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from graftsim.optim.bounded import Bounded
from graftsim.optim.outcome import Outcome

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]
Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class Point:
    """State of a solver: all that a resumed run needs. `outcome` is None on the way, `damping` None
    where it is the solver's to choose.

    theta [p] are the unknowns that all windows share, local [w, s] those of each window.
    """

    theta: Float[np.ndarray, " p"]
    local: Float[np.ndarray, "w s"]
    cost: float = np.inf
    damping: float | None = None
    growth: float = 2.0
    iteration: int = 0
    scale: Float[np.ndarray, " p"] | None = None
    outcome: Outcome | None = None


# Called after each iteration with where it stands, and the size of the scaled gradient.
After = Callable[[Point, float], None]


class LeastSquares(ABC):
    """Half a sum of squares over theta [p] and local [w, s], with its derivatives."""

    @abstractmethod
    def residual(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Whitened residuals [w, m] of a trial step."""

    @abstractmethod
    def jacobian(self, theta: np.ndarray, local: np.ndarray, active: np.ndarray) -> Arrays:
        """Residuals [w, m] where the solver stands, and their Jacobians by theta[active]
        [w, m, a] and by local [w, m, s].
        """

    @abstractmethod
    def cost_and_gradient(self, bounds: Bounded) -> Evaluate:
        """Function of x = [theta, local raveled] [p + w s]: the cost with priors, its gradient."""

    @abstractmethod
    def sizes(self, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Typical magnitudes of theta [p] and of the local unknowns of a window [s]."""


@dataclass(frozen=True)
class LocalSolver(ABC):
    """A method that goes down from a start to the next minimum, within bounds.

    name, help: for `--solver` and its help. exact_zeros: can it minimise with a penalty that has a
    kink (`Bounded.penalty`)?
    """

    name: ClassVar[str]
    help: ClassVar[str]
    exact_zeros: ClassVar[bool] = False

    @property
    @abstractmethod
    def iterations(self) -> int:
        """At most so many; a field of the solver."""

    @abstractmethod
    def minimise(
        self, problem: LeastSquares, start: Point, bounds: Bounded, after: After | None = None
    ) -> Point:
        """Where it ends from a start, with its outcome; after(point, gradient) runs on the way."""
