"""From options to a model: apart from what fits need, which takes longer to import."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graftsim.cli.groups import SimulationOptions
from graftsim.cli.options import TouchOptions, number
from graftsim.cli.torques import torque_actuators
from graftsim.io.load import load
from graftsim.model.model import Model
from graftsim.selectors import Selector


def load_model(
    path: str,
    base: str,
    repair_inertia: bool,
    touch: TouchOptions,
    values: Mapping[str, Any] | None = None,
) -> Model:
    """Read a robot file with the options that were given, and only those.

    values: numbers that will be set; an armature among them is there before the file is checked.
    """
    options: dict[str, Any] = {"ground": touch.ground}
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
    model = load_model(path, simulation.base, simulation.repair_inertia, touch, values)
    return torque_actuators(model) if simulation.actuators == "torque" else model
