"""What is known of each parameter: value, interval, and a verdict."""

from __future__ import annotations

import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.between_recordings import Spread, disagree
from graftsim.identify.results.information import WEAK, Information, interval
from graftsim.identify.results.result import ParameterRow
from graftsim.identify.words import Status

# A standard deviation beyond so many times the parameter's size says nothing, not even its sign.
NOTHING = 10.0
# If the standard deviation is at least this share of the prior's, the value comes from the prior.
UNMOVED = 0.9


def parameter_rows(
    problem: Problem,
    theta: np.ndarray,
    info: Information,
    held: np.ndarray,
    spread: Spread | None,
) -> tuple[ParameterRow, ...]:
    """Rows of the physical parameters. `spread` is of those that are not held, in their order."""
    p, rows = problem.parameters, []
    std = np.sqrt(np.where(held, np.nan, np.diag(info.covariance)))
    between = np.full(len(theta), np.nan)
    if spread is not None:
        free = np.flatnonzero(p.physical & ~held)
        between[free] = spread.tau
        wider = disagree(spread)
        std[free[wider]] = np.fmax(std[free[wider]], spread.mean_std[wider])
    for i in np.flatnonzero(p.physical).tolist():
        low, high = interval(theta[i], std[i])
        rows.append(
            ParameterRow(
                p.names[i],
                p.units[i],
                float(p.start[i]),
                float(theta[i]),
                float(std[i]),
                low,
                high,
                verdict(problem, i, theta[i], float(std[i]), bool(held[i])),
                float(between[i]),
                lower=float(p.lower[i]),
                upper=float(p.upper[i]),
            )
        )
    return tuple(rows)


def verdict(problem: Problem, i: int, value: float, std: float, held: bool) -> Status:
    """Is parameter i known by these data?"""
    p = problem.parameters
    if value <= p.lower[i] or value >= p.upper[i]:
        return Status.ON_BOUND
    if held:
        return Status.WITHOUT_EFFECT
    if std >= UNMOVED * p.prior_std[i]:
        return Status.FROM_PRIOR
    return status_of(value, std)


def status_of(value: float, std: float) -> Status:
    """Is a number known, whose standard deviation is `std`, NaN if it has no effect?"""
    if np.isnan(std):
        return Status.WITHOUT_EFFECT
    size = max(abs(value), 1e-300)
    if not std <= NOTHING * size:
        return Status.NOT_IDENTIFIABLE
    return Status.WEAK if std > WEAK * size else Status.IDENTIFIED
