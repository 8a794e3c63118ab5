"""Search for the lowest of many minima: local solves from many points, batched.

`BasinHopping` is the papers' parallel basin hopping: workers solve locally, share the best point,
and start again from a Gaussian around it whose width shrinks with the rounds. `RandomRestarts` is
the same without the sharing. Several independent searches (from a grid of starts, say) run side by
side; each is an axis of arrays, not a process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

# theta [n, p] -> minima [n, p] and their costs [n]; infinity where a start was lost.
LocalSolve = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class BasinHopping:
    """`workers` local solves in each of `rounds` rounds, of so many `iterations` each.

    Worker 0 begins at the start, the others anywhere within the bounds; in round k each starts from
    a Gaussian around the best so far with a deviation of (range of the parameter) / (k + 1).
    """

    workers: int = 16
    rounds: int = 4
    iterations: int = 20
    seed: int = 0


@dataclass(frozen=True)
class RandomRestarts:
    """Local solves from `starts` points, the given one and others anywhere within the bounds."""

    starts: int = 64
    iterations: int = 20
    seed: int = 0

    @property
    def workers(self) -> int:
        """As many as starts."""
        return self.starts

    @property
    def rounds(self) -> int:
        """One."""
        return 1


class Found(NamedTuple):
    """Best points [g, p] and costs [g] of g searches, rounds they took [g], all minima seen.

    `minima` [g, k, p] and `costs` [g, k] in the order in which they were found.
    """

    theta: np.ndarray
    cost: np.ndarray
    rounds: np.ndarray
    minima: np.ndarray
    costs: np.ndarray


def search_from(
    solve: LocalSolve,
    starts: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    options: BasinHopping | RandomRestarts,
    good: float = -np.inf,
) -> Found:
    """Independent searches from starts [g, p] within [lower, upper]; one ends at a cost of `good`.

    A search draws its own random numbers: its answer does not depend on how many others there are.
    """
    g, p = starts.shape
    draw = [np.random.default_rng([options.seed, k]) for k in range(g)]
    best, least = starts.copy(), np.full(g, np.inf)
    rounds = np.zeros(g, int)
    minima: list[np.ndarray] = []
    costs: list[np.ndarray] = []
    for k in range(options.rounds):
        going = least > good
        if not going.any():
            break
        points = np.empty((g, options.workers, p))
        for i in range(g):
            if k == 0:
                points[i] = lower + (upper - lower) * draw[i].random((options.workers, p))
                points[i, 0] = starts[i]
            else:
                wide = (upper - lower) / (k + 1)
                points[i] = best[i] + wide * draw[i].normal(size=(options.workers, p))
        points = np.clip(points, lower, upper)
        # Searches that have ended ride along at their best, which costs nothing in a batch.
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
