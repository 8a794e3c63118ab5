"""Fitting: growing horizons, a local solver, judgement on what was held out, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify import diagnose, gradient, judge
from graftsim.identify.checkpoint import Checkpoint
from graftsim.identify.problem import Problem
from graftsim.identify.residuals import Compiled, as_data, compile_residuals
from graftsim.identify.result import Iteration, ParameterRow, Result
from graftsim.identify.windows import Windows
from graftsim.optim.least_squares import (
    Bounded,
    LevenbergMarquardt,
    Point,
    levenberg_marquardt,
)

LOCAL_SOLVERS = ("levenberg_marquardt", "lbfgs", "adam")

# Weak beliefs about initial states, only there to keep unmeasured ones from running away.
LOCAL_STD_POSITION = 10.0
LOCAL_STD_VELOCITY = 1e3

Progress = Callable[[Iteration, int, int], None]


def fit(
    problem: Problem,
    *,
    local: str = "levenberg_marquardt",
    options: LevenbergMarquardt | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    command: str = "",
) -> Result:
    """Fit the free parameters of a problem, on growing horizons.

    local: "levenberg_marquardt" (residuals, structured Jacobian), "lbfgs" or "adam". checkpoint: a
    file that is written after each iteration and resumed from if it is there and of the same
    problem. progress(iteration, stage, stages) runs after each iteration.

    Raises ProblemError: a parameter on which no residual depends, named; a start that cannot be
    simulated; a checkpoint of another problem.
    """
    if local not in LOCAL_SOLVERS:
        raise ProblemError(f"local '{local}' must be one of {', '.join(LOCAL_SOLVERS)}.")
    began = time.perf_counter()
    options = options or LevenbergMarquardt()
    saved = Checkpoint(checkpoint, problem)
    theta = problem.parameters.start.copy()
    history: list[Iteration] = list(saved.history)
    stage_windows: Windows | None = None
    compiled: Compiled | None = None
    point = Point(theta, np.zeros((0, 0)), np.inf, options.damping)
    for stage, horizon in enumerate(problem.horizons):
        stage_windows = problem.windows(problem.train, horizon)
        compiled = compile_windows(problem, stage_windows)
        start = np.zeros((len(stage_windows), problem.nlocal))
        point = Point(theta, start, np.inf, options.damping)
        if saved.stage > stage:
            continue
        if saved.stage == stage and saved.point is not None:
            point = replace(saved.point, outcome="")
        elif stage == 0:
            _check_start(problem, compiled, stage_windows, theta, start)
        bounds = make_bounds(problem)

        def after(p: Point, size: float, stage: int = stage, horizon: float = horizon) -> None:
            seconds = time.perf_counter() - began
            entry = Iteration(stage, horizon, p.iteration, p.cost, size, p.damping, seconds)
            history.append(entry)
            saved.write(stage, p, history)
            if progress is not None:
                progress(entry, stage, len(problem.horizons))

        if local == "levenberg_marquardt":
            point = levenberg_marquardt(
                compiled.residual, compiled.jacobian, point, bounds, options, after
            )
        else:
            point = gradient.minimise(
                local, problem, stage_windows, point, bounds, options.iterations, after
            )
        theta = point.theta
        saved.write(stage + 1, None, history, theta)
    if saved.theta is not None and saved.stage >= len(problem.horizons):
        theta, point = saved.theta, replace(point, theta=saved.theta, outcome="converged")
    assert stage_windows is not None and compiled is not None
    return _result(problem, stage_windows, compiled, point, history, began, command, local)


def make_bounds(problem: Problem) -> Bounded:
    """Bounds and priors for the solver."""
    nv = problem.simulator.model.nv
    std = np.repeat([LOCAL_STD_POSITION, LOCAL_STD_VELOCITY], nv)
    p = problem.parameters
    return Bounded(p.lower, p.upper, p.prior_mean, p.prior_std, std[: problem.nlocal])


def compile_windows(problem: Problem, windows: Windows) -> Compiled:
    """Residual functions of a set of windows."""
    data = as_data(windows, problem.sigma, problem.simulator.dt.dtype)
    return compile_residuals(problem.setup, problem.parameters, data, problem.huber_width)


def _check_start(
    problem: Problem, compiled: Compiled, windows: Windows, theta: np.ndarray, local: np.ndarray
) -> None:
    r, J_t, _ = compiled.jacobian(theta, local)
    bad = ~np.isfinite(r).all(1) | ~np.isfinite(J_t).all((1, 2))
    if bad.any():
        i = int(np.argmax(bad))
        raise ProblemError(
            f"The starting model cannot be simulated: {bad.sum()} of {len(windows)} windows turn "
            f"non-finite, first the one at {windows.start[i]:.6g} s of '{windows.recording[i]}' "
            f"({problem.horizons[0]:.3g} s long). Try a smaller dt, implicit damping, or other "
            "starting values."
        )
    sizes = np.abs(J_t).max((0, 1))
    unused = [n for n, s in zip(problem.parameters.names, sizes, strict=True) if s == 0]
    if unused:
        raise ProblemError(
            f"No residual depends on {', '.join(unused)}. Leave it out, or add a sensor that feels it."
        )


def _result(
    problem: Problem,
    windows: Windows,
    compiled: Compiled,
    point: Point,
    history: list[Iteration],
    began: float,
    command: str,
    local: str,
) -> Result:
    p = problem.parameters
    theta = point.theta
    r, J_t, J_l = compiled.jacobian(theta, point.local)
    bounds = make_bounds(problem)
    gradient_ = np.einsum("wmp,wm->p", J_t, r)
    held = ((theta <= p.lower) & (gradient_ >= 0)) | ((theta >= p.upper) & (gradient_ <= 0))
    held |= np.abs(J_t).max((0, 1)) == 0
    info = diagnose.information(r, J_t, J_l, theta, point.local, bounds, held)
    size = np.maximum(np.abs(theta), np.abs(p.start))
    size = np.where(size > 0, size, 1.0)
    weak = diagnose.weak_directions(p.names, theta, size, info, held)
    fitted = p.apply(problem.setup, jnp.asarray(theta, problem.simulator.dt.dtype))
    judged = judge.judge(problem, fitted, windows, point.local)
    rows = _rows(problem, theta, info, held)
    warnings = judge.warnings(problem, point, info, rows, judged, r)
    return Result(
        outcome=point.outcome,
        parameters=rows,
        errors=judged.errors,
        traces=judged.traces,
        replays=judged.replays,
        history=tuple(history),
        covariance=info.covariance,
        weak=weak,
        warnings=warnings,
        start=problem.simulator,
        simulator=fitted.simulator,
        seconds=time.perf_counter() - began,
        settings=problem.describe()
        | {
            "solver": local,
            "windows": len(windows),
            "samples": int(sum(m.sum() for m in windows.mask)),
            "covariance": info.method,
            "residual over noise": float(np.sqrt(info.variance_ratio)),
        },
        command=command,
    )


def _rows(
    problem: Problem, theta: np.ndarray, info: diagnose.Information, held: np.ndarray
) -> tuple[ParameterRow, ...]:
    p, rows = problem.parameters, []
    for i, name in enumerate(p.names):
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


def settings_of(problem: Problem) -> dict[str, Any]:
    """What identifies a problem for a checkpoint."""
    return {"names": list(problem.parameters.names), **problem.describe()}
