"""Numbers of the actuators that a fit was not asked for, and how wrong each may plausibly be."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np

from graftsim.model.catalogue import dofs_by_row, row_unit
from graftsim.model.model import Model
from graftsim.recordings.channels import split_name
from graftsim.selectors import row_name

# How wrong a number of an actuator may be that nobody has measured.
DELAY, ZERO, GAIN = 0.01, np.deg2rad(0.5), 0.05
# The zero of an encoder along a slide (m).
SLIDING_ZERO = 5e-4
# Which numbers each kind of drive has, and whether their size is a share of the value.
CANDIDATES: dict[str, tuple[tuple[str, ...], float, bool]] = {
    "delay": (("torque", "position", "velocity", "pid", "voltage", "voltage_servo"), DELAY, False),
    "zero": (("position", "pid", "voltage_servo"), float(ZERO), False),
    "gain": (("torque",), GAIN, True),
    "kp": (("position", "pid", "voltage_servo"), GAIN, True),
    "kd": (("position", "velocity", "pid", "voltage_servo"), GAIN, True),
    "motor_constant": (("voltage", "voltage_servo"), GAIN, True),
}
# Next to one that is free these say nothing new.
SAME = {"gear": ("gain", "kp", "kd", "motor_constant"), "resistance": ("motor_constant",)}


class WithheldNumber(NamedTuple):
    """A number that is not free: quantity and label of its row, actuator, plausible size."""

    row: tuple[str, str]
    actuator: int
    size: float

    @property
    def name(self) -> str:
        """As it is typed."""
        return row_name(*self.row)

    @property
    def is_delay(self) -> bool:
        """Is it the delay of a command?"""
        return self.row[0] == "actuator.delay"


def withheld_numbers(
    model: Model, free: Collection[str], channels: Collection[str]
) -> tuple[WithheldNumber, ...]:
    """Numbers of actuators that are neither free, by their names, nor channels of the log."""
    a, names = model.actuator, set(free)
    quantities = {n.split("[")[0].removeprefix("actuator.") for n in names
                  if n.startswith("actuator.")}  # fmt: skip
    same = {x for k in quantities for x in SAME.get(k, ())}
    shared = {n for n in names if "*" in n or "," in n}
    driven = _driven(model, channels)
    out = []
    for quantity, (kinds, size, relative) in CANDIDATES.items():
        if quantity in same or any(n.startswith(f"actuator.{quantity}[") for n in shared):
            continue
        values = np.asarray(getattr(a, quantity))
        for i, label in enumerate(a.names):
            name = row_name(f"actuator.{quantity}", label)
            value = float(values[i])
            if a.kinds[i] not in kinds or quantity in a.inputs[i] or name in names:
                continue
            if i in driven and (value or not relative):
                row, own = (f"actuator.{quantity}", label), abs(value) * size if relative else size
                slides = quantity == "zero" and row_unit(model, row[0], i) == "m"
                out.append(WithheldNumber(row, i, SLIDING_ZERO if slides else own))
    return tuple(out)


def _driven(model: Model, channels: Collection[str]) -> set[int]:
    """Actuators that have commands, or torques of their joints where nothing has commands."""
    found = [name for c in channels if (name := split_name(c)) is not None]
    labels = {name.label for name in found if name.quantity == "control"}
    dofs = dofs_by_row(model, "actuator")
    torques = {n.label for n in found if n.quantity == "joint.tau"} if not labels else set()
    return {
        i for i, name in enumerate(model.actuator.names)
        if name in labels or any(model.tree.dofs[d] in torques for d in dofs[i])
    }  # fmt: skip
