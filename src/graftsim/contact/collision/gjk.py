"""The direction in which two convex shapes overlap least, or are farthest apart.

The points a - b of two convex shapes fill a convex set M with the support function
h(n) = max n . (a - b), the overlap along n. The shapes are parted along the unit vector that
minimises h; while they are apart, h is minus their distance there.

Seen from a point z outside M that direction comes from the nearest point of M, and the method of
Gilbert, Johnson & Keerthi (1988) finds it: the nearest point p of a triangle of points of M, then
the point of M farthest towards z - p in place of a corner. It ends after few steps for polyhedra.
Shapes that are apart are seen from z = 0. Others are first shifted apart along a guess n_0: from
z = D n_0 with D > h(n_0), the direction n to z minimises h(n) - D n . n_0 over the unit ball, so
that h(n) <= h(n_0) - D (1 - n . n_0): repeated, this descends to a minimum of h.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.spatial.arithmetic import Scalar, Vector, clip, direction, dot, pick, top

# Point of M farthest along a direction, and numbers that mark it.
Marks = Float[Array, " m"]
Support = Callable[[Vector], tuple[Vector, Marks]]
# Steps towards the nearest point for one z, and how often z is moved.
_STEPS, SHIFTS = 16, 5
# How far apart the shapes are shifted, and from what gap on they need not be: parts of their size.
_SHIFT, _APART = 0.02, 1e-3
# Below this the area of a triangle, relative to its sides, is rounding.
_FLAT = 1e-10
# The triangles of a new point and two of three old ones.
_SUBSETS = np.array([[0, 1, 3], [0, 2, 3], [1, 2, 3]])


class Triangle(NamedTuple):
    """Three points of M and their marks."""

    points: Float[Array, "*b 3 3"]
    marks: Float[Array, "*b 3 m"]


def on_plane(
    v: Float[Array, "*b 3 3"], z: Vector
) -> tuple[Float[Array, "*b 3"], Bool[Array, "*b"]]:
    """Weights of the corners v (rows) in the foot of z on their plane; is there no plane?"""
    edge_1, edge_2, r = v[..., 1, :] - v[..., 0, :], v[..., 2, :] - v[..., 0, :], z - v[..., 0, :]
    a, b, c = dot(edge_1, edge_1), dot(edge_1, edge_2), dot(edge_2, edge_2)
    x, y = dot(edge_1, r), dot(edge_2, r)
    area = a * c - b * b
    flat = area <= max(_FLAT, 10 * float(jnp.finfo(v.dtype).eps)) * a * c
    area = jnp.where(flat, 1.0, area)
    w_1, w_2 = (c * x - b * y) / area, (a * y - b * x) / area
    return jnp.stack([1 - w_1 - w_2, w_1, w_2], -1), flat


def nearest(v: Float[Array, "*b 3 3"], z: Vector) -> Float[Array, "*b 3"]:
    """Weights of the corners v (rows) in the point of a triangle that is nearest to z."""
    inner, flat = on_plane(v, z)
    inside = ~flat & jnp.all(inner >= 0, -1)
    # Else it is on one of the edges 0-1, 1-2, 2-0.
    along = jnp.roll(v, -1, -2) - v
    square = dot(along, along)
    t = dot(z[..., None, :] - v, along) / jnp.where(square > 0, square, 1.0)
    t = clip(t, 0.0, 1.0)
    gap = z[..., None, :] - v - t[..., None] * along
    best = top(-dot(gap, gap))
    outer = jnp.where(best, 1 - t, 0.0) + jnp.roll(jnp.where(best, t, 0.0), 1, -1)
    return jnp.where(inside[..., None], inner, outer)


def _mean(weights: Float[Array, "*b 3"], points: Float[Array, "*b 3 3"]) -> Vector:
    return jnp.sum(weights[..., None] * points, -2)


def _towards(support: Support, z: Vector, start: Vector) -> tuple[Triangle, Vector]:
    """Triangle of M nearest to z, and the direction from it to z."""
    triangle = Triangle(*(jnp.stack([x, x, x]) for x in support(start)))

    def step(_: int, state: tuple[Triangle, Vector]) -> tuple[Triangle, Vector]:
        old, way = state
        added = support(way)
        four = [jnp.concatenate([x, y[None]]) for x, y in zip(old, added, strict=True)]
        new = Triangle(*(x[_SUBSETS] for x in four))
        tried = Triangle(*(jnp.concatenate([x[None], y]) for x, y in zip(old, new, strict=True)))
        p = _mean(nearest(tried.points, z), tried.points)
        best = top(-dot(p - z, p - z))
        triangle = Triangle(*(pick(best, jnp.moveaxis(x, 0, -1)) for x in tried))
        return triangle, direction(z - pick(best, p.T), way)[1]

    p = triangle.points[0]
    return jax.lax.fori_loop(0, _STEPS, step, (triangle, direction(z - p, start)[1]))


def least_overlap(support: Support, guess: Vector, shifts: int = SHIFTS) -> tuple[Triangle, Vector]:
    """The direction n of least overlap, and the points of M that decide it.

    To be called with fixed values only: it has no derivatives. For overlapping shapes, n is a
    minimum of h that can be reached from the guess downhill.
    """
    far, marks = support(guess)
    size = dot(guess, far - support(-guess)[0])

    def shift(i: Scalar, state: tuple[Triangle, Vector, Scalar]) -> tuple[Triangle, Vector, Scalar]:
        _, old, away = state
        triangle, n = _towards(support, away * old, old)
        # Seen from 0, shapes that overlap show nothing.
        n = jnp.where((i > 0) | (dot(n, support(n)[0]) < dot(old, support(old)[0])), n, old)
        overlap = dot(n, support(n)[0])
        apart = overlap < -_APART * size
        return triangle, n, jnp.where(apart, 0.0, overlap + _SHIFT * size)

    three = Triangle(jnp.stack([far, far, far]), jnp.stack([marks, marks, marks]))
    state = three, guess, jnp.zeros((), guess.dtype)
    triangle, n, _ = jax.lax.fori_loop(0, shifts, shift, state)
    return triangle, n
