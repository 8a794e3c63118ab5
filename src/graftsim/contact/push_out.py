"""Pushing apart what overlaps, in positions alone: no velocity and no energy of motion comes of it.

The velocities that positions move with get an addition of their own (split impulse): the least one,
in the sense of the inertia, with which every overlap of depth d shrinks by min(alpha d, s h) in a
step of length h and no gap closes further than it can; frictionless impulses, one problem for all.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.contact.timing import touching
from graftsim.seldom import seldom
from graftsim.solvers.normal import press
from graftsim.spatial.arithmetic import clip, positive


def push_out(
    A: Float[Array, "n n"],
    depth: Float[Array, " n"],
    moving: Float[Array, " n"],
    h: Float[Array, ""],
    alpha: Float[Array, ""],
    speed: Float[Array, ""],
) -> Float[Array, " n"]:
    """Normal impulses (N s) for positions only.

    `A`: normal velocities by normal impulses (1/kg); `moving`: those (m/s) that positions have.
    """
    inside = depth > touching(depth.dtype)

    def solve(_: Array) -> Array:
        wanted = jnp.where(inside, clip(alpha * depth / h, 0.0, speed), -positive(-depth) / h)
        return press(A, moving - wanted)

    return seldom(jnp.any(inside), solve, jnp.zeros_like(depth))
