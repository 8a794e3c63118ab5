"""Convex shapes that may lie on each other, along a line or in a flat region.

With one shape tilted a little about the contact, the two touch at one end of that region; four such
ends, a quarter turn apart, hold it. What is taken from the tilted shapes is which pieces of surface
meet there: depth, position and normal are those of the shapes as they are.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.collision.convex import Kinds, Meeting, contact, meet, support, touching
from graftsim.contact.collision.shapes import ABSENT, Points, Shape, join
from graftsim.contact.collision.supports import farthest, moved_to, radius
from graftsim.model.shape_type import Convex
from graftsim.spatial.arithmetic import (
    Matrix,
    Scalar,
    Vector,
    direction,
    dot,
    to_shape,
    to_world,
)
from graftsim.spatial.rotation import about_axis, cross

# Angle (rad) of the tilt: shapes that are parallel but for less lie on each other.
_TILT = 0.01
# How often tilted shapes are shifted apart in the search, from the direction of the upright ones.
_SHIFTS = 3
# Contacts nearer than this multiple of tilt and size are one, points nearer than this (m^2) too.
_DISTINCT, _SAME = 4.0, 1e-12
# A direction that is along no axis and no edge of usual shapes.
_OBLIQUE = (0.45, 0.79, 0.42)


def several(kind_a: Convex, kind_b: Convex) -> Callable[[Shape, Shape], Points]:
    """Five candidates: four ends, and the contact itself.

    The contact stands for an end that coincides with it, and exists besides them if it is deeper.
    """
    kinds = kind_a, kind_b

    def collide(a: Shape, b: Shape) -> Points:
        n, x_a, x_b = touching(kinds, a, b)
        oblique = to_world(a.R, jnp.array(_OBLIQUE, n.dtype))
        _, t = direction(cross(n, oblique), a.R[:, 0])
        axes = jnp.stack([t, cross(n, t), -t, -cross(n, t)])

        def end(axis: Vector) -> Points:
            Q = about_axis(axis, jnp.asarray(_TILT, n.dtype))
            tilted = a._replace(R=to_world(Q, a.R.T).T, p=x_a + to_world(Q, a.p - x_a))
            guess = jax.lax.stop_gradient(n)[None]
            return _untilted(kinds, a, b, n, Q, meet(kinds, tilted, b, guess, _SHIFTS))

        ends = jax.tree.map(lambda x: x[:, 0], jax.vmap(end)(axes))
        points = join(ends, contact(n, x_a, x_b, radius(kind_a, a), radius(kind_b, b)))
        size = dot(n, support(kinds, a, b, n)[0] - support(kinds, a, b, -n)[0])
        return points._replace(depth=jnp.where(_exist(points, size), points.depth, ABSENT))

    return collide


def _untilted(kinds: Kinds, a: Shape, b: Shape, n: Vector, Q: Matrix, found: Meeting) -> Points:
    """The contact along n between the pieces of surface that met when `a` was turned by Q."""

    def points(kind: Convex, shape: Shape, n: Vector, seen: Vector, marks: Float[Array, "3 3"]):
        there = jax.vmap(lambda m: farthest(kind, shape, n, moved_to(kind, shape, seen, m)))
        return there(marks)

    y_a = points(kinds[0], a, n, to_shape(Q, found.n), found.marks[:, :3])
    y_b = points(kinds[1], b, -n, -found.n, found.marks[:, 3:])
    x_a, x_b = (jnp.sum(found.weights[:, None] * y, 0) for y in (y_a, y_b))
    # The foot of a point on a face moved with the tilt: a contact is where the point is.
    point_a, point_b = (_spread(y) < _SAME for y in (y_a, y_b))
    across = (x_a - x_b) - dot(n, x_a - x_b) * n
    part = jnp.where(point_a & ~point_b, 0.5, jnp.where(point_b & ~point_a, -0.5, 0.0))
    middle = contact(n, x_a, x_b, radius(kinds[0], a), radius(kinds[1], b))
    return middle._replace(position=middle.position + part.astype(n.dtype) * across)


def _spread(points: Float[Array, "3 3"]) -> Scalar:
    """Square of the largest distance from the first of three points."""
    offset = points[1:] - points[0]
    return jnp.max(dot(offset, offset))


def _exist(points: Points, size: Scalar) -> Array:
    """Mask of the candidates that are not the same as another one."""
    gap = points.position[:, None] - points.position
    same = dot(gap, gap) < (_DISTINCT * _TILT * size) ** 2
    near, repeated = same[4, :4], jnp.any(same[:4, :4] & np.tri(4, k=-1, dtype=bool), 1)
    deepest = points.depth[4] > jnp.max(points.depth[:4]) + _TILT**2 * size
    return jnp.append(~near & ~repeated, jnp.any(near) | deepest)
