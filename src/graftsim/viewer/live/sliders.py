"""Sliders: joints are put where they say, commands are held as they say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftsim.model.model import Model
from graftsim.viewer.live.world import Instant

MANY = 8
"""Sliders beyond which a folder begins closed."""
WIDE = {"rad": 3.14, "m": 1.0}


class Sliders:
    """A folder of sliders that follow the simulation, and tell `moved(k, value)` of the user."""

    def __init__(
        self,
        gui: Any,
        title: str,
        ranges: dict[str, tuple[float, float]],
        moved: Callable[[int, float], object],
        hint: str,
    ) -> None:
        self.handles: list[Any] = []
        if not ranges:
            return
        with gui.add_folder(title, expand_by_default=len(ranges) <= MANY):
            for k, (name, (low, high)) in enumerate(ranges.items()):
                start = float(np.clip(0.0, low, high))
                step = (high - low) / 1000
                handle = gui.add_slider(name, low, high, step, start, hint=hint)
                handle.on_update(_teller(moved, k))
                self.handles.append(handle)

    def follow(self, values: np.ndarray) -> None:
        """Show numbers of the simulation; nothing is told of that."""
        for handle, value in zip(self.handles, values, strict=True):
            shown = float(np.clip(value, handle.min, handle.max)) if np.isfinite(value) else 0.0
            if abs(shown - handle.value) > handle.step / 2:
                handle.value = shown


def _teller(moved: Callable[[int, float], object], k: int) -> Callable[[Any], None]:
    def tell(event: Any) -> None:
        # What the server sets itself has no client.
        if event.client is not None:
            moved(k, float(event.target.value))

    return tell


def joint_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """Of each joint with one coordinate its limits, or a turn or metre to each side."""
    tree, found = model.tree, {}
    for q_rows, v_rows in zip(tree.q_index, tree.v_index, strict=True):
        if len(q_rows) == len(v_rows) == 1:
            low, high = (
                float(np.asarray(x)[v_rows[0]]) for x in (model.joint.lower, model.joint.upper)
            )
            wide = WIDE.get(tree.dof_units[v_rows[0]], 1.0)
            name = tree.coordinates[q_rows[0]]
            found[name] = _range(low, high, wide)
    return found


def command_ranges(model: Model) -> dict[str, tuple[float, float]]:
    """Of each control its limits; without any, what its force's are, or 1 to each side."""
    actuator, found = model.actuator, {}
    for k, name in enumerate(actuator.controls):
        if k < len(actuator.names):
            low, high = (
                float(np.asarray(x)[k]) for x in (actuator.control_lower, actuator.control_upper)
            )
            found[name] = _range(low, high, 1.0)
        else:
            found[name] = (-1.0, 1.0)
    return found


def joint_values(model: Model, instant: Instant) -> np.ndarray:
    """Coordinates of the joints that have a slider."""
    tree = model.tree
    rows = [int(r[0]) for r, v in zip(tree.q_index, tree.v_index, strict=True)
            if len(r) == len(v) == 1]  # fmt: skip
    return instant.q[rows]


def _range(low: float, high: float, wide: float) -> tuple[float, float]:
    low = low if np.isfinite(low) else -wide
    high = high if np.isfinite(high) else wide
    return (low, high) if high > low else (-wide, wide)
