"""`graftsim inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from graftsim.cli.description import print_description
from graftsim.cli.options import InspectOptions
from graftsim.cli.robot import load_model
from graftsim.cli.tables import table_of, terminal
from graftsim.model.catalogue import PARAMETERS, labels, leaf, row_unit
from graftsim.model.describe import describe_dict
from graftsim.model.model import Model
from graftsim.selectors import row_name
from graftsim.strategies import CONTACT_LAWS, find

if TYPE_CHECKING:
    from graftsim.engine import Simulator


def run(options: InspectOptions) -> int:
    """Print what is in a robot file."""
    model = load_model(
        options.robot, options.base, options.repair_inertia, options.touch, file=options.file
    )
    if options.json:
        print(json.dumps(_facts(_simulator(model, options)), indent=2))
        return 0
    console = terminal()
    print_description(model, console)
    if options.variables:
        rows = [
            (name, str(shape), info.unit, info.meaning)
            for name, (shape, info, _) in _simulator(model, options).variables().items()
        ]
        title = "Variables, in the order of computation"
        console.print(table_of(title, ("name", "shape", "unit", "meaning"), rows))
    if options.parameters:
        title = "Parameters that can be fitted"
        console.print(table_of(title, ("selector", "value", "unit", "meaning"), _parameters(model)))
    return 0


def _simulator(model: Model, options: InspectOptions) -> Simulator:
    """A simulator with the law of contact that was asked for, to list its variables."""
    from graftsim.engine import Simulator

    place = CONTACT_LAWS.get(options.touch.contact)
    law = find(place)() if place else None
    return Simulator(model, contact=law if model.pair.names else None)


def _facts(simulator: Simulator) -> dict:
    variables = [
        {"name": n, "shape": list(s), "unit": v.unit, "meaning": v.meaning, "rows": list(r)}
        for n, (s, v, r) in simulator.variables().items()
    ]
    return describe_dict(simulator.model) | {"variables": variables}


def _parameters(model: Model) -> Iterable[Sequence[str]]:
    for name, info in PARAMETERS.items():
        values = np.asarray(leaf(model, name))
        for row, label in enumerate(labels(model, info.rows)):
            shown = " ".join(f"{x:.6g}" for x in np.atleast_1d(values[row]))
            yield row_name(name, label), shown, row_unit(model, name, row), info.meaning
