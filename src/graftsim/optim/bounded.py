"""Bounds, Gaussian priors and a penalty on the unknowns of a least-squares problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from graftsim.optim.sparsity import Penalty


@dataclass(frozen=True)
class Bounded:
    """Bounds and Gaussian priors of theta [p], the weak prior of local unknowns [s], and a penalty
    that makes groups of theta exactly zero, or None.
    """

    lower: Float[np.ndarray, " p"]
    upper: Float[np.ndarray, " p"]
    prior_mean: Float[np.ndarray, " p"]
    prior_std: Float[np.ndarray, " p"]
    local_std: Float[np.ndarray, " s"]
    penalty: Penalty | None = None

    @classmethod
    def of_local(cls, local_std: Float[np.ndarray, " s"]) -> Bounded:
        """No theta at all: only local unknowns are free."""
        none = np.zeros(0)
        return cls(none, none, none, none, local_std)

    def beside(self, n: int) -> Bounded:
        """With n more entries of theta at its end, without bounds, priors, penalty."""

        def longer(own: np.ndarray, value: float) -> np.ndarray:
            return np.concatenate([own, np.full(n, value)])

        return Bounded(
            longer(self.lower, -np.inf),
            longer(self.upper, np.inf),
            longer(self.prior_mean, 0.0),
            longer(self.prior_std, np.inf),
            self.local_std,
        )

    def only(self, active: np.ndarray) -> Bounded:
        """The same for some entries of theta alone."""
        penalty = self.penalty
        if penalty is not None:
            penalty = penalty._replace(group=penalty.group[active])
        return Bounded(
            self.lower[active],
            self.upper[active],
            self.prior_mean[active],
            self.prior_std[active],
            self.local_std,
            penalty,
        )

    def prior_cost(
        self, theta: Float[np.ndarray, "*n p"], local: Float[np.ndarray, "*n w s"]
    ) -> Float[np.ndarray, "*n"]:
        """Half the squared, whitened distances from the priors, and the penalty."""
        d = (theta - self.prior_mean) / self.prior_std
        cost = 0.5 * np.sum(d * d, -1) + 0.5 * np.sum((local / self.local_std) ** 2, (-1, -2))
        if self.penalty is not None:
            cost = cost + np.apply_along_axis(self.penalty.value, -1, theta)
        return cost
