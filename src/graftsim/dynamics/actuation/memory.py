"""What actuators remember: lags of their commands, and drives with a state of their own."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import rows
from graftsim.model.model import Actuators

# A lag remembers commands for so many of its time constants, and at least for so long (s): it may
# be free, and grow. Within so many steps, or they would fill the memory.
REMEMBERED, SHORTEST, MOST_STEPS = 12.0, 0.25, 2000


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
    return _beside_integrals(actuator, rows(limited(actuator, u), np.flatnonzero(actuator.lagged)))


def act_after(
    actuator: Actuators, before: Float[Array, "k nu"], dt: Float[Array, ""]
) -> Float[Array, " na"]:
    """Memory after commands of k steps, the newest first, the oldest held for long before.

    Integrals are zero. A command that acted from b to a seconds ago, after the delay, has the
    weight exp(-a/T) - exp(-b/T) in a lag of T.
    """
    lagged, steps = np.flatnonzero(actuator.lagged), before.shape[0]
    T, delay = rows(actuator.time_constant, lagged), rows(actuator.delay, lagged)

    def beyond(k: Any) -> Array:
        """Share of all that acted longer ago than what was sent k steps ago."""
        return jnp.exp(-jnp.maximum(k * dt - delay, 0.0) / T)

    def met(lags: Array, sent: tuple[Array, Array]) -> tuple[Array, None]:
        u, k = sent
        return lags + (beyond(k) - beyond(k + 1)) * rows(limited(actuator, u), lagged), None

    oldest = rows(limited(actuator, before[-1]), lagged)
    start = beyond(jnp.asarray(steps, before.dtype)) * oldest
    # A loop, because a kernel writes every operation outside of one.
    sent = before, jnp.arange(steps, dtype=before.dtype)
    return _beside_integrals(actuator, jax.lax.scan(met, start, sent)[0])


def lag_steps(actuator: Actuators, dt: float) -> int:
    """Number of earlier commands that lags remember."""
    lagged = np.flatnonzero(actuator.lagged)
    if not len(lagged):
        return 0
    longest = float(np.max(np.asarray(actuator.time_constant)[lagged]))
    late = float(np.max(np.asarray(actuator.longest_delay)[lagged]))
    steps = (max(REMEMBERED * longest, SHORTEST) + late) / dt
    return min(math.ceil(steps - 1e-9), MOST_STEPS)


def _beside_integrals(actuator: Actuators, lags: Array) -> Float[Array, " na"]:
    return jnp.concatenate([lags, jnp.zeros(actuator.na - lags.shape[0], lags.dtype)])


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
