"""`graftsim inspect`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from graftsim.check import Finding, Level, check_robot
from graftsim.cli.description import print_description
from graftsim.cli.options import InspectOptions
from graftsim.cli.robot import load_model
from graftsim.cli.tables import table_of, terminal
from graftsim.errors import FileError
from graftsim.io.robot.by_name import resolved
from graftsim.io.robot.xml_lines import parse
from graftsim.model.catalogue import PARAMETERS, labels, leaf, row_unit
from graftsim.model.describe import describe_dict
from graftsim.model.model import Model
from graftsim.selectors import row_name, unquoted
from graftsim.strategies import CONTACT_LAWS, find

if TYPE_CHECKING:
    from graftsim.engine import Simulator


def run(options: InspectOptions) -> int:
    """Print what is in a robot file."""
    model = load_model(
        options.robot, options.base, options.repair_inertia, options.touch, file=options.file
    )
    findings = _placed(check_robot(model), options.robot)
    code = 1 if any(f.level == Level.ERROR for f in findings) else 0
    if options.json:
        facts = _facts(_simulator(model, options))
        print(json.dumps(facts | {"findings": [f.as_json() for f in findings]}, indent=2))
        return code
    console = terminal()
    print_description(model, console)
    if findings:
        head = ("level", "number", "what looks wrong, and what mends it")
        rows = [(f.level, f.channel, f"{f.what}\n{f.remedy}") for f in findings]
        console.print(table_of("Findings", head, rows))
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
    return code


def _placed(findings: Sequence[Finding], path: str) -> list[Finding]:
    """Findings with the line of the link or joint that they are about."""
    lines = _lines(path)
    placed = []
    for f in findings:
        label = f.channel.partition("[")[2].rstrip("]")
        line = lines.get(unquoted(label))
        placed.append(replace(f, what=f"line {line}: {f.what}") if line else f)
    return placed


def _lines(path: str) -> dict[str, int]:
    """Line of each named link, body and joint of a file; none where it cannot be said."""
    try:
        waiting = [parse(resolved(path))]
    except FileError:
        return {}
    found: dict[str, int] = {}
    while waiting:
        element = waiting.pop()
        waiting.extend(element.children)
        if element.tag in ("link", "joint", "body", "freejoint"):
            found.setdefault(element.attributes.get("name", ""), element.line)
    return found


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
