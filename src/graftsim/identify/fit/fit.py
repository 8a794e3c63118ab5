"""Fitting: growing horizons, a local solver, judgement on what was held out, checkpoints."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import GraftsimWarning, ProblemError, suggest
from graftsim.identify.evidence import evaluate
from graftsim.identify.evidence.bootstrap import Bootstrap, draw_weights
from graftsim.identify.evidence.certainty import Certainty, certainty, check_names
from graftsim.identify.fit.global_search import (
    Automatic,
    Search,
    choose,
    search as search_globally,
    spread,
    summary,
)
from graftsim.identify.fit.graft_summary import summarise
from graftsim.identify.pool.checkpoint import Checkpoint
from graftsim.identify.pool.pool import Pool
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Iteration, Result
from graftsim.identify.runs import gradient
from graftsim.identify.runs.failures import Part, Tally, whole
from graftsim.identify.runs.local_solve import solve
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


@one_blas_thread
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
    search: Search | Automatic | str | None = None,
    bootstrap: Bootstrap | None = None,
    profiles: Sequence[str] = (),
    pool: Pool | None = None,
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
    search: `BasinHopping(...)`, `RandomRestarts(...)`, `DifferentialEvolution(...)`, `CMAES(...)`,
    `Archipelago(...)`: from many points within the bounds at once, before the fit goes on from the
    best of them; it replaces the growing horizons. "auto", or `Automatic(seed)`: only if a local
    fit leaves more than noise, then what suits the number of parameters; the better one counts.
    bootstrap: refit to resampled windows or recordings, and take the intervals from there.
    profiles: names of parameters whose profile likelihood is wanted, "weak" for all that are weak.
    pool: where search and bootstrap run, on processes or a cluster; their answer does not depend
    on that.
    checkpoint: a file that is written after each iteration and resumed from if it is there and of
    the same problem; beside it, a folder FILE.tasks of what a search has finished.
    progress(iteration, stage, stages) runs after each iteration.

    Raises ProblemError: a parameter on which no residual depends, named; a start that cannot be
    simulated; a checkpoint of another problem; a bootstrap with fewer than two blocks.
    """
    if isinstance(search, str):
        if search != "auto":
            raise ProblemError(f"search '{search}': it is 'auto', or such as BasinHopping().")
        search = Automatic()
    if isinstance(search, Automatic):
        return _automatic(
            problem, search, checkpoint, local=local, progress=progress, sparsity=sparsity,
            start=start, zero=zero, alone=alone, bootstrap=bootstrap, profiles=profiles, pool=pool,
            command=command,
        )  # fmt: skip
    solver = choose_solver(local, problem, sparsity)
    check_names(problem, profiles)
    if bootstrap is not None:
        draw_weights(problem.windows(problem.train, problem.horizons[-1]).recording, bootstrap)
    began = time.perf_counter()
    damping = solver.damping if isinstance(solver, LevenbergMarquardt) else 0.0
    saved = Checkpoint(checkpoint, problem)
    theta = problem.parameters.start.copy() if start is None else np.array(start, float)
    history: list[Iteration] = list(saved.history)
    part: Part | None = None
    point = Point(theta, np.zeros((0, 0)), np.inf, damping)
    stages = stages_of(problem) if start is None else [(problem.horizons[-1], False)]
    searched = "none"
    if search is not None:
        # A long horizon is rough, which is what searches are for.
        stages = [s for s in stages if s[0] == problem.horizons[-1]]
        part = whole(problem, problem.horizons[-1], shared=True)
        searched = f"{type(search).__name__}: done before the checkpoint"
        if saved.point is None:
            nothing = np.zeros((len(part.windows), problem.nlocal))
            part = part.without(part.finite(theta, nothing)) or part
            tally = Tally()
            solve_all = spread(
                problem, search, _pool(pool, checkpoint), part.horizon, part.chosen, tally
            )
            found = search_globally(problem, part.compiled, theta[None], search, solve_all)
            searched = f"{summary(search, found)}; {tally}"
            if np.isfinite(found.cost[0]):
                theta = found.theta[0]
    for stage, (horizon, physics) in enumerate(stages):
        if stage < saved.stage:
            continue
        if part is None or (stage > 0 and horizon != stages[stage - 1][0]):
            part = whole(problem, horizon, shared=bootstrap is not None)
        both = not physics and problem.parameters.physical.any()
        if both and saved.alone is None and start is None:
            saved.alone = theta
        if stage == saved.stage and saved.point is not None:
            point, part = saved.point, part.only(saved.kept)
        else:
            if stage == 0:
                part, theta = _check_start(problem, part, theta)
            resting = np.zeros((len(part.windows), problem.nlocal))
            point = Point(theta, resting, np.inf, damping)
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
            while True:
                saved.kept = part.chosen
                if isinstance(solver, LevenbergMarquardt):
                    point = solve(
                        part.compiled, point, bounds, solver, after, saved.tally, part.allowed
                    )
                else:
                    point = gradient.minimise(problem, part.windows, point, bounds, solver, after)
                ended = point.outcome != "non-finite"
                if ended and not saved.tally.lost:
                    break
                # Windows that are lost where a fit ends have no part in its judgement.
                finite = part.finite(point.theta, point.local)
                smaller = part.without(finite)
                if smaller is None:
                    break
                part, saved.kept = smaller, smaller.chosen
                point = replace(point, local=point.local[finite])
                if ended:
                    break
                point = replace(point, cost=np.inf, outcome="")
        theta = point.theta
        saved.write(stage, point, history)
    assert part is not None
    alone = saved.alone if start is None else alone
    alone = alone if problem.grafted else None
    kept = _pool(pool, checkpoint)
    known = certainty(problem, part, point, bootstrap, profiles, kept)
    return _result(
        problem, part, point, history, began, command, solver, sparsity, alone, searched,
        saved.tally, known,
    )  # fmt: skip


def _automatic(
    problem: Problem, search: Automatic, checkpoint: str | Path | None, **options: Any
) -> Result:
    """A local fit, and one after a search if that leaves more than noise; the better of them."""
    found = fit(problem, checkpoint=checkpoint, **options)
    chosen, why = choose(problem, search.seed)
    if found.lack is not None and found.lack.verdict != "clear":
        said = "auto: not needed, the local fit leaves hardly more than noise"
    elif chosen is None:
        said = f"auto: none, {why}"
    else:
        beside = None if checkpoint is None else f"{checkpoint}.search"
        other = fit(problem, checkpoint=beside, search=chosen, **options)
        costs = [r.history[-1].cost for r in (found, other)]
        said = (
            f"auto: {why}. {other.settings['search']}. Cost {costs[0]:.4g} by the local fit, "
            f"{costs[1]:.4g} after the search"
        )
        seconds = found.seconds + other.seconds
        found = replace(other if costs[1] < costs[0] else found, seconds=seconds)
    return replace(found, settings=found.settings | {"search": said})


def _pool(pool: Pool | None, checkpoint: str | Path | None) -> Pool:
    """The pool of a search; its results are kept beside the checkpoint if nowhere else."""
    given = pool or Pool()
    if checkpoint is None or given.store is not None:
        return given
    return given.keeping(tasks_of(checkpoint))


def tasks_of(checkpoint: str | Path) -> Path:
    """Folder beside a checkpoint for what a search has finished."""
    path = Path(checkpoint)
    return path.with_name(f"{path.name}.tasks")


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


def _check_start(problem: Problem, part: Part, theta: np.ndarray) -> tuple[Part, np.ndarray]:
    """The windows that the start can simulate, and a start at which every parameter has an effect.

    Some numbers have none on their bound: a bounce of no height depends on restitution in second
    order only. They start a little inside. ProblemError: many windows that cannot be simulated; a
    parameter without effect.
    """
    resting = np.zeros((len(part.windows), problem.nlocal))
    finite = part.finite(theta, resting)
    if not finite.all() and (smaller := part.without(finite)) is not None:
        part, resting = smaller, resting[finite]
        finite = part.finite(theta, resting)
    if not finite.all():
        i, windows = int(np.argmin(finite)), part.windows
        raise ProblemError(
            f"The starting model cannot be simulated: {np.count_nonzero(~finite)} of "
            f"{len(windows)} windows turn non-finite, first the one at {windows.start[i]:.6g} s of "
            f"'{windows.recording[i]}' ({part.horizon:.3g} s long). Try a smaller dt, implicit "
            "damping, or other starting values."
        )
    unused = _without_effect(part, problem, theta, resting)
    if unused.any():
        p = problem.parameters
        low = np.where(np.isfinite(p.lower), p.lower, theta)
        inside = low + _INSIDE * np.minimum(p.upper - low, np.maximum(1.0, abs(low)))
        moved = np.where(unused & (theta <= p.lower), inside, theta)
        if (moved != theta).any() and part.finite(moved, resting).all():
            still = _without_effect(part, problem, moved, resting)
            moved = np.where(still, theta, moved)
            names = [n for n, x, y in zip(p.names, theta, moved, strict=True) if x != y]
            theta, unused = moved, still
            if names:
                warnings.warn(
                    f"{', '.join(names)} {'starts' if len(names) == 1 else 'start'} a little "
                    "inside: on the bound no residual depends on it.",
                    GraftsimWarning,
                    stacklevel=3,
                )
    if unused.any():
        names = [n for n, none in zip(problem.parameters.names, unused, strict=True) if none]
        raise ProblemError(
            f"No residual depends on {', '.join(names)}. Leave it out, or add a sensor that "
            "feels it."
        )
    return part, theta


# How far inside its bounds a number starts that has no effect on the bound, as a share.
_INSIDE = 0.1


def _without_effect(
    part: Part, problem: Problem, theta: np.ndarray, resting: np.ndarray
) -> np.ndarray:
    """Mask of the physical parameters on which no residual depends.

    Weights are not asked: of a new network, only the last layer has an effect yet.
    """
    physical = np.flatnonzero(problem.parameters.physical)
    J_t = part.compiled.jacobian(theta, resting, physical, keep=True)[1]
    unused = np.zeros(len(theta), bool)
    unused[physical] = ~np.any(J_t, (0, 1))
    return unused


def _result(
    problem: Problem,
    part: Part,
    point: Point,
    history: list[Iteration],
    began: float,
    command: str,
    solver: Solver,
    sparsity: SparseGroupLasso | None,
    alone: np.ndarray | None,
    searched: str,
    tally: Tally,
    known: Certainty,
) -> Result:
    windows, info = part.windows, known.info
    theta = point.theta
    fitted = problem.setup_at(theta)
    physics = None if alone is None else problem.setup_at(alone)
    judged = evaluate.judge(problem, fitted, windows, point.local, physics)
    warnings = evaluate.warnings(problem, point, known, judged, fitted.simulator.model)
    warnings = (*part.words(), *tally.words(), *warnings)
    counted = {"simulations": str(tally)} if tally.simulated else {}
    physical = np.flatnonzero(problem.parameters.physical)
    drawn = known.resampled
    return Result(
        outcome=point.outcome,
        parameters=known.rows,
        errors=judged.errors,
        traces=judged.traces,
        replays=judged.replays,
        history=tuple(history),
        covariance=info.covariance[np.ix_(physical, physical)],
        theta=theta,
        grafts=summarise(problem, fitted, windows, info.covariance),
        physics=judged.physics,
        weak=known.weak,
        warnings=warnings,
        lack=info.lack,
        profiles=known.profiles,
        replicas=drawn.theta[:, physical] if drawn else np.zeros((0, len(physical))),
        start=problem.simulator,
        simulator=fitted.simulator,
        seconds=time.perf_counter() - began,
        settings=problem.describe()
        | counted
        | {
            "search": searched,
            "solver": str(solver),
            "windows": len(windows),
            "windows left out": part.total - len(windows),
            "samples": int(sum(m.sum() for m in windows.mask)),
            "covariance": str(drawn) if drawn else info.method,
            "sparsity": str(sparsity) if sparsity else "none",
            "residual over noise": float(np.sqrt(info.variance_ratio)),
        },
        command=command,
    )
