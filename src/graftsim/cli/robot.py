"""From options to a model: apart from what fits need, which takes longer to import."""

from __future__ import annotations

from typing import Any

from graftsim.cli.groups import SimulationOptions
from graftsim.cli.options import TouchOptions
from graftsim.cli.torques import torque_actuators
from graftsim.io.load import load
from graftsim.model.model import Model


def load_model(path: str, base: str, repair_inertia: bool, touch: TouchOptions) -> Model:
    """Read a robot file with the options that were given, and only those."""
    options: dict[str, Any] = {"ground": touch.ground}
    if touch.self_collision != "auto":
        options["self_collision"] = touch.self_collision == "on"
    if base != "auto":
        options["base"] = base
    if repair_inertia:
        options["repair_inertia"] = True
    return load(path, **options)


def load_for(path: str, simulation: SimulationOptions, touch: TouchOptions) -> Model:
    """Read a robot file for a simulation: with its actuators, or with torques in their place."""
    model = load_model(path, simulation.base, simulation.repair_inertia, touch)
    return torque_actuators(model) if simulation.actuators == "torque" else model
