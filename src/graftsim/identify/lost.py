"""Simulations that leave the finite numbers: counted, and few windows of that kind left out.

A trial step into such a region is refused by the solver and only counted. A window that cannot be
simulated where the solver stands would end the fit; where such windows are few, the others go on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graftsim.identify.problem import Problem
from graftsim.identify.programs import compile_windows, compiled
from graftsim.identify.residuals import Compiled
from graftsim.identify.windows import Windows

# More than this share of the windows is no accident of a few, but a wrong start or step.
SHARE = 0.05


@dataclass
class Tally:
    """Windows simulated so far, and how many of them turned non-finite."""

    simulated: int = 0
    lost: int = 0

    def of(self, r: np.ndarray) -> np.ndarray:
        """Count residuals [.., m] of windows; returns them."""
        self.simulated += int(np.prod(r.shape[:-1]))
        self.lost += int(np.count_nonzero(~np.isfinite(r).all(-1)))
        return r

    def __str__(self) -> str:
        return f"{self.simulated} windows simulated, {self.lost} of them turned non-finite"


@dataclass(frozen=True)
class Part:
    """The windows of a stage that take part: which, of how many, and their programs."""

    problem: Problem
    horizon: float
    total: int
    kept: np.ndarray
    windows: Windows
    compiled: Compiled

    @property
    def chosen(self) -> np.ndarray | None:
        """Indices of the windows that take part, None for all."""
        return None if len(self.kept) == self.total else self.kept

    def only(self, kept: np.ndarray | None) -> Part:
        """With windows of these indices among all."""
        if kept is None or np.array_equal(kept, self.kept):
            return self
        windows = self.problem.windows(self.problem.train, self.horizon).only(kept)
        programs = compile_windows(self.problem, windows)
        return Part(self.problem, self.horizon, self.total, kept, windows, programs)

    def finite(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Which windows [w] have finite residuals and derivatives."""
        active = np.flatnonzero(self.problem.parameters.physical)
        r, J_t, J_l = self.compiled.jacobian(theta, local, active, keep=True)
        every = np.concatenate([x.reshape(len(r), -1) for x in (r, J_t, J_l)], 1)
        return np.asarray(np.isfinite(every).all(1))

    def without(self, finite: np.ndarray) -> Part | None:
        """The finite ones [w]; None where none is lost, or too many are."""
        kept = self.kept[finite]
        if finite.all() or self.total - len(kept) > SHARE * self.total:
            return None
        return self.only(kept)

    def words(self) -> str:
        """Which windows are left out, in a sentence; empty if none is."""
        out = np.setdiff1d(np.arange(self.total), self.kept)
        if not out.size:
            return ""
        every = self.problem.windows(self.problem.train, self.horizon)
        first = f"{every.start[out[0]]:.6g} s of '{every.recording[out[0]]}'"
        return (
            f"{out.size} of {self.total} windows cannot be simulated and are left out, first the "
            f"one at {first}."
        )


def whole(problem: Problem, horizon: float, *, shared: bool = False) -> Part:
    """All windows of a length; `shared`: with the programs that tasks in this process use."""
    windows = problem.windows(problem.train, horizon)
    programs = compiled(problem, horizon) if shared else compile_windows(problem, windows)
    n = len(windows)
    return Part(problem, horizon, n, np.arange(n), windows, programs)
