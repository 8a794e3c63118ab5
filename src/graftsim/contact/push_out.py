"""Pushing apart what overlaps, in positions alone: no velocity and no energy of motion comes of it.

The velocities that positions move with get an addition of their own (split impulse): the least one,
in the sense of the inertia, with which every overlap of depth d shrinks by min(alpha d, s h) in a
step of length h and no gap closes further than it can; frictionless impulses, one problem for all.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.contact.collision.arithmetic import clip, positive
from graftsim.contact.timing import touching
from graftsim.solvers.normal import press


def push_out(
    A: Float[Array, "3n 3n"],
    depth: Float[Array, " n"],
    after: Float[Array, " n"],
    late: Float[Array, "n 3"],
    h: Float[Array, ""],
    alpha: Float[Array, ""],
    speed: Float[Array, ""],
) -> Float[Array, " n"]:
    """Normal impulses (N s) for positions only.

    `A`: velocities by impulses (1/kg). Positions have the normal velocities `after` (m/s) without
    impulses, and meet the impulses `late`.
    """
    inside = depth > touching(depth.dtype)

    def solve() -> Array:
        moving = after + A[::3] @ late.reshape(-1)
        wanted = jnp.where(inside, clip(alpha * depth / h, 0.0, speed), -positive(-depth) / h)
        return press(A[::3, ::3], moving - wanted)

    return jax.lax.cond(jnp.any(inside), solve, lambda: jnp.zeros_like(depth))
