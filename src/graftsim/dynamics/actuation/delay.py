"""Delay of commands: what of the present and of earlier commands acts within a step.

A command is held from one control step to the next. Delayed by d it switches inside a step, and
what acts there is the mean: with C(s) the integral of the commands up to time s, over [a, b]

    u_d = (C(b - d) - C(a - d)) / (b - a),     du_d/dd = -(u(b - d) - u(a - d)) / (b - a).

So the mean is continuous in d and its derivative exact, also where no step switches at d. It is a
sum of the commands of this and the last K steps with `shares` that depend on d and the sub-step
alone: they are computed before the time loop.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import rows
from graftsim.model.model import Actuators


class Commands(NamedTuple):
    """Commands u [nu] of a sub-step. share, earlier: of those with a delay, else ().

    share [nd]: how much of u acts, earlier [nd]: what acts of earlier commands. path: the
    `actuation.prescribed_motion.Prescribed` of joints whose motion is prescribed, () without such.
    """

    u: Float[Array, " nu"]
    share: Any = ()
    earlier: Any = ()
    path: Any = ()


def delayed_controls(actuator: Actuators) -> np.ndarray:
    """Places [nd] in the controls [nu] of what is delayed: all inputs of an actuator together."""
    return np.flatnonzero(np.array(actuator.longest_delay)[control_owners(actuator)] > 0)


def owners(actuator: Actuators) -> np.ndarray:
    """Actuator [nd] of each delayed control."""
    return control_owners(actuator)[delayed_controls(actuator)]


def control_owners(actuator: Actuators) -> np.ndarray:
    """Actuator [nu] of each control."""
    further = [i for i, own in enumerate(actuator.inputs) for _ in own]
    return np.array([*range(len(actuator.names)), *further], int)


def steps_back(actuator: Actuators, dt: float) -> int:
    """Number K of earlier commands that the longest delay reaches back to."""
    return math.ceil(max((0.0, *actuator.longest_delay)) / dt - 1e-9)


def delay_shares(
    actuator: Actuators, dt: Float[Array, ""], substeps: int, back: int
) -> Float[Array, "substeps k nd"]:
    """Shares of the commands of this step and the `back` steps before it, newest first.

    In the means over each sub-step; their sums are 1. A delay beyond `back` steps acts as that.
    """
    d = rows(actuator.delay, owners(actuator))
    # Left ends of the intervals in which each command is held, from the step's beginning.
    left = -dt * jnp.arange(back + 1, dtype=d.dtype)[:, None]
    ends = dt / substeps * jnp.arange(substeps + 1, dtype=d.dtype)[:, None, None] - d

    # How much of each interval lies before s. At its ends the slopes are those for a growing delay,
    # so that a fit can leave a delay of zero.
    # What rounding makes of an end is still that end.
    inside, little = ends - left, 8 * (back + 1) * jnp.finfo(d.dtype).eps * dt
    before = jnp.where(inside <= dt + little, inside, dt)
    # All but the oldest, which has been held for ever, begin at their left end.
    newer = jnp.arange(back + 1)[:, None] < back
    before = jnp.where((inside > little) | ~newer, before, 0.0)
    return (before[1:] - before[:-1]) * (substeps / dt)


def held_before(actuator: Actuators, u: Float[Array, " nu"], back: int) -> Float[Array, "back nd"]:
    """Memory of a fresh start: the first command has been held for long."""
    now = rows(u, delayed_controls(actuator))
    return jnp.broadcast_to(now, (back, now.shape[0]))


def next_held(
    actuator: Actuators, held: Float[Array, "back nd"], u: Float[Array, " nu"]
) -> Float[Array, "back nd"]:
    """Memory after a step of commands u."""
    return jnp.concatenate([rows(u, delayed_controls(actuator))[None], held[:-1]])


def delayed(actuator: Actuators, given: Commands, u: Float[Array, " nu"]) -> Float[Array, " nu"]:
    """What of commands u, named by then, and of the earlier ones acts in a sub-step."""
    if isinstance(given.share, tuple):
        return u
    late = delayed_controls(actuator)
    mixed = given.share * rows(u, late) + given.earlier
    return mixed if len(late) == u.shape[0] else u.at[late].set(mixed)
