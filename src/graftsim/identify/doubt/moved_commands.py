"""Commands that come later by a delay that a model does not have."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.actuation import control_owners
from graftsim.identify.runs.residual_program import ResidualProgram


def delayed(
    program: ResidualProgram, before: np.ndarray, delay: float, actuator: int
) -> ResidualProgram:
    """The program under commands of an actuator that come later by `delay` (s).

    A command is held over its step; delayed, a step has the mean of what acts in it. before:
    [w, nu] commands of the step before each window, held ever since; for a derivative a delay may
    be below zero by less than a step.
    """
    data, simulator = program.data, program.reader.setup.simulator
    u = np.asarray(data.controls)
    own = np.flatnonzero(control_owners(simulator.model.actuator) == actuator)
    late = delay / float(simulator.dt)
    whole = max(int(np.floor(late)), 0)
    steps = u.shape[1]
    every = np.concatenate([np.repeat(before[:, None], whole + 1, 1), u], 1)
    near, far = (every[:, i : i + steps, own] for i in (1, 0))
    moved = u.copy()
    moved[..., own] = near - (late - whole) * (near - far)
    other = program.on(data._replace(controls=jnp.asarray(moved, data.controls.dtype)))
    assert other is not None
    return other
