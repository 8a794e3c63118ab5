"""The start of a fit: which windows it can simulate, and on which parameters they depend."""

from __future__ import annotations

import warnings

import numpy as np

from graftsim.errors import GraftsimWarning, ProblemError
from graftsim.identify.problem.parameters import Parameters
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs.failures import Part

# How far inside its bounds a number starts that has no effect on the bound, as a share.
INSIDE = 0.1


def check_start(problem: Problem, part: Part, theta: np.ndarray) -> tuple[Part, np.ndarray]:
    """The windows that the start can simulate, and a start at which every parameter has an effect.

    Some numbers have none on their bound: a bounce of no height depends on restitution in second
    order only. They start a little inside. ProblemError: many windows that cannot be simulated; a
    parameter without effect.
    """
    part = _simulated(problem, part, theta)
    unused = _without_effect(problem, part, theta)
    if unused.any():
        theta, unused = _inside(problem, part, theta, unused)
    if unused.any():
        names = [n for n, none in zip(problem.parameters.names, unused, strict=True) if none]
        raise ProblemError(
            f"No residual depends on {', '.join(names)}. Leave it out, or add a sensor that "
            "feels it."
        )
    return part, theta


def _simulated(problem: Problem, part: Part, theta: np.ndarray) -> Part:
    """The windows that the start can simulate; ProblemError where it cannot simulate many."""
    finite = part.finite(theta, _resting(problem, part))
    if not finite.all() and (smaller := part.without(finite)) is not None:
        part = smaller
        finite = part.finite(theta, _resting(problem, part))
    if finite.all():
        return part
    i, windows = int(np.argmin(finite)), part.windows
    raise ProblemError(
        f"The starting model cannot be simulated: {np.count_nonzero(~finite)} of "
        f"{len(windows)} windows turn non-finite, first the one at {windows.start[i]:.6g} s of "
        f"'{windows.recording[i]}' ({part.horizon:.3g} s long). Try a smaller dt, implicit "
        "damping, or other starting values."
    )


def _inside(
    problem: Problem, part: Part, theta: np.ndarray, unused: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """theta with numbers that are on a bound and without effect moved inside, where that gives
    them one; and which are still without effect.
    """
    p = problem.parameters
    moved = np.where(unused & (theta <= p.lower), _a_little_above(p, theta), theta)
    if (moved == theta).all() or not part.finite(moved, _resting(problem, part)).all():
        return theta, unused
    still = _without_effect(problem, part, moved)
    moved = np.where(still, theta, moved)
    names = [n for n, x, y in zip(p.names, theta, moved, strict=True) if x != y]
    if names:
        warnings.warn(
            f"{', '.join(names)} {'starts' if len(names) == 1 else 'start'} a little inside: on "
            "the bound no residual depends on it.",
            GraftsimWarning,
            stacklevel=3,
        )
    return moved, still


def _a_little_above(p: Parameters, theta: np.ndarray) -> np.ndarray:
    low = np.where(np.isfinite(p.lower), p.lower, theta)
    return low + INSIDE * np.minimum(p.upper - low, np.maximum(1.0, abs(low)))


def _without_effect(problem: Problem, part: Part, theta: np.ndarray) -> np.ndarray:
    """Mask of the physical parameters on which no residual depends.

    Weights are not asked: of a new network, only the last layer has an effect yet.
    """
    physical = np.flatnonzero(problem.parameters.physical)
    J_t = part.compiled.jacobian(theta, _resting(problem, part), physical, keep=True)[1]
    unused = np.zeros(len(theta), bool)
    unused[physical] = ~np.any(J_t, (0, 1))
    return unused


def _resting(problem: Problem, part: Part) -> np.ndarray:
    return np.zeros((len(part.windows), problem.nlocal))
