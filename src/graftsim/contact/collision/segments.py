"""Segments, the cores of capsules and the edges of boxes: nearest points, and clipping."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.arithmetic import Scalar, Vector, clip, dot, pick, top

# Square of the sine below which two lines count as parallel.
_PARALLEL = 1e-12
# Shift (m) per unit of t below which a line is parallel to a slab.
_LEVEL = 1e-6
_FAR = 1e6


def nearest(
    r: Vector, u: Vector, half_a: Scalar, v: Vector, half_b: Scalar
) -> tuple[Scalar, Scalar]:
    """(s, t) of the nearest points s u and r + t v, |s| <= half_a, |t| <= half_b; u, v unit.

    The lines are nearest at s = w . r / |w|^2 with w = u - (u . v) v; clipping s, then the t that
    belongs to it, then the s that belongs to that, gives the segments' (Ericson, Real-Time
    Collision Detection, 5.1.9).
    """
    w = u - dot(u, v)[..., None] * v
    sine2 = dot(w, w)
    crossed = sine2 > _PARALLEL
    s = jnp.where(crossed, dot(w, r) / jnp.where(crossed, sine2, 1.0), 0.0)
    t = beside(clip(s, -half_a, half_a), -r, v, u, half_b)
    return beside(t, r, u, v, half_a), t


def beside(t: Scalar, r: Vector, u: Vector, v: Vector, half: Scalar) -> Scalar:
    """s of the point s u, |s| <= half, that is nearest to r + t v."""
    return clip(dot(u, r) + dot(u, v) * t, -half, half)


def slabs(
    x: Float[Array, "*b n"], d: Float[Array, "*b n"], h: Float[Array, "*b n"]
) -> tuple[Float[Array, "*b n"], Float[Array, "*b n"]]:
    """Where x + t d enters and leaves -h <= . <= h, for each coordinate by itself.

    A line that is parallel to a slab is inside it all the way or never: it enters and leaves far
    before and behind all that matters, or the other way round.
    """
    level = jnp.abs(d) < _LEVEL
    run = jnp.where(level, 1.0, d)
    low, high = (-h - x) / run, (h - x) / run
    always = jnp.where(jnp.abs(x) <= h, _FAR, -_FAR)
    enter = jnp.where(level, -always, jnp.where(run > 0, low, high))
    return enter, jnp.where(level, always, jnp.where(run > 0, high, low))


def inside(
    enter: Float[Array, "*b n"], leave: Float[Array, "*b n"], low: Scalar, high: Scalar
) -> tuple[Scalar, Scalar]:
    """What of low <= t <= high is inside all slabs: from the last entry to the first exit.

    Empty where the second number is less than the first.
    """
    first, last = pick(top(enter), enter), pick(top(-leave), leave)
    return jnp.where(first < low, low, first), jnp.where(last > high, high, last)
