"""From options to a model: apart from what fits need, which takes longer to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console

from graftsim.cli.groups import SimulationOptions
from graftsim.cli.options import FileOptions, TouchOptions, number
from graftsim.cli.torques import torque_actuators
from graftsim.io.load import load
from graftsim.model.model import Model
from graftsim.selectors import Selector

# Of what a note is about, so many are named in a line.
MOST_NAMES = 4


def load_model(
    path: str,
    base: str,
    repair_inertia: bool,
    touch: TouchOptions,
    values: Mapping[str, Any] | None = None,
    file: FileOptions | None = None,
) -> Model:
    """Read a robot file with the options that were given, and only those.

    path: a file, or "robot_descriptions:NAME". values: numbers that will be set; an armature among
    them is there before the file is checked.
    """
    options: dict[str, Any] = {"ground": touch.ground}
    if file is not None and file.package_dir:
        options["package_dirs"] = file.package_dir
    if file is not None and file.without:
        options["without"] = file.without
    if touch.self_collision != "auto":
        options["self_collision"] = touch.self_collision == "on"
    if base != "auto":
        options["base"] = base
    if repair_inertia:
        options["repair_inertia"] = True
    armature = {
        (chosen.pattern or "*"): number(value, f"value of {name}")
        for name, value in (values or {}).items()
        if (chosen := Selector.parse(name)).name == "joint.armature"
    }
    if armature:
        options["armature"] = armature
    return load(path, **options)


def load_for(
    path: str,
    simulation: SimulationOptions,
    touch: TouchOptions,
    values: Mapping[str, Any] | None = None,
) -> Model:
    """Read a robot file for a simulation: with its actuators, or with torques in their place."""
    model = load_model(
        path, simulation.base, simulation.repair_inertia, touch, values, simulation.file
    )
    return torque_actuators(model) if simulation.actuators == "torque" else model


def say(model: Model, console: Console, *, held: bool = False) -> None:
    """What a command that simulates must say of its robot: how its base meets the world, and what
    moves otherwise than the file says.

    held: something may carry a floating base: a floor with contact.
    """
    for note in model.notes:
        if note.startswith("base: ") and "is the world itself" not in note:
            falls = "floats" in note and not held
            more = " Nothing holds it: it falls (--base fixed; --ground 0 and --contact)."
            style = "yellow" if falls else None
            console.print(f"{note}{more if falls else ''}", style=style, soft_wrap=True)
    for caveat in model.caveats:
        console.print(f"note: {shortened(caveat)}", soft_wrap=True)


def shortened(sentence: str) -> str:
    """With the first few of many names before its colon."""
    names, colon, rest = sentence.partition(": ")
    items = names.split(", ")
    if not colon or len(items) <= MOST_NAMES:
        return sentence
    return f"{', '.join(items[:MOST_NAMES])} and {len(items) - MOST_NAMES} more: {rest}"
