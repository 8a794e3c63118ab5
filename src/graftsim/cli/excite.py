"""`graftsim excite`."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graftsim.cli import inputs, setup
from graftsim.cli.excite_options import ExciteOptions
from graftsim.cli.options import TouchOptions, assignments, number
from graftsim.cli.robot import load_for, say
from graftsim.cli.small_files import read_small
from graftsim.cli.tables import table_of, terminal
from graftsim.compilation import cache_compilations
from graftsim.engine import Simulator
from graftsim.errors import FileError
from graftsim.identify.experiment.excite import Excitation, FourierSearch, excite
from graftsim.io.logs.write import write_csv
from graftsim.strategies import INTEGRATORS, find
from graftsim.viewer.files import check_file

# Step of the plan where none is given (s).
DT = 0.005
# Beyond e to this power a comparison says nothing.
TELLS = 20.0


def run(options: ExciteOptions) -> int:
    """Plan, write the log, and say what it would teach."""
    cache_compilations()
    console = terminal(stderr=True)
    check_file(options.out)
    simulation = options.simulation
    values = assignments(simulation.start, "--start")
    model = load_for(options.robot, simulation, TouchOptions(), values)
    say(model, console)
    model = setup.set_values(model, values)
    dt = simulation.dt or DT
    setup.steps_of(options.seconds, dt)
    simulator = Simulator(
        model,
        dt,
        integrator=find(INTEGRATORS[simulation.integrator])(),
        substeps=simulation.substeps or setup.default_substeps(dt, simulation.integrator),
    )
    with inputs.shown_warnings(console):
        found = excite(
            simulator,
            setup.free_from(options.free, None, model),
            seconds=options.seconds,
            noise=options.noise,
            velocity=_velocity(options.velocity),
            known=_known(options.after),
            nuisances=_numbers(options.nuisances, "--nuisances"),
            search=FourierSearch(
                options.harmonics,
                options.generations,
                options.seed,
                middle=_numbers(options.middle, "--middle"),
            ),
        )
    write_csv(found.plan, options.out)
    if options.json:
        print(json.dumps(_plain(found)))
    else:
        _print(found, options.out)
    return 0


def _known(path: str | None) -> dict[str, float]:
    """Standard deviations by name of an earlier fit."""
    if path is None:
        return {}
    try:
        facts = json.loads(read_small(path))
        rows = facts["parameters"]
        return {r["name"]: r["std"] for r in rows if r["std"] is not None}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FileError(f"{path}: not a fit.json of graftsim fit ({error}).") from error


def _numbers(items: tuple[str, ...], flag: str) -> dict[str, float]:
    return {k: number(v, f"{flag} {k}") for k, v in assignments(items, flag).items()}


def _velocity(items: tuple[str, ...]) -> float | dict[str, float] | None:
    if not items:
        return None
    if len(items) == 1 and "=" not in items[0]:
        return number(items[0], "--velocity")
    return _numbers(items, "--velocity")


def _plain(found: Excitation) -> dict[str, Any]:
    return {
        "parameters": [vars(p) for p in found.parameters],
        "used": found.used,
        "information": found.information,
        "information of sines": found.information_of_sines,
    }


def _print(found: Excitation, out: str) -> None:
    console = terminal()
    rows = [
        (p.name, f"{p.value:.4g}", *(f"{x:.2g}" for x in (p.before, p.after, p.after_with_file)),
         p.unit)
        for p in found.parameters
    ]  # fmt: skip
    head = ("name", ">value", ">known to", ">after this", ">if the file is off", "unit")
    console.print(table_of("Standard deviations", head, rows))
    most = max(found.used, key=lambda name: found.used[name])
    gain = (found.information - found.information_of_sines) / max(len(rows), 1) / 2
    console.print(
        f"Nearest to its limit: the {most}, {100 * found.used[most]:.0f} %. {beside_sines(gain)}",
        soft_wrap=True,
    )
    console.print(f"{out}: {found.plan.duration:.4g} s to play", soft_wrap=True)


def beside_sines(gain: float) -> str:
    """How much better parameters become known than by a sine on each joint; gain: a logarithm."""
    if gain >= TELLS:
        return "A sine on each joint would tell next to nothing."
    if abs(gain) < np.log(1.05):
        return "A sine on each joint would tell about as much: more generations may find better."
    ratio, word = np.exp(abs(gain)), "better" if gain > 0 else "worse"
    return (
        f"Than by a sine on each joint, parameters become known {ratio:.2g} times {word} "
        "(geometric mean)."
    )
