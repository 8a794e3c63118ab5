"""Sub-stepping to an impact: how long until shapes that are apart meet.

A step that ends where an impact begins needs no guess of what the contact will look like: normal,
arms and velocities are those of the impact. The time is a root of the gap along the motion without
contact, found by Newton; its last step is differentiated, which gives the derivative of a root,
dt = -dphi / phi_dot. With the impulse after it that is the saltation matrix of the impact.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.contact.detect import detect
from graftsim.contact.impulses import TOUCHING
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import joint_motion
from graftsim.engine.integrators import move
from graftsim.model.state import State

_ITERATIONS = 5


def time_to_impact(
    m: Mechanism, state: State, qdd: Float[Array, " nv"], left: Float[Array, ""]
) -> Float[Array, ""]:
    """Time (s) to the first impact within `left` seconds, or half of them when there is none.

    Half, so that what remains is a step of its own length and never an empty one.
    """

    def gaps(t: Float[Array, ""]) -> Float[Array, " nc"]:
        q = move(m.tree, state.q, state.qd + t * qdd, t)
        motion = joint_motion(m, q, jnp.zeros_like(state.qd))
        return -detect(m, world_transforms(m.tree, motion)).depth

    def further(t: Float[Array, ""]) -> Float[Array, ""]:
        """Time to the first meeting as it looks at t: gaps over the rates at which they close."""
        gap, rate = jax.jvp(gaps, (t,), (jnp.ones_like(t),))
        closing = apart & (rate < 0)
        wait = jnp.where(closing, gap / jnp.where(closing, -rate, 1.0), jnp.inf)
        return jnp.min(wait)

    apart = gaps(jnp.zeros_like(left)) > TOUCHING
    t = jnp.zeros_like(left)
    for _ in range(_ITERATIONS):
        t = jax.lax.stop_gradient(t)
        wait = further(t)
        # Far beyond the step there is no need to look closely.
        t = jnp.where(jnp.isfinite(wait), jnp.clip(t + wait, 0.0, left), left)
    return jnp.where((t > 0) & (t < left), t, left / 2)
