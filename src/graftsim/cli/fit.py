"""`graftsim fit`."""

from __future__ import annotations

import json
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console

from graftsim.cli import setup
from graftsim.cli.fit_options import FitOptions
from graftsim.cli.options import assignments, number
from graftsim.cli.progress import FitProgress
from graftsim.cli.tables import print_result, terminal
from graftsim.compilation import cache_compilations
from graftsim.engine import Simulator
from graftsim.errors import GraftsimWarning
from graftsim.identify import Problem, Result, fit
from graftsim.identify.fit import SOLVERS
from graftsim.io.logs import read_recordings
from graftsim.io.recording import Recording


def run(options: FitOptions, tables: Mapping[str, Any], args: Sequence[str]) -> int:
    """Fit, print the table, write the report; 1 when the solver did not converge."""
    cache_compilations()
    console = terminal(stderr=True, quiet=options.quiet)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraftsimWarning)
        problem = _problem(options, tables, console)
    for warning in caught:
        console.print(f"warning: {warning.message}", style="yellow", soft_wrap=True)
    result = _fit(options, problem, console, shlex.join(["graftsim", "fit", *args]))
    if options.json:
        print(json.dumps(result.as_json()))
    else:
        print_result(result, terminal(quiet=options.quiet))
    console.print(f"report: {Path(options.out) / 'report.html'}", soft_wrap=True)
    sys.stdout.flush()
    return 0 if result.outcome == "converged" else 1


def _problem(options: FitOptions, tables: Mapping[str, Any], console: Console) -> Problem:
    """Read everything, and pose the problem."""
    model = setup.load_model(
        options.robot, options.simulation.base, options.simulation.repair_inertia
    )
    start = dict(tables.get("start", {})) | assignments(options.simulation.start, "--start")
    model = setup.set_values(model, start)
    data, columns = options.data, setup.columns_from(options.data.columns, tables.get("columns"))
    recordings = read_recordings(options.logs, columns, missing=data.missing)
    heldout: list[Recording] = []
    if data.heldout:
        heldout = read_recordings(data.heldout, columns, missing=data.missing)
    console.print(f"{model}", soft_wrap=True)
    for recording in (*recordings, *heldout):
        summary = f"{recording.name}: {recording.duration:.4g} s, {', '.join(recording)}"
        console.print(summary, soft_wrap=True)
    chosen = options.simulation
    dt = chosen.dt or setup.default_dt(recordings)
    simulator = Simulator(
        model,
        dt,
        integrator=setup.INTEGRATORS[chosen.integrator](),
        substeps=chosen.substeps or setup.default_substeps(dt, chosen.integrator),
    )
    noise = dict(tables.get("noise", {})) | {
        k: number(v, f"noise of {k}") for k, v in assignments(data.noise, "--noise").items()
    }
    return Problem(
        simulator,
        recordings,
        setup.free_from(options.free, tables.get("free"), model),
        sensors=tables.get("sensors") or data.sensors or None,
        noise=noise,
        horizon=options.solver.horizon,
        growth=options.solver.growth,
        initial=options.solver.initial,
        holdout=data.holdout,
        heldout=heldout,
        loss=options.solver.loss,
    )


def _fit(options: FitOptions, problem: Problem, console: Console, command: str) -> Result:
    """Run the solver under a progress bar, and write the report."""
    checkpoint = Path(options.out) / "checkpoint.npz"
    if not options.resume:
        checkpoint.unlink(missing_ok=True)
    with FitProgress(console, problem.horizons, options.solver.iterations) as bar:
        result = fit(
            problem,
            local=replace(SOLVERS[options.solver.solver], iterations=options.solver.iterations),
            checkpoint=checkpoint,
            progress=bar.update,
            command=command,
        )
        bar.say("writing the report")
        result.report(options.out)
    return result
