"""`graftsim inspect`."""

from __future__ import annotations

import json
from collections.abc import Sequence

import tyro

from graftsim.cli.options import InspectOptions


def run(args: Sequence[str]) -> int:
    """Print what is in a robot file."""
    options = tyro.cli(InspectOptions, prog="graftsim inspect", args=args)
    import numpy as np
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from graftsim.cli.setup import load_model
    from graftsim.engine import Simulator
    from graftsim.io.describe import describe_dict, print_description
    from graftsim.model.catalogue import PARAMETERS, labels, leaf

    model = load_model(options.robot, options.base, options.repair_inertia)
    facts = describe_dict(model)
    variables = Simulator(model).variables() if options.variables or options.json else {}
    if options.json:
        facts["variables"] = [
            {"name": n, "shape": list(s), "unit": v.unit, "meaning": v.meaning, "rows": list(r)}
            for n, (s, v, r) in variables.items()
        ]
        print(json.dumps(facts, indent=2))
        return 0
    console = Console(highlight=False, markup=False)
    print_description(model, console)
    if options.variables:
        table = Table(title="Variables, in the order of computation", title_justify="left")
        for heading in ("name", "shape", "unit", "meaning"):
            table.add_column(heading)
        for name, (shape, info, _) in variables.items():
            table.add_row(*map(Text, (name, str(shape), info.unit, info.meaning)))
        console.print(table)
    if options.parameters:
        table = Table(title="Parameters that can be fitted", title_justify="left")
        for heading in ("selector", "value", "unit", "meaning"):
            table.add_column(heading)
        for name, info in PARAMETERS.items():
            for label, value in zip(
                labels(model, info.rows), np.asarray(leaf(model, name)), strict=True
            ):
                shown = " ".join(f"{x:.6g}" for x in np.atleast_1d(value))
                table.add_row(*map(Text, (f"{name}[{label}]", shown, info.unit, info.meaning)))
        console.print(table)
    return 0
