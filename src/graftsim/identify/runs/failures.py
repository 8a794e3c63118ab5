"""Simulations that diverge (NaN or infinity): count them; leave out their windows if they are few.

Windows that cannot be simulated at the start are left out if they are at most a share `SHARE` of
all (`WindowSubset`). On the way, up to as many at a time are left out of a step
(`FailureTolerant`); the solver refuses a step that loses more. All are counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.windows import Windows
from graftsim.identify.runs.residual_program import ResidualProgram, compile_windows, compiled

# A larger share of the windows is no accident of a few, but a wrong start or step.
SHARE = 0.05
# Derivative by its initial state of a window that is left out of a step: so that state stays.
_STIFF = 1e8

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass
class SimulationCount:
    """Windows simulated so far, and how many of them turned non-finite."""

    simulated: int = 0
    lost: int = 0

    def of(self, r: np.ndarray) -> np.ndarray:
        """Count residuals [.., m] of windows; returns them."""
        self.simulated += int(np.prod(r.shape[:-1]))
        self.lost += int(np.count_nonzero(~np.isfinite(r).all(-1)))
        return r

    def words(self) -> tuple[str, ...]:
        """That some were lost, in a sentence; none if none was."""
        if not self.lost:
            return ()
        share = f"{100 * self.lost / self.simulated:.2g} %"
        return (
            f"{self.lost} of {self.simulated} simulations of windows on the way turned non-finite "
            f"({share}): a few at a time were passed over, steps that lost more were refused.",
        )

    def __str__(self) -> str:
        return f"{self.simulated} windows simulated, {self.lost} of them turned non-finite"


class FailureTolerant:
    """Residuals and Jacobians for a least-squares solver, of which few windows may be lost.

    jacobian(theta, local), called where the solver stands, gives residuals [.., w, m] and
    Jacobians [.., w, m, p], [.., w, m, s]; residual(theta, local) those of trial steps. Up to
    `allowed` windows that are lost where the solver stands are left out of that step; up to as many
    that a trial loses keep their cost from before it, so that losing them changes no cost.
    """

    def __init__(
        self,
        residual: Callable[[np.ndarray, np.ndarray], np.ndarray],
        jacobian: Callable[..., Arrays],
        allowed: int,
        tally: SimulationCount,
    ) -> None:
        self._residual, self._jacobian = residual, jacobian
        self.allowed, self.tally = allowed, tally
        self._here, self._out = np.zeros(0), np.zeros(0, bool)

    def jacobian(self, theta: np.ndarray, local: np.ndarray, *active: np.ndarray) -> Arrays:
        """Where the solver stands; `active` is handed on."""
        r, J_t, J_l = self._jacobian(theta, local, *active)
        self.tally.of(r)
        self._out = self._few(~finite_windows(r, J_t, J_l))
        if self._out.any():
            r, J_t, J_l = r.copy(), J_t.copy(), J_l.copy()
            r[self._out], J_t[self._out] = 0.0, 0.0
            J_l[self._out] = _STIFF * np.eye(*J_l.shape[-2:])
        self._here = r
        return r, J_t, J_l

    def residual(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Of a trial step from there."""
        r = self.tally.of(self._residual(theta, local))
        lost = self._few(_lost(r))
        if lost.any() or self._out.any():
            r = np.where(lost[..., None], self._here, r)
            r[self._out] = 0.0
        return r

    def _few(self, lost: np.ndarray) -> np.ndarray:
        return lost & (np.count_nonzero(lost, -1, keepdims=True) <= self.allowed)


def finite_windows(r: np.ndarray, J_t: np.ndarray, J_l: np.ndarray) -> np.ndarray:
    """Which windows have finite residuals [.., w, m] and Jacobians [.., w, m, p], [.., w, m, s].

    By their sums, which are not finite where a number is not, and read the large arrays once.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        every = r.sum(-1) + J_t.sum((-1, -2)) + J_l.sum((-1, -2))
    return np.asarray(np.isfinite(every))


def _lost(x: np.ndarray) -> np.ndarray:
    return np.asarray(~np.isfinite(x).all(-1))


@dataclass(frozen=True)
class WindowSubset:
    """The windows of a stage that take part: which, of how many, and their programs."""

    problem: Problem
    horizon: float
    total: int
    kept: np.ndarray
    windows: Windows
    compiled: ResidualProgram

    @property
    def chosen(self) -> np.ndarray | None:
        """Indices of the windows that take part, None for all."""
        return None if len(self.kept) == self.total else self.kept

    @property
    def allowed(self) -> int:
        """So many windows more may be lost."""
        return int(SHARE * self.total) - (self.total - len(self.kept))

    def only(self, kept: np.ndarray | None) -> WindowSubset:
        """With windows of these indices among all."""
        if kept is None or np.array_equal(kept, self.kept):
            return self
        windows = self.problem.train_windows(self.horizon).only(kept)
        programs = compile_windows(self.problem, windows)
        return WindowSubset(self.problem, self.horizon, self.total, kept, windows, programs)

    def finite(self, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        """Which windows [w] have finite residuals and derivatives."""
        active = np.flatnonzero(self.problem.parameters.physical)
        r, J_t, J_l = self.compiled.jacobian(theta, local, active, keep=True)
        return finite_windows(r, J_t, J_l)

    def without(self, finite: np.ndarray) -> WindowSubset | None:
        """The finite ones [w]; None where none is lost, or too many are."""
        if finite.all() or np.count_nonzero(~finite) > self.allowed:
            return None
        return self.only(self.kept[finite])

    def words(self) -> tuple[str, ...]:
        """Which windows are left out, in a sentence; none if none is."""
        out = np.setdiff1d(np.arange(self.total), self.kept)
        if not out.size:
            return ()
        every = self.problem.train_windows(self.horizon)
        first = f"{every.start[out[0]]:.6g} s of '{every.recording[out[0]]}'"
        return (
            f"{out.size} of {self.total} windows cannot be simulated and are left out, first the "
            f"one at {first}.",
        )


def whole(problem: Problem, horizon: float, *, shared: bool = False) -> WindowSubset:
    """All windows of a length; `shared`: with the programs that tasks in this process use."""
    windows = problem.train_windows(horizon)
    programs = compiled(problem, horizon) if shared else compile_windows(problem, windows)
    n = len(windows)
    return WindowSubset(problem, horizon, n, np.arange(n), windows, programs)
