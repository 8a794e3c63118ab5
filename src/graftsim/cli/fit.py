"""`graftsim fit`."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path

from graftsim.cli.options import assignments, number, parse_fit


def run(args: Sequence[str]) -> int:
    """Fit, print the table, write the report; 1 when the solver did not converge."""
    options, tables = parse_fit(args)
    # Heavy imports only after the flags are known to be right.
    from rich.console import Console

    from graftsim.cli import setup
    from graftsim.errors import GraftsimWarning
    from graftsim.identify import LevenbergMarquardt, Problem, fit
    from graftsim.io.logs import read_recordings

    setup.cache_compilations()
    console = Console(stderr=True, quiet=options.quiet, highlight=False, markup=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraftsimWarning)
        model = setup.load_model(options.robot, options.base, options.repair_inertia)
        start = dict(tables.get("start", {})) | assignments(options.start, "--start")
        model = setup.set_values(model, start)
        columns = setup.columns_from(options.columns, tables.get("columns"))
        recordings = read_recordings(options.logs, columns, missing=options.missing)
        heldout = (
            read_recordings(options.heldout, columns, missing=options.missing)
            if options.heldout
            else []
        )
        console.print(f"{model}")
        for recording in (*recordings, *heldout):
            console.print(f"{recording.name}: {recording.duration:.4g} s, {', '.join(recording)}")
        dt = options.dt or setup.default_dt(recordings)
        from graftsim.engine import Simulator

        integrator = setup.INTEGRATORS[options.integrator]()
        simulator = Simulator(model, dt, integrator=integrator, substeps=options.substeps)
        noise = {
            k: number(v, f"noise of {k}") if isinstance(v, str) else v
            for k, v in (
                dict(tables.get("noise", {})) | assignments(options.noise, "--noise")
            ).items()
        }
        problem = Problem(
            simulator,
            recordings,
            setup.free_from(options.free, tables.get("free"), model),
            sensors=tables.get("sensors"),
            noise=noise,
            horizon=options.horizon,
            growth=options.growth,
            initial=options.initial,
            holdout=options.holdout,
            heldout=heldout,
            loss=options.loss,
        )
    for warning in caught:
        console.print(f"warning: {warning.message}", style="yellow", markup=False)
    out = Path(options.out)
    checkpoint = out / "checkpoint.npz"
    if checkpoint.exists() and not options.resume:
        checkpoint.unlink()
    from graftsim.cli.progress import FitProgress

    with FitProgress(console, problem.horizons, options.iterations) as bar:
        result = fit(
            problem,
            local=options.solver,
            options=LevenbergMarquardt(iterations=options.iterations),
            checkpoint=checkpoint,
            progress=bar.update,
            command=setup.command_line(options, args),
        )
        bar.say("writing the report")
        page = result.report(out)
    if options.json:
        print(json.dumps(result.as_json()))
    else:
        from graftsim.cli.tables import print_result

        print_result(result, Console(quiet=options.quiet, highlight=False, markup=False))
        console.print(f"report: {page}")
    sys.stdout.flush()
    return 0 if result.outcome == "converged" else 1
