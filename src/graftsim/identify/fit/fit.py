"""Fitting: a plan of stages, a state that goes through them, and what is known at their end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import ProblemError
from graftsim.identify.evidence import evaluate
from graftsim.identify.evidence.bootstrap import Bootstrap
from graftsim.identify.evidence.certainty import Certainty, certainty
from graftsim.identify.fit.checkpoint import Checkpoint
from graftsim.identify.fit.global_search import Automatic, choose, searched
from graftsim.identify.fit.graft_summary import summarise
from graftsim.identify.fit.plan import Plan
from graftsim.identify.fit.runaway import good_enough, runaways
from graftsim.identify.fit.stages import Journal, Progress, run_stage
from graftsim.identify.fit.state import FitState
from graftsim.identify.pool.pool import Pool
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Result
from graftsim.optim.global_search import GlobalSearch
from graftsim.optim.local_solver import LocalSolver
from graftsim.optim.sparsity import SparseGroupLasso


@one_blas_thread
def fit(
    problem: Problem,
    *,
    local: str | LocalSolver = "auto",
    search: GlobalSearch | Automatic | str | None = None,
    sparsity: SparseGroupLasso | None = None,
    bootstrap: Bootstrap | None = None,
    profiles: Sequence[str] = (),
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    pool: Pool | None = None,
) -> Result:
    """Fit the free parameters of a problem and the weights of its grafts, on growing horizons.

    Physics comes first: with both, the parameters alone are fitted, then all together, so that a
    network starts with what parameters cannot explain, and each weight costs by its prior.

    local: `LevenbergMarquardt(...)` (residuals, structured Jacobian), `LBFGS(...)` or `Adam(...)`,
    or their names in lower case for the defaults; "auto", the default, is the first up to some
    1,500 unknowns and L-BFGS beyond; or a `LocalSolver` of your own. sparsity: a penalty on the
    weights of each input of the grafts that sets whole inputs to exact zero (Levenberg-Marquardt
    only).
    search: `BasinHopping(...)`, `RandomRestarts(...)`, `DifferentialEvolution(...)`, `CMAES(...)`,
    `Archipelago(...)`, or a `GlobalSearch` of your own: from many points within the bounds at once,
    before the fit goes on from the best of them; it replaces the growing horizons. "auto", or
    `Automatic(seed)`: only if a local fit leaves more than noise, then what suits the number of
    parameters; the better one counts.
    bootstrap: refit to resampled windows or recordings, and take the intervals from there.
    profiles: names of parameters whose profile likelihood is wanted, "weak" for all that are weak.
    pool: where search and bootstrap run, on processes or a cluster; their answer does not depend
    on that.
    checkpoint: a file that is written after each iteration and resumed from if it is there and of
    the same problem; beside it, a folder FILE.tasks of what a search has finished.
    progress(iteration, stage, stages) runs after each iteration.

    Raises ProblemError: free parameters on none of which a residual depends; a start that cannot be
    simulated; a checkpoint of another problem; a bootstrap with fewer than two blocks; a search
    over a parameter without bounds that starts at zero.
    """
    if isinstance(search, str):
        if search != Automatic.name:
            raise ProblemError(f"search '{search}': it is 'auto', or such as BasinHopping().")
        search = Automatic()
    chosen = None if isinstance(search, Automatic) else search
    plan = Plan.of(
        problem, local=local, search=chosen, sparsity=sparsity, bootstrap=bootstrap,
        profiles=profiles,
    )  # fmt: skip
    if isinstance(search, Automatic):
        return _automatic(problem, plan, search, checkpoint, progress, pool)
    return _carry_out(problem, plan, checkpoint=checkpoint, progress=progress, pool=pool)


@one_blas_thread
def fit_from(
    problem: Problem,
    theta: np.ndarray,
    *,
    local: str | LocalSolver = "auto",
    zero: np.ndarray | None = None,
    alone: np.ndarray | None = None,
) -> Result:
    """Fit from theta [p], all unknowns together and the last horizon at once.

    zero: [p] which weights of grafts stay zero. alone: [p] the fit of the parameters alone, to
    compare with.
    """
    plan = Plan.onwards(problem, local=local, zero=zero)
    begin = FitState.at(np.array(theta, float), alone=alone)
    return _carry_out(problem, plan, begin=begin)


def _carry_out(
    problem: Problem,
    plan: Plan,
    *,
    begin: FitState | None = None,
    checkpoint: str | Path | None = None,
    progress: Progress | None = None,
    pool: Pool | None = None,
) -> Result:
    """Go through the stages of a plan, from a state to begin with or where a checkpoint stands."""
    journal = Journal(Checkpoint(checkpoint, problem), progress)
    pool = _keeping(pool, checkpoint)
    state = begin or journal.checkpoint.read()
    if state is None:
        state = FitState.at(problem.parameters.start.copy())
        if plan.search is not None:
            state = searched(problem, plan.search, state, pool)
    for _ in plan.stages[state.stage :]:
        state = run_stage(problem, plan, state, journal)
        if state.stage + 1 < len(plan.stages):
            state = state.advanced()
    assert state.part is not None
    known = certainty(
        problem, state.part, state.point, plan.bootstrap, plan.profiles, pool, doubt=plan.doubt
    )
    return _assembled(problem, plan, state, known, journal)


def _automatic(
    problem: Problem,
    plan: Plan,
    search: Automatic,
    checkpoint: str | Path | None,
    progress: Progress | None,
    pool: Pool | None,
) -> Result:
    """A local fit, and one after a search if that leaves more than noise; the better of them."""
    run = partial(_carry_out, problem, progress=progress, pool=pool)
    found = run(plan, checkpoint=checkpoint)
    chosen, why = choose(problem, search.seed)
    if (reason := good_enough(found, search.above)) is not None:
        said = f"auto: not needed, {reason}"
    elif chosen is None:
        said = f"auto: none, {why}"
    else:
        beside = None if checkpoint is None else f"{checkpoint}.search"
        other = run(plan.with_search(chosen), checkpoint=beside)
        costs = [r.history[-1].cost for r in (found, other)]
        said = (
            f"auto: {why}. {other.settings['search']}. Cost {costs[0]:.4g} by the local fit, "
            f"{costs[1]:.4g} after the search"
        )
        seconds = found.seconds + other.seconds
        ran = runaways(found, other)
        found = replace(other if costs[1] < costs[0] else found, seconds=seconds)
        found = replace(found, warnings=(*ran, *found.warnings))
    return replace(found, settings=found.settings | {"search": said})


def _keeping(pool: Pool | None, checkpoint: str | Path | None) -> Pool:
    """The pool of a search; its results are kept beside the checkpoint if nowhere else."""
    given = pool or Pool()
    if checkpoint is None or given.store is not None:
        return given
    return given.keeping(tasks_of(checkpoint))


def tasks_of(checkpoint: str | Path) -> Path:
    """Folder beside a checkpoint for what a search has finished."""
    path = Path(checkpoint)
    return path.with_name(f"{path.name}.tasks")


def _assembled(
    problem: Problem, plan: Plan, state: FitState, known: Certainty, journal: Journal
) -> Result:
    """What is to be reported of a fit that has ended."""
    part, point, info = state.part, state.point, known.info
    assert part is not None and point.outcome is not None
    windows, tally = part.windows, state.tally
    fitted = problem.setup_at(point.theta)
    physics = state.alone if problem.grafted else None
    judged = evaluate.judge(problem, point.theta, windows, point.local, physics)
    warnings = evaluate.warnings(problem, point, known, judged, fitted.simulator.model)
    physical = np.flatnonzero(problem.parameters.physical)
    drawn = known.resampled
    settings = {
        "search": state.searched,
        "solver": str(plan.solver),
        "windows": len(windows),
        "windows left out": part.total - len(windows),
        "samples": int(sum(m.sum() for m in windows.mask)),
        "covariance": str(drawn) if drawn else info.method,
        "sparsity": str(plan.sparsity) if plan.sparsity else "none",
        "residual over noise": float(np.sqrt(info.variance_ratio)),
    }
    counted = {"simulations": str(tally)} if tally.simulated else {}
    return Result(
        outcome=point.outcome,
        parameters=known.rows,
        errors=judged.errors,
        traces=judged.traces,
        replays=judged.replays,
        history=state.history,
        covariance=info.covariance[np.ix_(physical, physical)],
        theta=point.theta,
        grafts=summarise(problem, fitted, windows, info.covariance),
        physics=judged.physics,
        weak=known.weak,
        warnings=(*part.words(), *tally.words(), *warnings),
        lack=info.lack,
        forces=known.forces,
        profiles=known.profiles,
        withheld=known.withheld,
        replicas=drawn.theta[:, physical] if drawn else np.zeros((0, len(physical))),
        start=problem.setup.simulator,
        simulator=fitted.simulator,
        seconds=journal.seconds,
        settings=problem.describe() | counted | settings,
    )
