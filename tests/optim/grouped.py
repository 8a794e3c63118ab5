"""Random nonlinear least-squares problems in groups, each with unknowns of its own."""

from __future__ import annotations

import numpy as np
from scipy.optimize import least_squares

from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt, levenberg_marquardt
from graftsim.optim.local_solver import Point

TIGHT = LevenbergMarquardt(
    iterations=300, cost_tolerance=0.0, step_tolerance=1e-14, gradient_tolerance=1e-11
)


class Curves:
    """Groups of noisy curves y = a_0 exp(-a_1 t) + sum_k a_k sin(k t) + sum_j l_j cos((7 + j) t).

    theta = a is common to all groups; each has amplitudes l of its own (local unknowns).
    """

    def __init__(self, seed: int, p: int = 4, groups: int = 5, local: int = 2, samples: int = 25):
        rng = np.random.default_rng(seed)
        self.t = np.sort(rng.uniform(0, 5, (groups, samples)), axis=1)
        self.p, self.shape = p, (groups, local)
        self.truth = rng.uniform(0.5, 2.0, p)
        self.truth_local = rng.normal(size=self.shape)
        self.y = np.zeros_like(self.t)
        clean = self.residual(self.truth, self.truth_local)
        self.y = -clean + 0.02 * rng.normal(size=clean.shape)

    def residual(self, theta, local):
        """Measured minus predicted [w, m]."""
        read = theta[0] * np.exp(-theta[1] * self.t)
        for k in range(2, self.p):
            read = read + theta[k] * np.sin(k * self.t)
        for k in range(self.shape[1]):
            read = read + local[:, k : k + 1] * np.cos((7 + k) * self.t)
        return self.y - read

    def jacobian(self, theta, local):
        """Residuals, and their derivatives in theta [w, m, p] and local [w, m, s]."""
        decay = np.exp(-theta[1] * self.t)
        columns = [-decay, theta[0] * self.t * decay]
        columns += [-np.sin(k * self.t) for k in range(2, self.p)]
        inner = [-np.cos((7 + k) * self.t) for k in range(self.shape[1])]
        J_local = np.stack(inner, -1) if inner else np.zeros((*self.t.shape, 0))
        return self.residual(theta, local), np.stack(columns, -1), J_local

    def start(self, theta):
        """The solver's state at theta, local unknowns zero."""
        return Point(np.asarray(theta, float), np.zeros(self.shape), np.inf, 1e-3)


def free(p: int, local: int = 0, **changes) -> Bounded:
    """No bounds, no priors; or some, by name."""
    fields = {
        "lower": np.full(p, -np.inf),
        "upper": np.full(p, np.inf),
        "prior_mean": np.zeros(p),
        "prior_std": np.full(p, np.inf),
        "local_std": np.full(local, np.inf),
    }
    return Bounded(**(fields | {k: np.asarray(v, float) for k, v in changes.items()}))


def solve(problem: Curves, theta, bounds: Bounded, options=TIGHT, callback=None) -> Point:
    """Our solver on a problem."""
    return levenberg_marquardt(
        problem.residual, problem.jacobian, problem.start(theta), bounds, options, callback
    )


def reference(problem: Curves, theta, bounds: Bounded):
    """SciPy's trust-region solver on all unknowns at once; returns (theta, local, cost)."""
    p, (w, s) = problem.p, problem.shape

    def stacked(x):
        t, l = x[:p], x[p:].reshape(w, s)
        prior = (t - bounds.prior_mean) / bounds.prior_std
        return np.concatenate(
            [problem.residual(t, l).ravel(), prior, (l / bounds.local_std).ravel()]
        )

    x0 = np.concatenate([theta, np.zeros(w * s)])
    lower = np.concatenate([bounds.lower, np.full(w * s, -np.inf)])
    upper = np.concatenate([bounds.upper, np.full(w * s, np.inf)])
    margin = 1e-6
    x0 = np.clip(x0, lower + margin, upper - margin)
    found = least_squares(
        stacked,
        x0,
        bounds=(lower, upper),
        method="trf",
        jac="3-point",
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-14,
        max_nfev=2000,
    )
    return found.x[:p], found.x[p:].reshape(w, s), found.cost
