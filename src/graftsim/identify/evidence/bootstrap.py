"""Bootstrap: refit to data sets of windows (or recordings) drawn again, all side by side.

Replica b draws as many blocks as there are, with replacement; a window drawn k times weighs k
(Efron 1979; blocks because samples within one hang together). No model of the noise is used, nor
that errors are small: intervals are the 2.5 and 97.5 % points of the refits, and may be lopsided.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.pool.pool import Pool
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs import residual_program
from graftsim.identify.runs.failures import WindowSubset
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.least_squares import LevenbergMarquardt, Points, minimise_many
from graftsim.optim.local_solver import Point
from graftsim.optim.subset import Subset

# Replicas that are solved together.
CHUNK = 25
# A replica starts at the solution: a few iterations are enough.
LOCAL = LevenbergMarquardt(iterations=12, cost_tolerance=1e-6, damping=1e-6)
# A bootstrap of fewer blocks than this gets a warning: it says little about how blocks vary.
FEW_BLOCKS = 10


@dataclass(frozen=True)
class Bootstrap:
    """So many `replicas`; blocks are each "window" or each whole "recording"."""

    replicas: int = 200
    by: str = "window"
    seed: int = 0


@dataclass(frozen=True)
class Resampled:
    """Refitted parameters `theta` [n, p] of the replicas that ended, and how many did not."""

    theta: np.ndarray
    lost: int
    blocks: int

    def interval(self, i: int, level: float = 0.95) -> tuple[float, float]:
        """Percentile interval of parameter i, stretched by sqrt(B / (B - 1)) for B blocks."""
        middle = np.median(self.theta[:, i])
        stretch = np.sqrt(self.blocks / (self.blocks - 1))
        tails = np.quantile(self.theta[:, i], [(1 - level) / 2, (1 + level) / 2])
        low, high = middle + stretch * (tails - middle)
        return float(low), float(high)

    def __str__(self) -> str:
        lost = f", {self.lost} lost" if self.lost else ""
        return f"bootstrap, {len(self.theta)} replicas of {self.blocks} blocks{lost}"

    def std(self) -> np.ndarray:
        """Standard deviations [p]."""
        return np.std(self.theta, 0, ddof=1) * np.sqrt(self.blocks / (self.blocks - 1))


def draw_weights(names: Sequence[str], options: Bootstrap) -> tuple[np.ndarray, int]:
    """How often each replica draws each window [n, w], of windows of the recordings `names`.

    Raises ProblemError: fewer than two replicas, or blocks to draw from.
    """
    if options.replicas < 2:
        raise ProblemError(
            f"A bootstrap of {options.replicas} replica has no spread: take at least two, better "
            "100 or more."
        )
    if options.by not in ("window", "recording"):
        raise ProblemError(f"bootstrap by '{options.by}': it is by 'window' or 'recording'.")
    if options.by == "window":
        block = np.arange(len(names))
    else:
        block = np.unique(np.array(names), return_inverse=True)[1]
    count = int(block.max()) + 1
    if count < 2:
        raise ProblemError(
            f"A bootstrap by {options.by} needs at least two {options.by}s, and there is one: "
            "shorten the horizon, or give more recordings."
        )
    rng = np.random.default_rng([options.seed, 1])
    drawn = rng.multinomial(count, np.full(count, 1 / count), size=options.replicas)
    return drawn[:, block].astype(float), count


def refit(
    problem: Problem,
    compiled: ResidualProgram,
    theta: np.ndarray,
    local: np.ndarray,
    weights: np.ndarray,
    options: LevenbergMarquardt = LOCAL,
) -> Points:
    """Minima [n] over the physical parameters with windows weighed by `weights` [n, w].

    All start at theta [p] and local [w, s].
    """
    root = np.sqrt(weights)[:, :, None]
    active = np.flatnonzero(problem.parameters.physical)
    bounds = problem.bounds_of(theta, physics=True).only(active)
    embed = Subset(active, theta).embed

    def jacobians(t: np.ndarray, l: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r, J_t, J_l = compiled.many_jacobians(embed(t), l, active)
        return r * root, J_t * root[..., None], J_l * root[..., None]

    found = minimise_many(
        lambda t, l: compiled.many_residuals(embed(t), l) * root,
        jacobians,
        Points.at(
            np.tile(theta[active], (len(weights), 1)),
            np.tile(local, (len(weights), 1, 1)),
            options.damping,
        ),
        bounds,
        options,
    )
    return replace(found, theta=embed(found.theta))


def some_replicas(problem: Problem, item: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """A task: refits from `theta`, `local` with `weights` [n, w] of windows of a `horizon`."""
    compiled = residual_program.compiled(problem, float(item["horizon"]), item["kept"])
    found = refit(problem, compiled, item["theta"], item["local"], item["weights"])
    return {"theta": found.theta, "cost": found.cost}


def bootstrap(
    problem: Problem, part: WindowSubset, point: Point, options: Bootstrap, pool: Pool
) -> Resampled:
    """Refits of resampled windows, from the solution; each task of the pool takes a few of them."""
    weights, blocks = draw_weights(part.windows.recording, options)
    common = {
        "horizon": part.horizon, "kept": part.chosen, "theta": point.theta, "local": point.local,
    }  # fmt: skip
    chunks = np.split(weights, np.arange(CHUNK, len(weights), CHUNK))
    items = [common | {"weights": chunk} for chunk in chunks]
    found = pool.map(some_replicas, problem, items, "bootstrap")
    drawn, cost = (np.concatenate([f[k] for f in found]) for k in ("theta", "cost"))
    ended = np.isfinite(cost)
    return Resampled(drawn[ended], int((~ended).sum()), blocks)
