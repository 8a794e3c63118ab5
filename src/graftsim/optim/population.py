"""A population instead of workers: differential evolution (SciPy) and CMA-ES (cmaes), each over
what local solves reach.

The worth of a point is the cost after a few local steps from it (Hinton, Nowlan 1987: learning
guides evolution), all points of a generation side by side.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from graftsim.errors import ProblemError
from graftsim.optim.global_search import Found, GlobalSearch, LocalSolve

# Cost of a point that cannot be evaluated; SciPy takes squares of costs.
_LOST = 1e100


class Seen:
    """Worth of points: costs after local solves, all of which are kept."""

    def __init__(self, solve: LocalSolve, start: np.ndarray, free: np.ndarray) -> None:
        self.solve, self.start, self.free = solve, start, free
        self.minima: list[np.ndarray] = []
        self.costs: list[np.ndarray] = []

    def worth(self, x: np.ndarray) -> np.ndarray:
        """Of points [n, k] in the free coordinates."""
        points = np.repeat(self.start[None], len(x), 0)
        points[:, self.free] = x
        theta, cost = self.solve(points)
        self.minima.append(theta)
        self.costs.append(cost)
        return np.where(np.isfinite(cost), cost, _LOST)

    @property
    def least(self) -> float:
        """Lowest cost so far."""
        return min(float(c.min()) for c in self.costs)

    def found(self) -> Found:
        """Everything seen, as one search."""
        every, cost = np.concatenate(self.minima), np.concatenate(self.costs)
        best, rounds = int(np.argmin(cost)), np.array([len(self.costs)])
        return Found(every[best][None], cost[best][None], rounds, every[None], cost[None])


@dataclass(frozen=True)
class PopulationSearch(GlobalSearch):
    """A search by points that move together; several starts are searched one after the other."""

    @property
    @abstractmethod
    def population(self) -> int:
        """Points side by side; a field of the search."""

    @abstractmethod
    def minimise_from(
        self,
        solve: LocalSolve,
        start: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float,
    ) -> Found:
        """One search from start [p] within [lower, upper]; it ends at a cost of `good`."""

    def with_points(self, points: int) -> Self:
        """So large a population."""
        return replace(self, population=points)

    def minimise(
        self,
        solve: LocalSolve,
        starts: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float = -np.inf,
    ) -> Found:
        """See `GlobalSearch.minimise`."""
        found = [self.minimise_from(solve, x, lower, upper, good) for x in starts]
        return Found(*(np.concatenate(x) for x in zip(*found, strict=True)))


@dataclass(frozen=True)
class DifferentialEvolution(PopulationSearch):
    """`population` points, at most so many `generations`, `iterations` local steps for each."""

    name: ClassVar[str] = "evolution"
    help: ClassVar[str] = "differential evolution"

    population: int = 32
    generations: int = 20
    iterations: int = 5
    seed: int = 0

    def minimise_from(
        self,
        solve: LocalSolve,
        start: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float,
    ) -> Found:
        """See `PopulationSearch.minimise_from`."""
        from scipy.optimize import differential_evolution
        from scipy.stats import qmc

        free = np.flatnonzero(upper > lower)
        seen = Seen(solve, start, free)

        # Eight points at least: SciPy's mutations need five.
        size = max(self.population, 8)
        first: Any = qmc.LatinHypercube(len(free), rng=np.random.default_rng(self.seed)).random(
            size
        )
        first = lower[free] + (upper - lower)[free] * first
        first[0] = np.clip(start, lower, upper)[free]
        differential_evolution(
            lambda x: seen.worth(x.T),
            list(zip(lower[free], upper[free], strict=True)),
            init=first,
            maxiter=self.generations - 1,
            vectorized=True,
            updating="deferred",
            polish=False,
            rng=np.random.default_rng(self.seed),
            callback=lambda *_, **__: seen.least <= good,
        )
        return seen.found()


@dataclass(frozen=True)
class CMAES(PopulationSearch):
    """Covariance matrix adaptation (Hansen 2001): `population` points (0: as its author advises,
    and 16 at least), at most so many `generations`, `iterations` local steps for each.

    The first Gaussian lies around the start, with a deviation of `width` of each range.
    """

    name: ClassVar[str] = "cma_es"
    help: ClassVar[str] = "covariance matrix adaptation"

    population: int = 0
    generations: int = 30
    iterations: int = 3
    width: float = 0.3
    seed: int = 0

    def minimise_from(
        self,
        solve: LocalSolve,
        start: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float,
    ) -> Found:
        """See `PopulationSearch.minimise_from`; ProblemError: the package `cmaes` is not there."""
        try:
            from cmaes import CMA
        except ImportError as error:
            raise ProblemError(
                "CMAES needs the package cmaes: pip install graftsim[search]"
            ) from error
        free = np.flatnonzero(upper > lower)
        low, size = lower[free], (upper - lower)[free]
        seen = Seen(solve, start, free)
        count = len(free)
        # One number has no covariance to adapt: the package wants two.
        unit = np.clip((start[free] - low) / size, 0.0, 1.0)
        unit = np.append(unit, 0.5) if count == 1 else unit
        box = np.tile([0.0, 1.0], (len(unit), 1))
        advised = 4 + int(3 * np.log(len(unit)))
        search = CMA(
            mean=unit,
            sigma=self.width,
            bounds=box,
            seed=self.seed,
            population_size=self.population or max(advised, 16),
        )
        for _ in range(self.generations):
            asked = np.array([search.ask() for _ in range(search.population_size)])
            worth = seen.worth(low + size * asked[:, :count])
            if seen.least <= good or search.should_stop():
                break
            search.tell(list(zip(asked, worth.tolist(), strict=True)))
        return seen.found()
