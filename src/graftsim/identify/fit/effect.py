"""Where a fit starts and what it moves: by one Jacobian, before any iteration.

A number on which no residual depends where the fit starts stays at its value, with a warning, not
an error: which of the ten numbers of a link's inertia change an arm's motion follows from its
joints, and need not be worked out by the user. Some numbers have no effect only because they start
on their bound (a bounce of no height depends on restitution in second order): they start a little
inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graftsim.errors import GraftsimWarning, ProblemError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs.failures import WindowSubset
from graftsim.optim.bounded import Bounded

# How far inside its bounds a number starts that has no effect on the bound, as a share.
INSIDE = 0.1
# So many names stand in a sentence.
NAMED = 4


def without_effect(
    part: WindowSubset, problem: Problem, theta: np.ndarray, local: np.ndarray
) -> np.ndarray:
    """Mask [p] of the physical parameters on which no residual depends at theta [p], local [w, s].

    Weights are not asked: of a new network, only the last layer has an effect yet.
    """
    physical = np.flatnonzero(problem.parameters.physical)
    J_t = part.compiled.jacobian(theta, local, physical, keep=True)[1]
    unused = np.zeros(len(theta), bool)
    unused[physical] = ~np.any(J_t, (0, 1))
    return unused


def start_with_effect(
    part: WindowSubset, problem: Problem, theta: np.ndarray, local: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Where to start [p], and the mask [p] of the parameters that stay there (see `hold`).

    Both are said in warnings. Raises ProblemError: no residual depends on any of several free
    parameters, or on the only one, and there is no network to fit either.
    """
    p = problem.parameters
    unused = without_effect(part, problem, theta, local)
    if unused.any():
        inside = _inside(problem, theta, unused)
        if (inside != theta).any() and part.finite(inside, local).all():
            unused = without_effect(part, problem, inside, local)
            moved = ~unused & (inside != theta)
            theta = np.where(moved, inside, theta)
            _warn(
                p.names, moved, "a little inside: on the bound no residual depends on it", "start"
            )
    if unused.any() and unused.sum() == len(theta):
        raise ProblemError(
            f"No residual depends on {_some(np.array(p.names)[unused])}. Leave it out, or add a "
            "sensor that feels it."
        )
    _warn(p.names, unused, "stay", "as given, without effect: no residual depends on it")
    return theta, unused


def hold(bounds: Bounded, theta: np.ndarray, unused: np.ndarray) -> Bounded:
    """Bounds for the solver between which the parameters of the mask cannot move."""
    return replace(
        bounds,
        lower=np.where(unused, theta, bounds.lower),
        upper=np.where(unused, theta, bounds.upper),
    )


def _inside(problem: Problem, theta: np.ndarray, unused: np.ndarray) -> np.ndarray:
    """Theta with those of the mask that are on their lower bound a little above it."""
    p = problem.parameters
    low = np.where(np.isfinite(p.lower), p.lower, theta)
    inside = low + INSIDE * np.minimum(p.upper - low, np.maximum(1.0, abs(low)))
    return np.where(unused & (theta <= p.lower), inside, theta)


def _warn(names: Sequence[str], mask: np.ndarray, verb: str, why: str) -> None:
    chosen = np.array(names)[mask]
    if len(chosen):
        verb = f"{verb}s" if len(chosen) == 1 else verb
        warnings.warn(f"{_some(chosen)} {verb} {why}.", GraftsimWarning, stacklevel=4)


def _some(names: np.ndarray) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
