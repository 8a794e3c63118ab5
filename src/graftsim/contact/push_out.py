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
from graftsim.solvers.cone import Method, Problem, solve_contact


def push_out(
    A: Float[Array, "3n 3n"],
    depth: Float[Array, " n"],
    moving: Float[Array, " n"],
    h: Float[Array, ""],
    alpha: Float[Array, ""],
    speed: Float[Array, ""],
    method: Method,
) -> Float[Array, "n 3"]:
    """Impulses (N s) for positions only. `moving`: normal velocities (m/s) that positions have."""
    inside = depth > touching(depth.dtype)
    wanted = jnp.where(inside, clip(alpha * depth / h, 0.0, speed), -positive(-depth) / h)
    b = moving - wanted
    none = jnp.zeros((len(b), 3), b.dtype)

    def solve() -> Array:
        problem = Problem(A, none.at[:, 0].set(b), jnp.zeros_like(b))
        return solve_contact(problem, none, method)

    return jax.lax.cond(jnp.any(inside & (b < 0)), solve, lambda: none)
