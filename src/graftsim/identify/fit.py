"""Fitting: growing horizons, a local solver, judgement on what was held out, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from graftsim.errors import ProblemError, suggest
from graftsim.identify import diagnose, gradient, judge
from graftsim.identify.checkpoint import Checkpoint
from graftsim.identify.grafted import summarise
from graftsim.identify.problem import Problem
from graftsim.identify.residuals import Compiled, as_data
from graftsim.identify.result import Iteration, ParameterRow, Result
from graftsim.identify.search import Search, summary
from graftsim.identify.search import search as search_globally
from graftsim.identify.solve import solve
from graftsim.identify.windows import Windows
from graftsim.optim.first_order import LBFGS, Adam
from graftsim.optim.least_squares import LevenbergMarquardt, Point
from graftsim.optim.sparsity import SparseGroupLasso

Solver = LevenbergMarquardt | LBFGS | Adam
SOLVERS: dict[str, Solver] = {
    "levenberg_marquardt": LevenbergMarquardt(),
    "lbfgs": LBFGS(),
    "adam": Adam(),
}

# Above so many unknowns a dense Gauss-Newton matrix costs more than it gives.
DENSE = 1500

Progress = Callable[[Iteration, int, int], None]


def fit(
    problem: Problem,
    *,
    local: str | Solver = "auto",
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    sparsity: SparseGroupLasso | None = None,
    start: np.ndarray | None = None,
    zero: np.ndarray | None = None,
    alone: np.ndarray | None = None,
    search: Search | None = None,
    command: str = "",
) -> Result:
    """Fit the free parameters of a problem and the weights of its grafts, on growing horizons.

    Physics comes first: with both, the parameters alone are fitted, then all together, so that a
    network starts with what parameters cannot explain, and each weight costs by its prior.

    local: `LevenbergMarquardt(...)` (residuals, structured Jacobian), `LBFGS(...)` or `Adam(...)`,
    or their names in lower case for the defaults; "auto", the default, is the first up to some
    1,500 unknowns and L-BFGS beyond. sparsity: a penalty on the weights of each input of the
    grafts that sets whole inputs to exact zero (Levenberg-Marquardt only). start: [p] where to
    begin instead, all unknowns together and the last horizon at once. zero: [p] which weights of
    grafts stay zero. alone: [p] with `start`, the fit of the parameters alone, to compare with.
    search: `BasinHopping(...)`, `RandomRestarts(...)` or `DifferentialEvolution(...)`, from many
    points within the bounds at once, before the fit goes on from the best of them; it replaces the
    growing horizons.
    checkpoint: a file that is written after each iteration and resumed from if it is there and of
    the same problem. progress(iteration, stage, stages) runs after each iteration.

    Raises ProblemError: a parameter on which no residual depends, named; a start that cannot be
    simulated; a checkpoint of another problem.
    """
    solver = choose_solver(local, problem, sparsity)
    began = time.perf_counter()
    damping = solver.damping if isinstance(solver, LevenbergMarquardt) else 0.0
    saved = Checkpoint(checkpoint, problem)
    theta = problem.parameters.start.copy() if start is None else np.array(start, float)
    history: list[Iteration] = list(saved.history)
    stage_windows: Windows | None = None
    compiled: Compiled | None = None
    point = Point(theta, np.zeros((0, 0)), np.inf, damping)
    stages = stages_of(problem) if start is None else [(problem.horizons[-1], False)]
    searched = "none"
    if search is not None:
        # A long horizon is rough, which is what searches are for.
        stages = [s for s in stages if s[0] == problem.horizons[-1]]
        stage_windows = problem.windows(problem.train, problem.horizons[-1])
        compiled = compile_windows(problem, stage_windows)
        searched = f"{type(search).__name__}: done before the checkpoint"
        if saved.point is None:
            found = search_globally(problem, compiled, theta[None], search)
            searched = summary(search, found)
            if np.isfinite(found.cost[0]):
                theta = found.theta[0]
    for stage, (horizon, physics) in enumerate(stages):
        if stage < saved.stage:
            continue
        if stage_windows is None or (stage > 0 and horizon != stages[stage - 1][0]):
            stage_windows = problem.windows(problem.train, horizon)
            compiled = compile_windows(problem, stage_windows)
        assert compiled is not None
        both = not physics and problem.parameters.physical.any()
        if both and saved.alone is None and start is None:
            saved.alone = theta
        resting = np.zeros((len(stage_windows), problem.nlocal))
        point = Point(theta, resting, np.inf, damping)
        if stage == saved.stage and saved.point is not None:
            point = saved.point
        elif stage == 0:
            _check_start(problem, compiled, stage_windows, theta, resting)
        bounds = problem.bounds_of(theta, physics=physics, sparsity=sparsity, zero=zero)

        def after(p: Point, size: float, stage: int = stage, horizon: float = horizon) -> None:
            seconds = time.perf_counter() - began
            entry = Iteration(stage, horizon, p.iteration, p.cost, size, p.damping, seconds)
            if history and (history[-1].stage, history[-1].iteration) == (stage, p.iteration):
                history.pop()  # A resumed solver starts by looking at its point again.
            history.append(entry)
            saved.write(stage, p, history)
            if progress is not None:
                progress(entry, stage, len(stages))

        if point.outcome in ("", "iteration limit"):
            point = replace(point, outcome="")
            if isinstance(solver, LevenbergMarquardt):
                point = solve(compiled, point, bounds, solver, after)
            else:
                point = gradient.minimise(problem, stage_windows, point, bounds, solver, after)
        theta = point.theta
        saved.write(stage, point, history)
    assert stage_windows is not None and compiled is not None
    alone = saved.alone if start is None else alone
    alone = alone if problem.grafted else None
    return _result(
        problem, stage_windows, compiled, point, history, began, command, solver, sparsity, alone,
        searched,
    )  # fmt: skip


def choose_solver(
    local: str | Solver, problem: Problem, sparsity: SparseGroupLasso | None = None
) -> Solver:
    """The local solver that `fit` takes for its `local` and `sparsity`; ProblemError as there."""
    if local == "auto":
        many = len(problem.parameters) > DENSE and sparsity is None
        return SOLVERS["lbfgs" if many else "levenberg_marquardt"]
    if isinstance(local, str) and local not in SOLVERS:
        raise ProblemError(f"local '{local}'. {suggest(local, ('auto', *SOLVERS))}")
    solver = SOLVERS[local] if isinstance(local, str) else local
    if sparsity is not None and not isinstance(solver, LevenbergMarquardt):
        raise ProblemError("Exact zeros need local='levenberg_marquardt'.")
    if sparsity is not None and not (problem.parameters.group >= 0).any():
        raise ProblemError(
            "sparsity penalises the weights of each input of a graft, but there is no graft whose "
            "network tells which weights those are (MLP, GRU and Library do)."
        )
    return solver


def stages_of(problem: Problem) -> list[tuple[float, bool]]:
    """(horizon, are physical parameters fitted alone?) of each stage."""
    p = problem.parameters
    physics = [(h, True) for h in problem.horizons] if p.physical.any() else []
    joint = [(h, False) for h in problem.horizons] if not p.physical.all() else []
    # With nothing to fit there are still the initial states.
    return physics + joint or [(problem.horizons[-1], True)]


def compile_windows(problem: Problem, windows: Windows) -> Compiled:
    """Residual functions of a set of windows."""
    data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
    return Compiled(problem.setup, problem.parameters, data, problem.huber_width, problem.nlocal)


def _check_start(
    problem: Problem, compiled: Compiled, windows: Windows, theta: np.ndarray, local: np.ndarray
) -> None:
    physical = np.flatnonzero(problem.parameters.physical)
    r, J_t, _ = compiled.jacobian(theta, local, physical, keep=True)
    bad = ~np.isfinite(r).all(1) | ~np.isfinite(J_t).all((1, 2))
    if bad.any():
        i = int(np.argmax(bad))
        raise ProblemError(
            f"The starting model cannot be simulated: {bad.sum()} of {len(windows)} windows turn "
            f"non-finite, first the one at {windows.start[i]:.6g} s of '{windows.recording[i]}' "
            f"({problem.horizons[0]:.3g} s long). Try a smaller dt, implicit damping, or other "
            "starting values."
        )
    # Weights are not asked: of a new network, only the last layer has an effect yet.
    names = [problem.parameters.names[i] for i in physical]
    unused = [n for n, s in zip(names, np.abs(J_t).max((0, 1)), strict=True) if s == 0]
    if unused:
        raise ProblemError(
            f"No residual depends on {', '.join(unused)}. Leave it out, or add a sensor that "
            "feels it."
        )


def _result(
    problem: Problem,
    windows: Windows,
    compiled: Compiled,
    point: Point,
    history: list[Iteration],
    began: float,
    command: str,
    solver: Solver,
    sparsity: SparseGroupLasso | None,
    alone: np.ndarray | None,
    searched: str,
) -> Result:
    p = problem.parameters
    theta = point.theta
    r, J_t, J_l = compiled.jacobian(theta, point.local)
    bounds = problem.bounds_of(theta)
    gradient_ = np.einsum("wmp,wm->p", J_t, r)
    held = ((theta <= p.lower) & (gradient_ >= 0)) | ((theta >= p.upper) & (gradient_ <= 0))
    held |= np.abs(J_t).max((0, 1)) == 0
    info = diagnose.information(r, J_t, J_l, theta, point.local, bounds, held)
    size = np.maximum(np.abs(theta), np.abs(p.start))
    size = np.where(size > 0, size, 1.0)
    weak = diagnose.weak_directions(p.names, theta, size, info, held | ~p.physical)
    fitted = problem.setup_at(theta)
    physics = None if alone is None else problem.setup_at(alone)
    judged = judge.judge(problem, fitted, windows, point.local, physics)
    grafts = summarise(problem, fitted, windows, info.covariance)
    known = np.flatnonzero(p.physical)
    rows = _rows(problem, theta, info, held)
    warnings = judge.warnings(problem, point, info, rows, judged, fitted.simulator.model)
    return Result(
        outcome=point.outcome,
        parameters=rows,
        errors=judged.errors,
        traces=judged.traces,
        replays=judged.replays,
        history=tuple(history),
        covariance=info.covariance[np.ix_(known, known)],
        theta=theta,
        grafts=grafts,
        physics=judged.physics,
        weak=weak,
        warnings=warnings,
        start=problem.simulator,
        simulator=fitted.simulator,
        seconds=time.perf_counter() - began,
        settings=problem.describe()
        | {
            "search": searched,
            "solver": str(solver),
            "windows": len(windows),
            "samples": int(sum(m.sum() for m in windows.mask)),
            "covariance": info.method,
            "sparsity": str(sparsity) if sparsity else "none",
            "residual over noise": float(np.sqrt(info.variance_ratio)),
        },
        command=command,
    )


def _rows(
    problem: Problem, theta: np.ndarray, info: diagnose.Information, held: np.ndarray
) -> tuple[ParameterRow, ...]:
    p, rows = problem.parameters, []
    for i in np.flatnonzero(p.physical):
        name = p.names[i]
        std = float(np.sqrt(info.covariance[i, i])) if not held[i] else float("nan")
        low, high = diagnose.interval(theta[i], std)
        if theta[i] <= p.lower[i] or theta[i] >= p.upper[i]:
            status = "on its bound"
        elif held[i]:
            status = "no effect at the solution"
        elif std > diagnose.WEAK * max(abs(theta[i]), 1e-300):
            status = "hardly determined"
        else:
            status = "ok"
        rows.append(
            ParameterRow(
                name, p.units[i], float(p.start[i]), float(theta[i]), std, low, high, status
            )
        )
    return tuple(rows)
