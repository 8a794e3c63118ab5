"""Derivative by a delay of commands that a model does not have."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from graftsim.dynamics.actuation import control_owners
from graftsim.identify.runs.residual_program import ResidualProgram

# Differences by a delay: this share of a step.
SHORT = 0.01


def by_delay(
    program: ResidualProgram,
    before: np.ndarray,
    theta: np.ndarray,
    local: np.ndarray,
    actuator: int,
) -> np.ndarray:
    """Derivative [w, m] of the residuals by a delay of an actuator's commands that has none.

    Delayed by d, a step has the command u - (d/dt) (u - u_before) in its mean: differences of that.
    before: [w, nu] commands of the step before each window.
    """
    data, simulator = program.data, program.reader.setup.simulator
    u = np.asarray(data.controls)
    own = np.flatnonzero(control_owners(simulator.model.actuator) == actuator)
    change = np.zeros_like(u)
    change[..., own] = np.diff(u, axis=1, prepend=before[:, None])[..., own]
    little = SHORT * float(simulator.dt)

    def residual(d: float) -> np.ndarray:
        moved = jnp.asarray(u - d / float(simulator.dt) * change, data.controls.dtype)
        other = program.on(data._replace(controls=moved))
        assert other is not None
        return other.residual(theta, local)

    return (residual(little) - residual(-little)) / (2 * little)
