"""Whether prescribed motions can be meant: no jumps, and within the joints' limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.core import Tracer

from graftsim.dynamics.actuation.prescribed_motion import coordinates, path_rows
from graftsim.errors import ModelError
from graftsim.model.state import State

if TYPE_CHECKING:
    from graftsim.engine.simulator import Simulator

# A velocity (m/s, rad/s) by which no machine changes within a step; a wrong sample does.
JUMP = {"m": 5.0, "rad": 50.0}


def check_commands(simulator: Simulator, state: State, controls: Any) -> None:
    """Raises ModelError: commands [steps, nu] of a path that jump, also from the state, are no
    numbers, or lie outside the limits of their joint. Traced numbers are not checked.
    """
    model = simulator.model
    if not model.guided:
        return
    given = (state.q, state.qd, controls, simulator.dt, model.joint.lower, model.actuator.gear)
    if any(isinstance(x, Tracer) for x in jax.tree.leaves(given)):
        return
    own, dofs = path_rows(model.actuator)
    gear = np.asarray(model.actuator.gear, float)
    rows = coordinates(model.tree, dofs)
    dt = float(simulator.dt)
    for i, dof, row in zip(own, dofs, rows, strict=True):
        path = np.asarray(controls, float)[..., i] / gear[i]
        where = f"Path '{model.actuator.names[i]}' of {model.tree.dofs[dof]}"
        unit = model.tree.dof_units[dof]
        _check_numbers(path, where, dt)
        low, high = (float(x[dof]) for x in (model.joint.lower, model.joint.upper))
        outside = (path < low - 1e-9) | (path > high + 1e-9)
        if outside.any():
            k = int(np.argmax(outside))
            raise ModelError(
                f"{where} leaves the joint's limits {low:g} to {high:g} {unit}: {path[k]:.6g} "
                f"{unit} at {(k + 1) * dt:.6g} s."
            )
        start, speed = (float(np.asarray(x)[n]) for x, n in ((state.q, row), (state.qd, dof)))
        change = np.abs(np.diff(np.diff(path, prepend=start) / dt, prepend=speed))
        if change.max(initial=0.0) > JUMP[unit]:
            k = int(np.argmax(change > JUMP[unit]))
            before = start if k == 0 else path[k - 1]
            raise ModelError(
                f"{where} jumps from {before:.6g} to {path[k]:.6g} {unit} at {(k + 1) * dt:.6g} s: "
                f"its velocity would change by {change[k]:.3g} {unit}/s within a step; up to "
                f"{JUMP[unit]:g} is taken for motion. Start the state on the path, and smooth it."
            )


def _check_numbers(path: np.ndarray, where: str, dt: float) -> None:
    bad = ~np.isfinite(path)
    if bad.any():
        raise ModelError(f"{where} has no number at {(int(np.argmax(bad)) + 1) * dt:.6g} s.")
