"""What fits and discoveries start from: a simulator and recordings, read as the options say."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, Protocol

import equinox as eqx
from rich.console import Console

from graftsim.cli import setup
from graftsim.cli.groups import DataOptions, SimulationOptions
from graftsim.cli.logs import Reading, read_logs
from graftsim.cli.options import TouchOptions, assignments, number
from graftsim.cli.robot import load_for, say
from graftsim.engine import Simulator
from graftsim.errors import GraftsimWarning, ProblemError
from graftsim.model.model import Model
from graftsim.recordings.corrections import Corrections
from graftsim.recordings.recording import Recording
from graftsim.strategies import INTEGRATORS, find


class Inputs(NamedTuple):
    """Simulator, recordings, those held out, and options of `Problem` about the data."""

    simulator: Simulator
    recordings: list[Recording]
    heldout: list[Recording]
    options: dict[str, Any]

    def of_model(self, model: Model) -> Inputs:
        """The same with another model in the simulator."""
        return self._replace(simulator=eqx.tree_at(lambda s: s.model, self.simulator, model))


class Asked(Protocol):
    """What commands on a robot and its logs have in common."""

    @property
    def robot(self) -> str: ...
    @property
    def logs(self) -> tuple[str, ...]: ...
    @property
    def data(self) -> DataOptions: ...
    @property
    def simulation(self) -> SimulationOptions: ...
    @property
    def touch(self) -> TouchOptions: ...


def read(
    asked: Asked, tables: Mapping[str, Any], console: Console, *, checked: bool = False
) -> Inputs:
    """Read robot and recordings, and say on the console what is in them.

    checked: the recordings will be checked, so that what looks wrong is no warning of their reader.
    """
    data, simulation, touch = asked.data, asked.simulation, asked.touch
    start = dict(tables.get("start", {})) | assignments(simulation.start, "--start")
    model = load_for(asked.robot, simulation, touch, start)
    model = setup.set_values(model, start)
    columns = setup.columns_from(data.columns, tables.get("columns"))
    console.print(f"{model}", soft_wrap=True)
    say(model, console, held=touch.contact != "none")
    how = Reading(data, corrections_from(data), "note" if checked else "warn")
    recordings = read_logs(asked.logs, columns, how, model, console)
    heldout: list[Recording] = []
    if data.heldout:
        heldout = read_logs(data.heldout, columns, how, model, console, "held out: ")
        recordings = _without(recordings, heldout)
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
    return Inputs(simulator, recordings, heldout, options)


def _without(recordings: list[Recording], heldout: list[Recording]) -> list[Recording]:
    """Recordings that are not held out: what a pattern names with them is not fitted too."""
    held = {c.source for r in heldout for c in r.channels.values()}
    return [r for r in recordings if not {c.source for c in r.channels.values()} <= held]


def corrections_from(data: DataOptions) -> Corrections:
    """Corrections of recordings that flags ask for. ProblemError: one that is of another form."""
    start, colon, end = data.trim.partition(":")
    if data.trim and not colon:
        raise ProblemError(f"--trim {data.trim}: START:END is expected, in s, such as 0.5:12.")
    scale = assignments(data.scale, "--scale").items()
    return Corrections(
        clock=data.clock,
        trim=(number(start, "--trim") if start else None, number(end, "--trim") if end else None),
        distinct=data.distinct,
        unwrap=data.unwrap,
        scale={k: _factor(v) for k, v in scale},
        offset={k: number(v, "--offset") for k, v in assignments(data.offset, "--offset").items()},
        rename=assignments(data.rename, "--rename"),
    )


def _factor(text: str) -> float | str:
    """A number, or else the name of a unit."""
    try:
        return float(text)
    except ValueError:
        return text


@contextmanager
def shown_warnings(console: Console) -> Iterator[None]:
    """Warnings of graftsim inside are printed as lines at the end."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraftsimWarning)
        yield
    for warning in caught:
        console.print(f"warning: {warning.message}", style="yellow", soft_wrap=True)
