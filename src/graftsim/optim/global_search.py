"""Interface of global searches, and two of them: many local solves, in rounds.

A search looks for the lowest of many minima by local solves from many points, batched. A new one is
one class here or in a user's own file: `fit(problem, search=MySearch())`.

`BasinHopping` is the papers' parallel basin hopping: workers solve locally, share the best point,
and start again from a Gaussian around it whose width shrinks with the rounds. `RandomRestarts` is
the same without the sharing. Several independent searches (from a grid of starts, say) run side by
side; each is an axis of arrays, not a process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple, Self

import numpy as np
from jaxtyping import Float

# theta [n, p] -> minima [n, p] and their costs [n]; infinity where a start was lost.
LocalSolve = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


class Found(NamedTuple):
    """Best points and costs of g searches, rounds they took, all minima seen.

    `minima` and `costs` are in the order in which they were found.
    """

    theta: Float[np.ndarray, "g p"]
    cost: Float[np.ndarray, " g"]
    rounds: np.ndarray
    minima: Float[np.ndarray, "g k p"]
    costs: Float[np.ndarray, "g k"]


@dataclass(frozen=True)
class GlobalSearch(ABC):
    """A method that looks for the lowest minimum within bounds, by local solves.

    name, help: for `--search` and its help. iterations: local steps from each point. seed: of its
    random numbers; the same seed gives the same answer, however the local solves are spread.
    """

    name: ClassVar[str]
    help: ClassVar[str]

    @property
    @abstractmethod
    def iterations(self) -> int:
        """A field of the search."""

    @property
    @abstractmethod
    def seed(self) -> int:
        """A field of the search."""

    @abstractmethod
    def with_points(self, points: int) -> Self:
        """The same with so many points side by side."""

    @abstractmethod
    def minimise(
        self,
        solve: LocalSolve,
        starts: Float[np.ndarray, "g p"],
        lower: Float[np.ndarray, " p"],
        upper: Float[np.ndarray, " p"],
        good: float = -np.inf,
    ) -> Found:
        """Independent searches from each start; one ends at a cost of `good`."""


@dataclass(frozen=True)
class BasinHopping(GlobalSearch):
    """`workers` local solves in each of `rounds` rounds, of so many `iterations` each.

    Worker 0 begins at the start, the others anywhere within the bounds; in round k each starts from
    a Gaussian around the best so far with a deviation of (range of the parameter) / (k + 1).
    """

    name: ClassVar[str] = "basin_hopping"
    help: ClassVar[str] = "local solves that share the best point, in rounds"

    workers: int = 16
    rounds: int = 4
    iterations: int = 20
    seed: int = 0

    def with_points(self, points: int) -> Self:
        """So many workers."""
        return replace(self, workers=points)

    def minimise(
        self,
        solve: LocalSolve,
        starts: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float = -np.inf,
    ) -> Found:
        """See `GlobalSearch.minimise`. A search draws its own random numbers, so it does not depend
        on how many others there are.
        """
        g, p = starts.shape
        draw = [np.random.default_rng([self.seed, k]) for k in range(g)]
        best, least = starts.copy(), np.full(g, np.inf)
        rounds = np.zeros(g, int)
        minima: list[np.ndarray] = []
        costs: list[np.ndarray] = []
        for k in range(self.rounds):
            going = least > good
            if not going.any():
                break
            points = np.empty((g, self.workers, p))
            for i in range(g):
                if k == 0:
                    points[i] = lower + (upper - lower) * draw[i].random((self.workers, p))
                    points[i, 0] = starts[i]
                else:
                    wide = (upper - lower) / (k + 1)
                    points[i] = best[i] + wide * draw[i].normal(size=(self.workers, p))
            points = np.clip(points, lower, upper)
            # Searches that have ended are evaluated again at their best: the batch keeps its size.
            points[~going] = best[~going, None]
            theta, cost = solve(points.reshape(-1, p))
            theta, cost = theta.reshape(points.shape), cost.reshape(points.shape[:2])
            minima.append(theta)
            costs.append(cost)
            first = np.argmin(cost, 1)
            rows = np.arange(g)
            better = going & (cost[rows, first] < least)
            best = np.where(better[:, None], theta[rows, first], best)
            least = np.where(better, cost[rows, first], least)
            rounds += going
        return Found(best, least, rounds, np.concatenate(minima, 1), np.concatenate(costs, 1))


@dataclass(frozen=True)
class RandomRestarts(GlobalSearch):
    """Local solves from `starts` points, the given one and others anywhere within the bounds."""

    name: ClassVar[str] = "random_restarts"
    help: ClassVar[str] = "local solves from anywhere within the bounds"

    starts: int = 64
    iterations: int = 20
    seed: int = 0

    def with_points(self, points: int) -> Self:
        """So many starts."""
        return replace(self, starts=points)

    def minimise(
        self,
        solve: LocalSolve,
        starts: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        good: float = -np.inf,
    ) -> Found:
        """See `GlobalSearch.minimise`."""
        once = BasinHopping(self.starts, 1, self.iterations, self.seed)
        return once.minimise(solve, starts, lower, upper, good)
