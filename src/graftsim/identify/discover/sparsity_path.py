"""The path over the penalty: which inputs of a graft matter, chosen on held-out windows.

From the fit without penalty, the sparse-group lasso is raised step by step, each fit starting from
the last; inputs drop out as exact zeros. At every step what remains is fitted again without the
penalty, which also shrinks what it keeps, and judged on held-out windows. The sparsest within one
standard error of the best is taken (Breiman et al. 1984, 3.4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import ProblemError
from graftsim.identify.fit.fit import fit, fit_from
from graftsim.identify.problem.parameters import Group
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Result
from graftsim.identify.runs.holdout import Heldout, compare, typical
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point
from graftsim.optim.sparsity import SparseGroupLasso

STEPS = 16
RISE = 4.0
# The first penalty is this share of the cost.
START = 1e-3


@dataclass(frozen=True)
class PathStep:
    """One strength: inputs that are left, and the typical held-out cost of a window after the
    refit. `within`: no worse than the best by more than one standard error.
    """

    strength: float
    inputs: tuple[Group, ...]
    heldout: float
    within: bool


@dataclass(frozen=True)
class SparsePath:
    """The path, the inputs chosen, and the fit with them alone, without penalty."""

    steps: tuple[PathStep, ...]
    inputs: tuple[Group, ...]
    result: Result


@one_blas_thread
def sparsify(
    problem: Problem,
    *,
    balance: float = 0.5,
    iterations: int = 30,
    progress: Callable[[str], None] = lambda text: None,
) -> SparsePath:
    """Find the inputs that the grafts of a problem need, and fit with those.

    balance: share of the penalty that is on inputs as wholes, the rest is on single weights.
    Raises ProblemError: nothing is held out, or no graft has inputs that can be told apart.
    """
    p = problem.parameters
    if not problem.heldout:
        raise ProblemError("A choice by held-out error needs recordings that are held out.")
    if not p.groups:
        raise ProblemError("No graft of this problem tells which weights belong to which input.")
    options = LevenbergMarquardt(iterations=iterations, cost_tolerance=1e-5)
    path = _Path(problem, balance, options)
    found = path.walk(fit(problem).theta, progress)
    best = min(found, key=lambda entry: typical(entry.heldout))
    steps, chosen = [], best
    for entry in found:
        mean, error = compare(entry.heldout, best.heldout)
        within = entry is best or mean <= error
        steps.append(PathStep(entry.strength, entry.inputs, typical(entry.heldout), within))
        if within and len(entry.inputs) < len(chosen.inputs):
            chosen = entry
    result = fit_from(problem, chosen.theta, zero=path.without(chosen.inputs))
    return SparsePath(tuple(steps), chosen.inputs, result)


class _Entry(NamedTuple):
    """A refit on the path: penalty, inputs left, held-out costs of windows [w], weights [p]."""

    strength: float
    inputs: tuple[Group, ...]
    heldout: np.ndarray
    theta: np.ndarray


class _Path:
    """Fits under a rising penalty, each from where the last one ended."""

    def __init__(self, problem: Problem, balance: float, options: LevenbergMarquardt) -> None:
        self.problem, self.balance, self.options = problem, balance, options
        windows = problem.train_windows()
        compiled = compile_windows(problem, windows)
        self.cost = WindowCost(problem, compiled)
        self.held = Heldout(problem, problem.heldout_windows(), compiled)
        self.resting = np.zeros((len(windows), problem.nlocal))

    def walk(self, theta: np.ndarray, progress: Callable[[str], None]) -> list[_Entry]:
        """A refit without penalty wherever inputs drop out, from theta [p] with all of them."""
        p = self.problem.parameters
        every, nothing = tuple(p.groups), np.zeros(len(p), bool)
        point = self.fit(Point(theta, self.resting), 0.0, nothing)
        penalty = self.problem.bounds_of(point.theta, sparsity=self._penalty(1.0)).penalty
        assert penalty is not None
        strength = START * point.cost / max(penalty.value(point.theta), 1e-300)
        found = [_Entry(0.0, every, self.held.cost(point.theta), point.theta)]
        for _ in range(STEPS):
            point = self.fit(point, strength, nothing)
            alive = tuple(g for i, g in enumerate(every) if np.any(point.theta[p.group == i]))
            if alive != found[-1].inputs:
                refit = self.fit(point, 0.0, self.without(alive))
                cost = self.held.cost(refit.theta)
                found.append(_Entry(strength, alive, cost, refit.theta))
                progress(f"penalty {strength:.3g}: {len(alive)} of {len(every)} inputs left")
            if not alive:
                break
            strength *= RISE
        return found

    def fit(self, point: Point, strength: float, zero: np.ndarray) -> Point:
        """From a point, with a penalty of a strength, weights of the mask `zero` held at zero."""
        sparsity = self._penalty(strength) if strength else None
        bounds = self.problem.bounds_of(point.theta, sparsity=sparsity, zero=zero)
        start = Point(np.where(zero, 0.0, point.theta), point.local)
        return self.options.minimise(self.cost, start, bounds)

    def without(self, inputs: tuple[Group, ...]) -> np.ndarray:
        """Mask [p] of the weights of all inputs but these."""
        p = self.problem.parameters
        return (p.group >= 0) & ~np.isin(p.group, [p.groups.index(g) for g in inputs])

    def _penalty(self, strength: float) -> SparseGroupLasso:
        return SparseGroupLasso((1 - self.balance) * strength, self.balance * strength)
