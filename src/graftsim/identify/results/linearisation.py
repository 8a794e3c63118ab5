"""A problem where a fit has ended, to first order: residuals, Jacobians, and their unknowns."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.optim.arrowhead import NormalEquations, normal_equations
from graftsim.optim.bounded import Bounded


class Linearisation(NamedTuple):
    """Residuals of windows and their derivatives by theta and by each window's initial state."""

    r: Float[np.ndarray, "w m"]
    J_t: Float[np.ndarray, "w m p"]
    J_l: Float[np.ndarray, "w m s"]
    theta: Float[np.ndarray, " p"]
    local: Float[np.ndarray, "w s"]
    bounds: Bounded

    def normal(self) -> NormalEquations:
        """Normal equations of residuals and priors."""
        return normal_equations(*self)

    def by(self, active: np.ndarray) -> Linearisation:
        """By some parameters alone, the others held."""
        return self._replace(
            J_t=self.J_t[..., active], theta=self.theta[active], bounds=self.bounds.only(active)
        )

    def of(self, windows: np.ndarray) -> Linearisation:
        """Of some windows alone."""
        return self._replace(
            r=self.r[windows],
            J_t=self.J_t[windows],
            J_l=self.J_l[windows],
            local=self.local[windows],
        )

    def without_prior(self) -> Linearisation:
        """What the data alone say of theta."""
        flat = np.full(len(self.theta), np.inf)
        bounds = replace(self.bounds, prior_mean=0 * self.theta, prior_std=flat)
        return self._replace(bounds=bounds)
