"""The windows that the start of a fit can simulate."""

from __future__ import annotations

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs.failures import WindowSubset


def simulated(problem: Problem, part: WindowSubset, theta: np.ndarray) -> WindowSubset:
    """The windows that the start can simulate; ProblemError where it cannot simulate many."""
    finite = part.finite(theta, resting(problem, part))
    if not finite.all() and (smaller := part.without(finite)) is not None:
        part = smaller
        finite = part.finite(theta, resting(problem, part))
    if finite.all():
        return part
    i, windows = int(np.argmin(finite)), part.windows
    raise ProblemError(
        f"The starting model cannot be simulated: {np.count_nonzero(~finite)} of "
        f"{len(windows)} windows turn non-finite, first the one at {windows.start[i]:.6g} s of "
        f"'{windows.recording[i]}' ({part.horizon:.3g} s long). Try a smaller dt, implicit "
        "damping, or other starting values."
    )


def resting(problem: Problem, part: WindowSubset) -> np.ndarray:
    """Initial states of windows before they are fitted: no displacement [w, s]."""
    return np.zeros((len(part.windows), problem.nlocal))
