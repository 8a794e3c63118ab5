"""Simulation-based calibration (Talts et al. 2018): are posteriors as wide as they should be?

Draw parameters from the prior, simulate data with them, compute the posterior of those data, and
count how many of its draws lie below the parameter that made them. Over many data sets these ranks
are uniform if, and for all practical purposes only if, the posteriors are right: piled up in the
middle when too wide, at both ends when too narrow, to one side when shifted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.posterior.density import Coordinates, Density
from graftsim.identify.posterior.nuts import Chains, chains_of
from graftsim.identify.posterior.variational_mixture import (
    Training,
    around_zero,
    effective_share,
    train,
)
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.predictive import Predictive, draw_prior


class Sets(NamedTuple):
    """Simulated data sets: parameters that made them [n, p], their windows, stacked [n, ...]."""

    theta: np.ndarray
    data: WindowData


class Uniformity(NamedTuple):
    """Ranks counted in bins [p, b], chi-square of each parameter and its p-value [p]."""

    counts: np.ndarray
    chi_square: np.ndarray
    p_value: np.ndarray


class Calibration:
    """Posteriors of many simulated data sets side by side, all by the same compiled programs.

    Raises ProblemError where no data can be simulated (see `Predictive`), and for a Huber loss,
    whose density is not that of the noise.
    """

    def __init__(self, problem: Problem) -> None:
        if not problem.criterion.gaussian:
            raise ProblemError("Calibration needs loss='squared', the density of its noise.")
        self.problem, self.predictive = problem, Predictive(problem)
        self.density = Density(problem, self.predictive.compiled)

    def simulate(self, theta: np.ndarray, rng: np.random.Generator) -> Sets:
        """A data set for each row of theta [n, p]."""
        clean = self.predictive.compiled.data
        values = tuple(
            jnp.asarray(y, self.density.dtype) for y in self.predictive.readings(theta, rng)
        )
        many = jax.tree.map(lambda x: jnp.broadcast_to(x, (len(theta), *x.shape)), clean)
        return Sets(theta, many._replace(value=values))

    def prior_sets(self, count: int, seed: int = 0) -> Sets:
        """Data sets of parameters drawn from the prior."""
        rng = np.random.default_rng(seed)
        return self.simulate(draw_prior(self.problem, rng, count), rng)

    def around(self, sets: Sets) -> Coordinates:
        """Coordinates around the best fit of each data set, from the problem's start, stacked."""
        start = self.problem.parameters.start
        found = [
            self.density.around(start, jax.tree.map(lambda x, i=i: x[i], sets.data))
            for i in range(len(sets.theta))
        ]
        return jax.tree.map(lambda *x: jnp.stack(x), *found)

    def nuts(
        self, sets: Sets, at: Coordinates, options: Chains, seed: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws [n, c * draws, p] of every data set, and its divergences [n]."""
        keys = jax.random.split(jax.random.key(seed), len(sets.theta))
        run = jax.jit(jax.vmap(lambda *a: chains_of(self.density, options, *a)))
        theta, divergent, _ = run(at, sets.data, keys)
        n, _, _, p = theta.shape
        return np.asarray(theta, float).reshape(n, -1, p), np.asarray(divergent).sum((1, 2))

    def mixture(
        self, sets: Sets, at: Coordinates, options: Training, draws: int, seed: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Draws [n, draws, p] from a mixture trained with entropy on every data set, and the share
        of them that counts [n], see `MixtureFit.effective`.
        """
        rng = np.random.default_rng(seed)
        start = around_zero(rng, options.kernels, self.density.count)
        keys = jax.random.split(jax.random.key(seed), (len(sets.theta), 3))
        all_seen = jnp.full(options.epochs, np.iinfo(np.int32).max)

        def one(at: Coordinates, data: WindowData, keys: jax.Array) -> tuple[jax.Array, jax.Array]:
            history, _ = train(self.density, options, start, at, data, all_seen, keys[0])
            last = jax.tree.map(lambda x: x[-1], history)
            share = effective_share(self.density, last, at, data, keys[2])
            return jax.vmap(lambda x: self.density.theta(x, at))(last.sample(keys[1], draws)), share

        theta, share = jax.jit(jax.vmap(one))(at, sets.data, keys)
        return np.asarray(theta, float), np.asarray(share, float)


def ranks(theta: np.ndarray, draws: np.ndarray) -> np.ndarray:
    """How many of the draws [n, d, p] lie below the parameters [n, p] that made the data."""
    return np.sum(draws < theta[:, None], 1)


def uniformity(ranks: np.ndarray, draws: int, bins: int = 10) -> Uniformity:
    """Chi-square test of ranks [n, p] among so many draws against a uniform distribution.

    The ranks 0 to `draws` fall into bins of (nearly) equal numbers of ranks; independent draws, or
    chains thinned until they are, are assumed.
    """
    from scipy.stats import chi2

    edges = np.linspace(0, draws + 1, bins + 1).round()
    expected = len(ranks) * np.diff(edges) / (draws + 1)
    counts = np.stack([np.histogram(r, edges - 0.5)[0] for r in ranks.T])
    chi_square = np.sum((counts - expected) ** 2 / expected, -1)
    return Uniformity(counts, chi_square, chi2.sf(chi_square, bins - 1))


def thin(draws: np.ndarray, keep: int) -> np.ndarray:
    """Evenly chosen draws [n, keep, p] of chains [n, d, p], so that they hang together less."""
    return draws[:, np.linspace(0, draws.shape[1] - 1, keep).round().astype(int)]


def coverage(theta: np.ndarray, draws: np.ndarray, shares: Sequence[float]) -> np.ndarray:
    """How often central intervals of such shares of the draws hold theta [len(shares), p]."""
    out = []
    for share in shares:
        low, high = np.quantile(draws, [0.5 - share / 2, 0.5 + share / 2], axis=1)
        out.append(np.mean((theta >= low) & (theta <= high), 0))
    return np.array(out)
