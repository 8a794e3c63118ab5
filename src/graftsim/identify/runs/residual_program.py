"""Compiled programs of a problem's windows: made once, shared, and kept as long as the problem."""

from __future__ import annotations

import threading
from weakref import WeakKeyDictionary

import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import ResidualProgram, as_data
from graftsim.identify.problem.windows import Windows

# Sets of windows that are kept of each problem.
KEPT = 4

_programs: WeakKeyDictionary[Problem, dict[tuple[float, bytes], ResidualProgram]] = (
    WeakKeyDictionary()
)
_lock = threading.RLock()


def compile_windows(problem: Problem, windows: Windows) -> ResidualProgram:
    """Residual functions of a set of windows."""
    data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
    return ResidualProgram(
        problem.setup, problem.parameters, data, problem.criterion, problem.nlocal
    )


def compiled(problem: Problem, horizon: float, kept: np.ndarray | None = None) -> ResidualProgram:
    """Residual functions of the problem's fitted windows of a length, the same at each call.

    kept: [k] which of the windows, all by default.
    """
    key = (horizon, b"" if kept is None else np.asarray(kept, np.int64).tobytes())
    with _lock:
        found = _programs.setdefault(problem, {})
        if key not in found:
            windows = problem.train_windows(horizon)
            if kept is not None:
                windows = windows.only(kept)
            found[key] = compile_windows(problem, windows)
            while len(found) > KEPT:
                found.pop(next(iter(found)))
        return found[key]
