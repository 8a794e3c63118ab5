"""A population instead of workers: SciPy's differential evolution over what local solves reach.

The worth of a point is the cost after a few local steps from it (Hinton, Nowlan 1987: learning
guides evolution), all points of a generation side by side.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.optim.global_search import Found, LocalSolve

# Cost of a point that cannot be evaluated; SciPy takes squares of costs.
_LOST = 1e100


@dataclass(frozen=True)
class DifferentialEvolution:
    """`population` points, at most so many `generations`, `iterations` local steps for each."""

    population: int = 32
    generations: int = 20
    iterations: int = 5
    seed: int = 0


def evolve(
    solve: LocalSolve,
    start: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    options: DifferentialEvolution,
    good: float = -np.inf,
) -> Found:
    """Search from start [p] within [lower, upper]; it ends at a cost of `good`."""
    from scipy.optimize import differential_evolution
    from scipy.stats import qmc

    free = np.flatnonzero(upper > lower)
    minima: list[np.ndarray] = []
    costs: list[np.ndarray] = []

    def worth(x: np.ndarray) -> np.ndarray:
        points = np.repeat(start[None], x.shape[1], 0)
        points[:, free] = x.T
        theta, cost = solve(points)
        minima.append(theta)
        costs.append(cost)
        return np.where(np.isfinite(cost), cost, _LOST)

    # Eight points at least: SciPy's mutations need five.
    size = max(options.population, 8)
    first: Any = qmc.LatinHypercube(len(free), rng=np.random.default_rng(options.seed)).random(size)
    first = lower[free] + (upper - lower)[free] * first
    first[0] = np.clip(start, lower, upper)[free]
    differential_evolution(
        worth,
        list(zip(lower[free], upper[free], strict=True)),
        init=first,
        maxiter=options.generations - 1,
        vectorized=True,
        updating="deferred",
        polish=False,
        rng=np.random.default_rng(options.seed),
        callback=lambda *_, **__: min(c.min() for c in costs) <= good,
    )
    every, cost = np.concatenate(minima), np.concatenate(costs)
    best = int(np.argmin(cost))
    rounds = np.array([len(costs)])
    return Found(every[best][None], cost[best][None], rounds, every[None], cost[None])
