"""Profile likelihood: how much worse the fit becomes when one parameter is held elsewhere.

For values v of parameter i, everything else adjusting,

    rise(v) = min_{theta: theta_i = v} cost - min cost,

and the 95 % interval is where it stays below 1.92 s^2 (half the chi-square quantile of one degree
of freedom; s^2 what intervals are widened by). Where the likelihood is no parabola, as along weak
directions and next to bounds, this interval is right and +-1.96 standard deviations are not.
"""

from __future__ import annotations

import numpy as np

from graftsim.identify.evidence.bootstrap import CHUNK
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import QUANTILE, Profile
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.least_squares import LevenbergMarquardt, Points, minimise_many
from graftsim.optim.local_solver import Point
from graftsim.optim.subset import Subset

# So many standard deviations to each side, but no farther than so many times the value.
SPAN, FAR = 3.0, 10.0
LOCAL = LevenbergMarquardt(iterations=25, cost_tolerance=1e-7)


def profile(
    problem: Problem,
    compiled: ResidualProgram,
    point: Point,
    covariance: np.ndarray,
    i: int,
    widened: float = 1.0,
) -> Profile:
    """Profile of parameter i around a minimum, all values side by side.

    Others start where covariance [p, p] expects them, theta_j + C_ji / C_ii (v - theta_i).
    """
    p, theta = problem.parameters, point.theta
    std = float(np.sqrt(covariance[i, i]))
    reach = SPAN * std if np.isfinite(std) else np.inf
    reach = min(reach, FAR * max(abs(theta[i]), abs(p.start[i]), 1e-12))
    low, high = max(theta[i] - reach, p.lower[i]), min(theta[i] + reach, p.upper[i])
    # As many as replicas of a bootstrap go together, so that one program serves both.
    values = np.sort(np.append(np.linspace(low, high, CHUNK - 1), theta[i]))
    every = np.flatnonzero(p.physical)
    others = every != i
    active = every[others]
    bounds = problem.bounds_of(theta, physics=True)
    pull = np.zeros(len(theta))
    if np.isfinite(std):
        column = covariance[:, i] / covariance[i, i]
        pull = np.where(np.isfinite(column) & p.physical, column, 0.0)
    starts = theta + np.outer(values - theta[i], pull)
    starts = np.clip(starts, bounds.lower, bounds.upper)
    starts[:, i] = values
    embed = Subset(active, starts).embed

    def jacobians(t: np.ndarray, l: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r, J_t, J_l = compiled.many_jacobians(embed(t), l, every)
        return r, J_t[..., others], J_l

    found = minimise_many(
        lambda t, l: compiled.many_residuals(embed(t), l),
        jacobians,
        Points.at(starts[:, active], np.tile(point.local, (len(values), 1, 1)), LOCAL.damping),
        bounds.only(active),
        LOCAL,
    )
    own = 0.5 * ((values - p.prior_mean[i]) / p.prior_std[i]) ** 2
    cost = found.cost + own
    rise = cost - np.min(cost)
    limit = 0.5 * QUANTILE**2 * widened**2
    low, high = _crossings(values, rise, limit, (p.lower[i], p.upper[i]))
    return Profile(p.names[i], p.units[i], values, rise, limit, low, high)


def _crossings(
    values: np.ndarray, rise: np.ndarray, limit: float, bounds: tuple[float, float]
) -> tuple[float, float]:
    """Where the rise passes the limit on both sides of its minimum; a bound ends it too."""
    best = int(np.argmin(rise))
    ends = []
    for side, bound in ((range(best, -1, -1), bounds[0]), (range(best, len(values)), bounds[1])):
        order = list(side)
        # The root of the rise grows about linearly with the distance.
        root = np.sqrt(rise[order])
        beyond = np.flatnonzero(root > np.sqrt(limit))
        if len(beyond):
            k = int(beyond[0])
            share = (np.sqrt(limit) - root[k - 1]) / (root[k] - root[k - 1])
            a, b = values[order[k - 1]], values[order[k]]
            ends.append(float(a + share * (b - a)) if np.isfinite(root[k]) else float(a))
        elif values[order[-1]] == bound:
            ends.append(float(bound))
        else:
            ends.append(float("-inf") if order[-1] == 0 else float("inf"))
    return ends[0], ends[1]
