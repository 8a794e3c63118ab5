"""What a problem's sensors would have measured: parameters from the prior, readings with noise."""

from __future__ import annotations

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import as_data
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.loss import Squared


class Predictive:
    """Simulated readings of a problem's windows of full horizon, many parameters side by side.

    Raises ProblemError: free initial states (their weak prior is no place to draw from), or a
    sensor whose reading is not a vector that noise is added to (poses).
    """

    def __init__(self, problem: Problem) -> None:
        if problem.free_states:
            raise ProblemError(
                "Data are simulated from known initial states: give initial='measured', or a "
                "function with fit_initial=False."
            )
        poses = [s.channel for s in problem.setup.sensors.specs if not s.additive]
        if poses:
            raise ProblemError(f"{', '.join(poses)}: a pose is not a vector that noise adds to.")
        self.problem = problem
        windows = problem.train_windows()
        data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
        self.compiled = ResidualProgram(problem, data, Squared(), 0)

    def readings(
        self, theta: np.ndarray, rng: np.random.Generator | None = None
    ) -> list[np.ndarray]:
        """What each sensor reads [n, w, samples, d] at theta [n, p]; with noise if `rng` is given.

        Samples that are not there read zero.
        """
        data, n = self.compiled.data, len(theta)
        r = self.compiled.many_residuals(theta, np.zeros((n, len(data.controls), 0)))
        out, at = [], 0
        for value, weight, sigma in zip(data.value, data.weight, self.problem.sigma, strict=True):
            size = int(np.prod(value.shape[1:]))
            own = r[..., at : at + size].reshape(n, *value.shape)
            # A residual is what was measured less what is read, over sigma.
            read = np.asarray(value, float) - sigma * own
            if rng is not None:
                read = read + sigma * rng.normal(size=read.shape)
            out.append(np.where(np.asarray(weight) > 0, read, 0.0))
            at += size
        return out

    def flat(self, theta: np.ndarray, rng: np.random.Generator | None = None) -> np.ndarray:
        """The same, all samples that are there in a row [n, m]; not finite where it blew up."""
        there = self._there
        return np.concatenate(
            [x[:, t] for x, t in zip(self.readings(theta, rng), there, strict=True)], -1
        )

    @property
    def observed(self) -> np.ndarray:
        """What was measured, in the order of `flat` [m]."""
        values = (np.asarray(v, float) for v in self.compiled.data.value)
        return np.concatenate([v[t] for v, t in zip(values, self._there, strict=True)])

    @property
    def _there(self) -> list[np.ndarray]:
        return [np.asarray(w) > 0 for w in self.compiled.data.weight]


def draw_prior(problem: Problem, rng: np.random.Generator, count: int) -> np.ndarray:
    """Parameters [count, p] drawn from the prior: Gaussians cut off at the bounds, or uniform.

    Raises ProblemError: a parameter with neither a Gaussian prior nor two bounds.
    """
    from scipy.special import ndtr, ndtri

    p = problem.parameters
    flat = ~np.isfinite(p.prior_std)
    open_ = flat & ~np.isfinite(p.upper - p.lower)
    if open_.any():
        names = ", ".join(np.array(p.names)[open_])
        raise ProblemError(
            f"{names}: no prior to draw from. Give Bounds(low, high), or prior=Prior(mean, std)."
        )
    share = rng.random((count, len(p)))
    std = np.where(flat, 1.0, p.prior_std)
    low, high = (ndtr((x - p.prior_mean) / std) for x in (p.lower, p.upper))
    normal = p.prior_mean + std * ndtri(low + share * (high - low))
    lower, width = (np.where(flat, x, 0.0) for x in (p.lower, p.upper - p.lower))
    return np.clip(np.where(flat, lower + share * width, normal), p.lower, p.upper)
