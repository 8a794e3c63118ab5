"""`graftsim fit`."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from graftsim.check import Finding, check
from graftsim.cli import inputs, inverse, reports, setup
from graftsim.cli.check import before_fit, robot_of
from graftsim.cli.effort import as_current
from graftsim.cli.finer import finer_problem
from graftsim.cli.fit_options import ONE_STEP, ROLLOUT, FitOptions, SolverOptions
from graftsim.cli.grafts import blueprint_from
from graftsim.cli.halves import with_halves
from graftsim.cli.options import assignments, number
from graftsim.cli.pools import pool_of
from graftsim.cli.tables import print_result, terminal
from graftsim.compilation import cache_compilations
from graftsim.errors import ProblemError
from graftsim.identify import Automatic, Bootstrap, Problem, Result, SparseGroupLasso, fit
from graftsim.identify.evidence.certainty import FAILURES
from graftsim.identify.evidence.landscape import landscape, landscape_box
from graftsim.identify.fit.fit import tasks_of
from graftsim.identify.fit.plan import Plan
from graftsim.identify.fit.runaway import many_minima
from graftsim.identify.problem.domains import Domain
from graftsim.identify.problem.problem import MEASURED, SAMPLE
from graftsim.optim.global_search import GlobalSearch
from graftsim.optim.strategies import GLOBAL_SEARCHES
from graftsim.report import check_report
from graftsim.report.progress import FitProgress
from graftsim.report.write import facts

# A search that nobody asked for needs residuals of so many times the noise, or a number that ran.
GROSS = 3.0


def run(options: FitOptions, tables: Mapping[str, Any], args: Sequence[str]) -> int:
    """Fit, print the table, write the report; 1 when the solver did not converge."""
    cache_compilations()
    console = terminal(stderr=True, quiet=options.quiet)
    check_report(options.out)
    with inputs.shown_warnings(console):
        read, findings = _read(options, tables, console)
        if options.method != ROLLOUT:
            found = inverse.run(options, read, console)
            if options.method == inverse.NAME:
                return 0
            read = read.of_model(found.model)
        problem = _problem(options, tables, read)
    with inputs.shown_warnings(console):
        command = shlex.join(["graftsim", "fit", *args])
        result = _fit(options, problem, console, command, "checkpoint.npz")
        again = None
        if options.simulation.substeps is None:
            again = finer_problem(problem, result)
        if again is not None:
            console.print(again[1], soft_wrap=True)
            result = _fit(options, again[0], console, command, "checkpoint-finer.npz")
        if options.certainty.halves:
            problem = problem if again is None else again[0]
            result = with_halves(problem, result, console)
    if options.json:
        print(json.dumps(facts(result, findings)))
    else:
        print_result(result, terminal(quiet=options.quiet))
    written = reports.write(result, options.out, console, findings)
    sys.stdout.flush()
    return 0 if written and result.outcome == "converged" else 1


def _read(
    options: FitOptions, tables: Mapping[str, Any], console: Console
) -> tuple[inputs.Inputs, list[Finding]]:
    """Read everything, and check the recordings."""
    read = inputs.read(options, tables, console, checked=True)
    findings = check(robot_of(read.simulator, options.effort), [*read.recordings, *read.heldout])
    before_fit(findings, console, stop=not options.no_check)
    return read, findings


def _problem(options: FitOptions, tables: Mapping[str, Any], read: inputs.Inputs) -> Problem:
    """Pose the problem."""
    networks, solver = options.networks, options.solver
    blueprint = blueprint_from(networks.graft, tables.get("graft"), networks.hidden)
    if networks.sparsity < 0:
        raise ProblemError(f"--sparsity must not be negative, got {networks.sparsity}.")
    if networks.sparsity and blueprint is None:
        raise ProblemError("--sparsity is a cost of the weights of grafts: name some by --graft.")
    more: dict[str, Domain] = {}
    if options.effort == "current":
        read, more = as_current(read)
    simulator = read.simulator if blueprint is None else read.simulator.graft(blueprint)
    free = setup.free_from(options.free, tables.get("free"), simulator.model)
    return Problem(
        simulator,
        read.recordings,
        free | setup.not_named(more, free),
        nuisances=_nuisances(options.certainty.nuisances, tables.get("nuisances", {})),
        **_comparison(solver),
        **read.options,
    )


def _nuisances(given: Sequence[str], table: Mapping[str, Any]) -> dict[str, float]:
    """Sizes of what is not free, by selector."""
    sizes = dict(table) | assignments(given, "--nuisances")
    return {text: number(size, f"size of {text}") for text, size in sizes.items()}


def _comparison(solver: SolverOptions) -> dict[str, Any]:
    """Options of `Problem` on windows and loss; one_step is short for two of them."""
    if solver.loss == ONE_STEP:
        return {"horizon": SAMPLE, "initial": MEASURED}
    chosen = {"horizon": solver.horizon, "growth": solver.growth, "initial": solver.initial}
    return chosen | {"loss": solver.loss}


def _fit(
    options: FitOptions, problem: Problem, console: Console, command: str, kept: str
) -> Result:
    """Run the solver under a progress bar, after all that can be checked without a simulation.

    kept: name of the checkpoint.
    """
    checkpoint = Path(options.out) / kept
    sparsity = options.networks.sparsity
    sure = options.certainty
    resample = _evidence(options, problem)
    search = _search(options.solver, problem)
    spread = options.solver.workers or options.solver.cluster
    if search is None and resample is None and spread:
        console.print(
            "note: only a search and a bootstrap are spread over workers; see --search.",
            soft_wrap=True,
        )
    penalty = SparseGroupLasso(l1=sparsity) if sparsity else None
    plan = Plan.of(
        problem,
        local=options.solver.solver,
        search=None if isinstance(search, Automatic) else search,
        sparsity=penalty,
        bootstrap=resample,
        profiles=sure.profile,
    )
    bar = FitProgress(console, options.solver.iterations)
    with bar, pool_of(options.solver.workers, options.solver.cluster, bar.tasks) as pool:
        if not options.resume:
            checkpoint.unlink(missing_ok=True)
            Path(f"{checkpoint}.search").unlink(missing_ok=True)
            for folder in (tasks_of(checkpoint), tasks_of(f"{checkpoint}.search")):
                shutil.rmtree(folder, ignore_errors=True)
        if search is not None:
            bar.say("searching")
        result = fit(
            problem,
            local=replace(plan.solver, iterations=options.solver.iterations),
            checkpoint=checkpoint,
            progress=bar,
            sparsity=penalty,
            search=search,
            bootstrap=resample,
            profiles=sure.profile,
            pool=pool,
        )
        result = replace(result, command=command)
        if sure.landscape:
            bar.say("drawing the landscape")
            result = _with_landscape(problem, result, *sure.landscape)
    return result


def _evidence(options: FitOptions, problem: Problem) -> Bootstrap | None:
    """The bootstrap that is asked for; ProblemError: a landscape that this problem cannot give."""
    sure = options.certainty
    if sure.landscape:
        if len(sure.landscape) != 2:
            raise ProblemError(f"--landscape takes two parameters, got {len(sure.landscape)}.")
        landscape_box(problem, *sure.landscape)
    if not sure.bootstrap:
        return None
    return Bootstrap(sure.bootstrap, sure.bootstrap_by, options.solver.seed)


def _with_landscape(problem: Problem, result: Result, x: str, y: str) -> Result:
    """The result with the cost over two parameters, or with a warning where that fails."""
    try:
        return replace(result, landscape=landscape(problem, x, y, theta=result.theta))
    except FAILURES as error:
        said = f"The landscape over {x} and {y} failed: {error}"
        return replace(result, warnings=(said, *result.warnings))


def _search(options: SolverOptions, problem: Problem) -> GlobalSearch | Automatic | None:
    """The search that `--search`, `--seed` and `--starts` ask for, or that the problem needs."""
    name, starts = options.search, options.starts
    if name is None and starts is None and many_minima(problem.parameters.names):
        return Automatic(options.seed, above=GROSS)
    if name in (None, "none"):
        return None
    if name == Automatic.name:
        if starts is not None:
            raise ProblemError("--starts goes with a search that is named, not with auto.")
        return Automatic(options.seed)
    search = replace(GLOBAL_SEARCHES[name](), seed=options.seed)
    if starts is None:
        return search
    if starts < 1:
        raise ProblemError(f"--starts must be 1 or more, got {starts}.")
    return search.with_points(starts)
