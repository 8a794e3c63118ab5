"""Islands of particles: pygmo's generational swarm on several populations, the best migrating.

The papers' own tool for global search (pagmo's archipelago; Biscani, Izzo 2020). Each generation of
an island is one batch of local solves, and a point is worth what they reach, as in `population`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from graftsim.errors import ProblemError
from graftsim.optim.global_search import Found, LocalSolve
from graftsim.optim.population import PopulationSearch, Seen


class _Problem:
    """A problem as pygmo takes it. pygmo copies it: copies are the same object, with one record."""

    def __init__(self, seen: Seen, low: np.ndarray, high: np.ndarray) -> None:
        self.seen, self.low, self.high = seen, low, high

    def __deepcopy__(self, memo: Any) -> _Problem:
        return self

    def fitness(self, x: np.ndarray) -> list[float]:
        return self.seen.worth(np.asarray(x)[None]).tolist()

    def batch_fitness(self, points: np.ndarray) -> np.ndarray:
        return self.seen.worth(np.asarray(points).reshape(-1, len(self.low)))

    def get_bounds(self) -> tuple[list[float], list[float]]:
        return self.low.tolist(), self.high.tolist()


@dataclass(frozen=True)
class Archipelago(PopulationSearch):
    """`islands` of `population` points, `generations` in all; after each `epoch` of them the best
    of an island replaces the worst of the next, in a ring. `iterations` local steps for each point.
    """

    name: ClassVar[str] = "archipelago"
    help: ClassVar[str] = "islands of particles that exchange their best (pagmo)"

    islands: int = 4
    population: int = 16
    generations: int = 12
    epoch: int = 3
    iterations: int = 3
    seed: int = 0

    def minimise_from(
        self,
        solve: LocalSolve,
        start: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float,
    ) -> Found:
        """See `PopulationSearch.minimise_from`; ProblemError: the package `pygmo` is not there."""
        try:
            import pygmo
        except ImportError as error:
            raise ProblemError("Archipelago needs pygmo: pip install graftsim[pagmo]") from error
        free = np.flatnonzero(upper > lower)
        low, high = lower[free], upper[free]
        seen = Seen(solve, start, free)
        problem = pygmo.problem(_Problem(seen, low, high))
        rng = np.random.default_rng(self.seed)
        first = low + (high - low) * rng.random((self.islands, self.population, len(free)))
        first[0, 0] = np.clip(start, lower, upper)[free]
        worth = seen.worth(first.reshape(-1, len(free))).reshape(first.shape[:2])
        islands, swarms = [], []
        for k in range(self.islands):
            island = pygmo.population(problem, seed=self.seed + k)
            for x, cost in zip(first[k], worth[k], strict=True):
                island.push_back(x, [cost])
            swarm = pygmo.pso_gen(gen=self.epoch, seed=self.seed + k, memory=True)
            swarm.set_bfe(pygmo.bfe(pygmo.member_bfe()))
            islands.append(island)
            swarms.append(pygmo.algorithm(swarm))
        for _ in range(-(-self.generations // self.epoch)):
            if seen.least <= good:
                break
            islands = [s.evolve(i) for s, i in zip(swarms, islands, strict=True)]
            best = [(i.champion_x, i.champion_f) for i in islands]
            for k, island in enumerate(islands):
                island.set_xf(int(island.worst_idx()), *best[k - 1])
        return seen.found()
