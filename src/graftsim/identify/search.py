"""Global search over the physical parameters of a problem, before the fit goes on from the best."""

from __future__ import annotations

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.problem import Problem
from graftsim.identify.residuals import Compiled
from graftsim.optim.global_search import BasinHopping, Found, RandomRestarts, search_from
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.many import Many, minimise_many
from graftsim.optim.population import DifferentialEvolution, evolve

Search = BasinHopping | RandomRestarts | DifferentialEvolution

# Without bounds a parameter is sought from a fifth of its starting value to five times it.
_FACTOR = 5.0


def interval(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """Where starts are drawn from: bounds, and where there are none, around the starting value.

    Raises ProblemError: a parameter without bounds that starts at zero.
    """
    p = problem.parameters
    start, chosen = p.start, p.physical
    near, far = np.sort([start / _FACTOR, start * _FACTOR], 0)
    lower = np.where(
        np.isfinite(p.lower) & np.isfinite(p.upper), p.lower, np.maximum(near, p.lower)
    )
    upper = np.where(np.isfinite(p.lower) & np.isfinite(p.upper), p.upper, np.minimum(far, p.upper))
    empty = chosen & ~(lower < upper)
    if empty.any():
        names = ", ".join(np.array(p.names)[empty])
        raise ProblemError(f"A search needs bounds for {names}: free={{...: Bounds(low, high)}}.")
    # Weights stay where they are.
    return np.where(chosen, lower, start), np.where(chosen, upper, start)


def local_minima(
    problem: Problem, compiled: Compiled, starts: np.ndarray, options: LevenbergMarquardt
) -> Many:
    """Local minima from many starts [n, p] of the physical parameters, all at once."""
    bounds = problem.bounds_of(problem.parameters.start, physics=True)
    active = np.flatnonzero(problem.parameters.physical)

    def embed(part: np.ndarray) -> np.ndarray:
        out = starts.copy()
        out[:, active] = part
        return out

    windows = len(compiled.data.controls)
    found = minimise_many(
        lambda t, l: compiled.many_residuals(embed(t), l),
        lambda t, l: compiled.many_jacobians(embed(t), l, active),
        starts[:, active],
        np.zeros((len(starts), windows, problem.nlocal)),
        bounds.only(active),
        options,
    )
    return found._replace(theta=embed(found.theta))


def search(problem: Problem, compiled: Compiled, starts: np.ndarray, options: Search) -> Found:
    """Independent searches from starts [g, p].

    One ends early where residuals are at the noise: no other minimum can be much better.
    """
    lower, upper = interval(problem)
    local = LevenbergMarquardt(options.iterations)
    count = sum(int(np.count_nonzero(np.asarray(w))) for w in compiled.data.weight)

    def solve(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        found = local_minima(problem, compiled, points, local)
        return found.theta, found.cost

    good = 0.5 * count
    if isinstance(options, DifferentialEvolution):
        found = [evolve(solve, start, lower, upper, options, good) for start in starts]
        return Found(*(np.concatenate(x) for x in zip(*found, strict=True)))
    return search_from(solve, starts, lower, upper, options, good)


def summary(options: Search, found: Found) -> str:
    """What a search did, in a sentence."""
    costs = found.costs[0]
    lost = int(np.count_nonzero(~np.isfinite(costs)))
    alike = int(np.count_nonzero(costs <= 1.01 * found.cost[0] + 1e-12))
    return (
        f"{type(options).__name__}: {costs.size} local solves in {int(found.rounds[0])} rounds, "
        f"{alike} of them within 1 % of the lowest cost, {lost} lost"
    )
