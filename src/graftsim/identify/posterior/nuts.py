"""Posteriors over the parameters of a problem: what they hold, and drawing them by NUTS."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import ProblemError
from graftsim.identify.fit.fit import fit
from graftsim.identify.posterior.density import Coordinates, Density
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.results.result import Result
from graftsim.identify.runs.residual_program import compile_windows

# Chains that have found the same distribution (Vehtari et al. 2021).
RHAT, ESS_PER_CHAIN = 1.01, 100


@dataclass(frozen=True)
class PosteriorRow:
    """One parameter: mean, deviation, quantiles of 2.5, 50 and 97.5 %; `rhat` and `ess` (bulk) of
    chains, NaN for independent draws.
    """

    name: str
    unit: str
    mean: float
    std: float
    low: float
    median: float
    high: float
    rhat: float
    ess: float


@dataclass(frozen=True, repr=False)
class Posterior:
    """Draws [chains, n, p] of the parameters, in their units, and how good the draws are.

    `divergences`: draws whose path could not be followed, which means that some region is left out.
    `warnings` says in words what keeps the draws from being trusted.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    theta: np.ndarray
    method: str
    divergences: int = 0
    rhat: np.ndarray = field(default_factory=lambda: np.zeros(0))
    ess: np.ndarray = field(default_factory=lambda: np.zeros(0))
    settings: dict[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    @property
    def draws(self) -> dict[str, np.ndarray]:
        """Draws [chains, n] by parameter."""
        return {name: self.theta[..., i] for i, name in enumerate(self.names)}

    @property
    def flat(self) -> np.ndarray:
        """All draws [chains * n, p]."""
        return self.theta.reshape(-1, len(self.names))

    @property
    def mean(self) -> np.ndarray:
        """Posterior means [p]."""
        return self.flat.mean(0)

    @property
    def std(self) -> np.ndarray:
        """Posterior standard deviations [p]."""
        return self.flat.std(0, ddof=1)

    @property
    def covariance(self) -> np.ndarray:
        """Posterior covariance [p, p]."""
        return np.atleast_2d(np.cov(self.flat.T))

    def interval(self, share: float = 0.95) -> np.ndarray:
        """Central intervals [p, 2] that hold a share of the draws."""
        return np.quantile(self.flat, [0.5 - share / 2, 0.5 + share / 2], axis=0).T

    @property
    def summary(self) -> tuple[PosteriorRow, ...]:
        """A row for each parameter."""
        low, median, high = np.quantile(self.flat, [0.025, 0.5, 0.975], axis=0)
        nan = np.full(len(self.names), np.nan)
        rhat, ess = (x if len(x) else nan for x in (self.rhat, self.ess))
        columns = zip(
            self.names, self.units, self.mean, self.std, low, median, high, rhat, ess, strict=True
        )
        return tuple(PosteriorRow(n, u, *map(float, numbers)) for n, u, *numbers in columns)

    def __str__(self) -> str:
        lines = [f"{self.method}, {len(self.flat)} draws, {self.divergences} divergent"]
        lines += [
            f"{r.name:<32} {r.mean:>12.6g} +- {r.std:<9.3g} [{r.low:.6g}, {r.high:.6g}] {r.unit:<6}"
            f" R-hat {r.rhat:.3f}, ESS {r.ess:.0f}"
            for r in self.summary
        ]
        return "\n".join([*lines, *self.warnings])

    __repr__ = __str__


@dataclass(frozen=True)
class Chains:
    """Options of `nuts`: draws kept and steps of adaptation of each chain, the acceptance that the
    step size aims at.
    """

    chains: int = 4
    draws: int = 1000
    warmup: int = 500
    acceptance: float = 0.8


@one_blas_thread
def nuts(
    problem: Problem,
    result: Result | None = None,
    *,
    chains: int = 4,
    draws: int = 1000,
    warmup: int = 500,
    acceptance: float = 0.8,
    seed: int = 0,
) -> Posterior:
    """Draws from the posterior of a problem's parameters by the No-U-Turn sampler (blackjax).

    The likelihood is Gaussian with the problem's noise (Huber's density where its loss is that),
    on the fitted windows of the full horizon; priors and bounds are the problem's, flat where
    nothing is said. Initial states that are free are drawn together with the parameters: exact,
    and cheap in the coordinates of `density`, which begin at the fit and its covariance. Without a
    `result`, `fit` runs first. Chains run side by side, each from a point of its own around the
    fit, so a mode that none of them reaches is not seen.

    Raises ProblemError: blackjax is missing (extra `posterior`), nothing to sample, or a fit that
    cannot be simulated.
    """
    blackjax()
    if not len(problem.parameters):
        raise ProblemError("No parameter is free, so there is no posterior to draw from.")
    options = Chains(chains, draws, warmup, acceptance)
    theta = fit(problem).theta if result is None else result.theta
    windows = problem.train_windows()
    density = Density(problem, compile_windows(problem, windows))
    at = density.around(theta)
    run = jax.jit(lambda *a: chains_of(density, options, *a))
    found, divergent, steps = run(at, density.data, jax.random.key(seed))
    return posterior_of(
        problem, np.asarray(found, float), int(np.sum(divergent)), float(np.mean(steps)), options
    )


def blackjax() -> Any:
    """The package blackjax; ProblemError names the extra that brings it."""
    try:
        import blackjax as found
    except ImportError as error:
        raise ProblemError(
            "Posteriors by NUTS need blackjax: pip install 'graftsim[posterior]'."
        ) from error
    return found


def chains_of(
    density: Density, options: Chains, at: Coordinates, data: WindowData, key: Any
) -> tuple[Any, Any, Any]:
    """Parameters [c, n, p], divergent [c, n], leapfrog steps [c, n] of chains on one data set.

    To be compiled; may be mapped over coordinates, data and key, for many data sets side by side.
    """
    package = blackjax()

    def log(x: Any) -> Any:
        value = density.log(x, at, data)
        return jnp.where(jnp.isfinite(value), value, -jnp.inf)

    adapt = package.window_adaptation(
        package.nuts, log, target_acceptance_rate=options.acceptance, initial_step_size=0.5
    )

    def chain(key: Any) -> tuple[Any, Any, Any]:
        begin, warm, go = jax.random.split(key, 3)
        x = jax.random.normal(begin, (density.dimension,), density.dtype)
        (state, numbers), _ = adapt.run(warm, x, options.warmup)
        kernel = package.nuts(log, **numbers)

        def step(state: Any, key: Any) -> tuple[Any, Any]:
            state, info = kernel.step(key, state)
            theta = density.theta(state.position, at)
            return state, (theta, info.is_divergent, info.num_integration_steps)

        return jax.lax.scan(step, state, jax.random.split(go, options.draws))[1]

    return jax.vmap(chain)(jax.random.split(key, options.chains))


def posterior_of(
    problem: Problem, theta: np.ndarray, divergences: int, steps: float, options: Chains
) -> Posterior:
    """Draws [c, n, p] with their diagnostics: rank-normalised split R-hat and bulk ESS."""
    diagnostics = blackjax().diagnostics
    p = problem.parameters
    rhat = np.full(len(p), np.nan)
    if options.chains > 1:
        rhat = np.asarray(diagnostics.rhat(theta), float).reshape(-1)
    ess = np.asarray(diagnostics.ess_bulk(theta), float).reshape(-1)
    warnings = []
    if divergences:
        warnings.append(
            f"{divergences} draws diverged: a region may be left out. Raise acceptance, or look "
            "for a parameter on its bound."
        )
    for name, r, e in zip(p.names, rhat, ess, strict=True):
        if r > RHAT or e < ESS_PER_CHAIN * options.chains:
            warnings.append(
                f"{name}: the chains have not mixed (R-hat {r:.3f}, effective sample size "
                f"{e:.0f}). Draw more, or there are several modes."
            )
    settings = {**vars(options), "leapfrog steps a draw": steps}
    return Posterior(
        p.names, p.units, theta, "NUTS", divergences, rhat, ess, settings, tuple(warnings)
    )
