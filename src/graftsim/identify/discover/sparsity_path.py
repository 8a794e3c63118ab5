"""The path over the penalty: which inputs of a graft matter, chosen on held-out windows.

From the fit without penalty, the sparse-group lasso is raised step by step, each fit starting from
the last; inputs drop out as exact zeros. At every step what remains is fitted again without the
penalty, which also shrinks what it keeps, and judged on held-out windows. The sparsest within one
standard error of the best is taken (Breiman et al. 1984, 3.4.3).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
    dense = fit(problem)
    windows = problem.train_windows()
    compiled = compile_windows(problem, windows)
    cost = WindowCost(problem, compiled)
    held_windows = problem.heldout_windows()
    held = Heldout(problem, held_windows, compiled)
    options = LevenbergMarquardt(iterations=iterations, cost_tolerance=1e-5)

    def at(point: Point, strength: float, zero: np.ndarray) -> Point:
        sparsity = SparseGroupLasso((1 - balance) * strength, balance * strength)
        bounds = problem.bounds_of(point.theta, sparsity=sparsity if strength else None, zero=zero)
        start = Point(np.where(zero, 0.0, point.theta), point.local)
        return options.minimise(cost, start, bounds)

    nothing = np.zeros(len(p), bool)
    point = Point(dense.theta, np.zeros((len(windows), problem.nlocal)))
    point = at(point, 0.0, nothing)
    unit = problem.bounds_of(point.theta, sparsity=SparseGroupLasso(1 - balance, balance)).penalty
    assert unit is not None
    strength = START * point.cost / max(unit.value(point.theta), 1e-300)
    every = tuple(p.groups)
    found: list[tuple[float, tuple[Group, ...], np.ndarray, np.ndarray]] = [
        (0.0, every, held.cost(point.theta), point.theta)
    ]
    for _ in range(STEPS):
        point = at(point, strength, nothing)
        alive = tuple(g for i, g in enumerate(p.groups) if np.any(point.theta[p.group == i]))
        if alive != found[-1][1]:
            zero = (p.group >= 0) & ~np.isin(p.group, [every.index(g) for g in alive])
            refit = at(point, 0.0, zero)
            found.append((strength, alive, held.cost(refit.theta), refit.theta))
            progress(f"penalty {strength:.3g}: {len(alive)} of {len(every)} inputs left")
        if not alive:
            break
        strength *= RISE
    best = min(found, key=lambda f: typical(f[2]))
    steps, chosen = [], best
    for entry in found:
        mean, error = compare(entry[2], best[2])
        within = entry is best or mean <= error
        steps.append(PathStep(entry[0], entry[1], typical(entry[2]), within))
        if within and len(entry[1]) < len(chosen[1]):
            chosen = entry
    zero = (p.group >= 0) & ~np.isin(p.group, [every.index(g) for g in chosen[1]])
    return SparsePath(tuple(steps), chosen[1], fit_from(problem, chosen[3], zero=zero))
