"""Actuators: from commands to joint forces, with limits, servo laws and a first-order lag."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import rows
from graftsim.model.model import Actuators
from graftsim.taps import OFF, Tapper


def command(
    actuator: Actuators, u: Float[Array, " nu"], act: Float[Array, " na"]
) -> Float[Array, " nu"]:
    """Commands after the control limits; where there is a lag, the lag's state instead."""
    limited = jnp.clip(u, actuator.control_lower, actuator.control_upper)
    if actuator.na == 0:
        return limited
    lagged = np.flatnonzero(actuator.lagged)
    return limited.at[lagged].set(act)


def settled_act(actuator: Actuators, u: Float[Array, " nu"]) -> Float[Array, " na"]:
    """State of the lags after a command has been held for long."""
    limited = jnp.clip(u, actuator.control_lower, actuator.control_upper)
    return rows(limited, np.flatnonzero(actuator.lagged))


def next_act(
    actuator: Actuators,
    u: Float[Array, " nu"],
    act: Float[Array, " na"],
    dt: Float[Array, ""],
) -> Float[Array, " na"]:
    """State of the lags after dt: act' = u + (act - u) exp(-dt/T), exact for a held command."""
    if actuator.na == 0:
        return act
    target = settled_act(actuator, u)
    lagged = np.flatnonzero(actuator.lagged)
    return target + (act - target) * jnp.exp(-dt / rows(actuator.time_constant, lagged))


def actuator_forces(
    actuator: Actuators,
    c: Float[Array, " nu"],
    q_dof: Float[Array, " nv"],
    qd: Float[Array, " nv"],
    *,
    scope: Tapper = OFF,
) -> Float[Array, " nv"]:
    """Joint forces (N m, N) of commands c; `q_dof` are displacements of the degrees of freedom.

    torque: f = gain c. position: f = kp (c - gear q) - kd gear qd. velocity: f = kd (c - gear qd).
    The force f is limited, then the joint feels gear f.
    """
    nv = qd.shape[0]
    if actuator.nu == 0:
        scope.tap("actuator.force", c)
        return scope.tap("joint.tau_actuator", jnp.zeros(nv, qd.dtype))
    dof = np.array(actuator.dof)
    kinds = np.array(actuator.kinds)
    length = actuator.gear * rows(q_dof, dof)
    rate = actuator.gear * rows(qd, dof)
    position, servo = jnp.asarray(kinds == "position"), jnp.asarray(kinds != "torque")
    f = jnp.where(position, actuator.kp * (c - length) - actuator.kd * rate, actuator.gain * c)
    f = jnp.where(servo & ~position, actuator.kd * (c - rate), f)
    f = scope.tap("actuator.force", jnp.clip(f, actuator.force_lower, actuator.force_upper))
    # One actuator a joint is the common case; the incidence matrix covers the others.
    incidence = jnp.asarray(np.arange(nv)[:, None] == dof[None, :], qd.dtype)
    return scope.tap("joint.tau_actuator", incidence @ (actuator.gear * f))
