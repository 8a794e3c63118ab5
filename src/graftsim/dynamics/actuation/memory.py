"""What actuators remember: lags of their commands, and drives with a state of their own."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import rows
from graftsim.model.model import Actuators


class Seen(NamedTuple):
    """What the memory of actuators follows: commands after delay and limits, and its rate.

    limited [n]; rate and limit [nm]: of the drives that have a memory.
    """

    limited: Float[Array, " n"]
    rate: Float[Array, " nm"]
    limit: Float[Array, " nm"]


def limited(actuator: Actuators, u: Float[Array, " nu"]) -> Float[Array, " n"]:
    """Commands within their limits; `u` holds further inputs behind them."""
    own = u[: len(actuator.names)]
    return jnp.clip(own, actuator.control_lower, actuator.control_upper)


def command(
    actuator: Actuators, u: Float[Array, " nu"], act: Float[Array, " na"]
) -> Float[Array, " n"]:
    """Commands after the limits; where there is a lag, the lag's state instead."""
    within = limited(actuator, u)
    lagged = np.flatnonzero(actuator.lagged)
    return within.at[lagged].set(act[: len(lagged)]) if len(lagged) else within


def settled_act(actuator: Actuators, u: Float[Array, " nu"]) -> Float[Array, " na"]:
    """Memory after a command has been held for long: lags settled, integrals zero."""
    lagged = rows(limited(actuator, u), np.flatnonzero(actuator.lagged))
    return jnp.concatenate([lagged, jnp.zeros(actuator.na - lagged.shape[0], u.dtype)])


def next_act(
    actuator: Actuators, seen: Seen, act: Float[Array, " na"], dt: Float[Array, ""]
) -> Float[Array, " na"]:
    """Memory after dt: lags act' = u + (act - u) exp(-dt/T), exact for a held command.

    Of drives the rate times dt, kept within its limit.
    """
    if actuator.na == 0:
        return act
    lagged = np.flatnonzero(actuator.lagged)
    target, own = rows(seen.limited, lagged), act[: len(lagged)]
    lags = target + (own - target) * jnp.exp(-dt / rows(actuator.time_constant, lagged))
    integral = jnp.clip(act[len(lagged) :] + dt * seen.rate, -seen.limit, seen.limit)
    return jnp.concatenate([lags, integral])
