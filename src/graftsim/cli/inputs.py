"""What fits and discoveries start from: a simulator and recordings, read as the options say."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import equinox as eqx
from rich.console import Console

from graftsim.cli import setup
from graftsim.cli.groups import DataOptions, SimulationOptions
from graftsim.cli.logs import read_logs
from graftsim.cli.options import TouchOptions, assignments, number
from graftsim.cli.robot import load_model
from graftsim.engine import Simulator
from graftsim.errors import GraftsimWarning
from graftsim.model.model import Model
from graftsim.recordings.recording import Recording
from graftsim.strategies import INTEGRATORS, find


class Inputs(NamedTuple):
    """Simulator, recordings, and options of `Problem` about the data."""

    simulator: Simulator
    recordings: list[Recording]
    options: dict[str, Any]

    def of_model(self, model: Model) -> Inputs:
        """The same with another model in the simulator."""
        return self._replace(simulator=eqx.tree_at(lambda s: s.model, self.simulator, model))


def read(
    robot: str,
    logs: tuple[str, ...],
    data: DataOptions,
    simulation: SimulationOptions,
    touch: TouchOptions,
    tables: Mapping[str, Any],
    console: Console,
) -> Inputs:
    """Read robot and recordings, and say on the console what is in them."""
    start = dict(tables.get("start", {})) | assignments(simulation.start, "--start")
    model = load_model(robot, simulation.base, simulation.repair_inertia, touch, start)
    model = setup.set_values(model, start)
    columns = setup.columns_from(data.columns, tables.get("columns"))
    console.print(f"{model}", soft_wrap=True)
    recordings = read_logs(logs, columns, data, model, console)
    heldout: list[Recording] = []
    if data.heldout:
        heldout = read_logs(data.heldout, columns, data, model, console, "held out: ")
    law = setup.contact_law(touch.contact, model, simulation.integrator, console)
    dt = simulation.dt or setup.default_dt(recordings)
    simulator = Simulator(
        model,
        dt,
        integrator=find(INTEGRATORS[simulation.integrator])(),
        substeps=simulation.substeps or setup.default_substeps(dt, simulation.integrator),
        contact=law,
    )
    noise = dict(tables.get("noise", {})) | {
        k: number(v, f"noise of {k}") for k, v in assignments(data.noise, "--noise").items()
    }
    options = {
        "sensors": tables.get("sensors") or data.sensors or None,
        "noise": noise,
        "holdout": heldout or data.holdout,
    }
    return Inputs(simulator, recordings, options)


@contextmanager
def shown_warnings(console: Console) -> Iterator[None]:
    """Warnings of graftsim inside are printed as lines at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraftsimWarning)
        yield
    for warning in caught:
        console.print(f"warning: {warning.message}", style="yellow", soft_wrap=True)
