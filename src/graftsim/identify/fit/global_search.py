"""Global search over the physical parameters of a problem, before the fit goes on from the best."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.fit.state import FitState
from graftsim.identify.pool.pool import Pool
from graftsim.identify.problem.parameters import search_box
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs import residual_program
from graftsim.identify.runs.failures import SHARE, FailureTolerant, SimulationCount, whole
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.global_search import (
    BasinHopping,
    Found,
    GlobalSearch,
    LocalSolve,
    RandomRestarts,
)
from graftsim.optim.least_squares import LevenbergMarquardt, Points, minimise_many
from graftsim.optim.local_solver import Point
from graftsim.optim.subset import Subset


@dataclass(frozen=True)
class Automatic:
    """Fit locally, and search as suits the problem's size only if that leaves more than noise.

    above: residuals of less than so many times the noise are then a model's lack of an effect and
    no wrong minimum, unless a gain, a delay or a length ran away.
    """

    name: ClassVar[str] = "auto"
    help: ClassVar[str] = "one that suits the problem, if a local fit leaves more than noise"

    seed: int = 0
    above: float = 0.0


# Numbers of parameters whose ranges a few workers can cover, and more workers.
SMALL, MIDDLE = 6, 20
# Points of a task at most: two vectors of simulations side by side, if there is but one window.
PORTION = 16


def local_minima(
    problem: Problem,
    compiled: ResidualProgram,
    starts: np.ndarray,
    options: LevenbergMarquardt,
    tally: SimulationCount | None = None,
) -> Points:
    """Local minima from many starts [n, p] of the physical parameters, all at once."""
    bounds = problem.bounds_of(problem.parameters.start, physics=True)
    active = np.flatnonzero(problem.parameters.physical)
    embed = Subset(active, starts).embed
    windows = len(compiled.data.controls)
    tolerant = FailureTolerant(
        lambda t, l: compiled.many_residuals(embed(t), l),
        lambda t, l: compiled.many_jacobians(embed(t), l, active),
        int(SHARE * windows),
        SimulationCount() if tally is None else tally,
    )
    found = minimise_many(
        tolerant.residual,
        tolerant.jacobian,
        Points.at(
            starts[:, active],
            np.zeros((len(starts), windows, problem.nlocal)),
            options.damping,
        ),
        bounds.only(active),
        options,
        rivals=True,
    )
    return replace(found, theta=embed(found.theta))


def some_minima(problem: Problem, item: Mapping[str, Any]) -> dict[str, Any]:
    """A task: local minima from points [n, p] on windows of a `horizon`, `kept` [k] of them."""
    compiled = residual_program.compiled(problem, float(item["horizon"]), item["kept"])
    options = LevenbergMarquardt(int(item["iterations"]))
    tally = SimulationCount()
    found = local_minima(problem, compiled, item["points"], options, tally)
    counts = {"simulated": tally.simulated, "lost": tally.lost}
    return {"theta": found.theta, "cost": found.cost, **counts}


def spread(
    problem: Problem,
    options: GlobalSearch,
    pool: Pool,
    horizon: float,
    kept: np.ndarray | None,
    tally: SimulationCount,
) -> LocalSolve:
    """Local solves in portions that each are a task of a pool, all counted in `tally`.

    Portions depend on the number of points alone, so the answer is the same wherever they run.
    """
    calls = count()

    def solve(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        n = len(points)
        portions = -(-n // PORTION)
        size = -(-n // portions)
        # The last one is filled up: one program serves all.
        rows = np.minimum(np.arange(portions * size), n - 1).reshape(portions, size)
        common = {"horizon": horizon, "kept": kept, "iterations": options.iterations}
        items = [common | {"points": points[r]} for r in rows]
        found = pool.map(some_minima, problem, items, f"search-{next(calls)}")
        tally.simulated += sum(int(f["simulated"]) for f in found)
        tally.lost += sum(int(f["lost"]) for f in found)
        theta, cost = (np.concatenate([f[k] for f in found])[:n] for k in ("theta", "cost"))
        return theta, cost

    return solve


def search(
    problem: Problem,
    compiled: ResidualProgram,
    starts: np.ndarray,
    options: GlobalSearch,
    solve: LocalSolve | None = None,
) -> Found:
    """Independent searches from starts [g, p], by default all points in one call; see `spread`.

    One ends early where residuals are at the noise: no other minimum can be much better.
    """
    lower, upper = search_box(problem.parameters)
    samples = sum(int(np.count_nonzero(np.asarray(w))) for w in compiled.data.weight)

    def at_once(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        local = LevenbergMarquardt(options.iterations)
        found = local_minima(problem, compiled, points, local)
        return found.theta, found.cost

    solve = solve or at_once

    return options.minimise(solve, starts, lower, upper, good=0.5 * samples)


def choose(problem: Problem, seed: int = 0) -> tuple[GlobalSearch | None, str]:
    """The search that suits a problem's size, and why; None where none promises anything."""
    try:
        search_box(problem.parameters)
    except ProblemError as error:
        return None, str(error)
    count = int(problem.parameters.physical.sum())
    if count == 0:
        return None, "there is no parameter to search over"
    if count <= SMALL:
        chosen, why = BasinHopping(), "few enough for 16 workers to cover their ranges"
    elif count <= MIDDLE:
        chosen, why = BasinHopping(workers=32, rounds=3), "so 32 workers"
    else:
        chosen, why = RandomRestarts(16), "too many to cover their ranges, so a few restarts"
    return replace(chosen, seed=seed), f"{count} parameters, {why}"


def summary(options: GlobalSearch, found: Found) -> str:
    """What a search did, in a sentence."""
    costs = found.costs[0]
    lost = int(np.count_nonzero(~np.isfinite(costs)))
    alike = int(np.count_nonzero(costs <= 1.01 * found.cost[0] + 1e-12))
    return (
        f"{type(options).__name__}: {costs.size} local solves in {int(found.rounds[0])} rounds, "
        f"{alike} of them within 1 % of the lowest cost, {lost} lost"
    )


def searched(problem: Problem, options: GlobalSearch, state: FitState, pool: Pool) -> FitState:
    """A state at the best point of a search over windows of the last horizon."""
    part, theta = whole(problem, problem.horizons[-1], shared=True), state.theta
    nothing = np.zeros((len(part.windows), problem.nlocal))
    part = part.without(part.finite(theta, nothing)) or part
    tally = SimulationCount()
    solve = spread(problem, options, pool, part.horizon, part.chosen, tally)
    found = search(problem, part.compiled, theta[None], options, solve)
    if np.isfinite(found.cost[0]):
        theta = found.theta[0]
    point = Point(theta, np.zeros((0, 0)))
    words = f"{summary(options, found)}; {tally}"
    return replace(state.with_part(part), point=point, searched=words)
