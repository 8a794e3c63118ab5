"""The point of a placed convex shape that is farthest along a direction, and its mark.

`graftsim.model.shape_type` says what marks are.
"""

from __future__ import annotations

import jax

from graftsim.contact.collision.shapes import Shape
from graftsim.model.shape_type import Convex, Mark
from graftsim.spatial.arithmetic import Scalar, Vector, to_shape, to_world


def radius(kind: Convex, shape: Shape) -> Scalar:
    """How far a rounded shape reaches beyond its core."""
    return kind.radius(shape.size)


def mark(kind: Convex, shape: Shape, n: Vector) -> Mark:
    """The piece of surface that is farthest along n (world)."""
    return kind.mark(shape.vertices, jax.lax.stop_gradient(to_shape(shape.R, n)))


def farthest(kind: Convex, shape: Shape, n: Vector, mark: Mark) -> Vector:
    """The point (world) of the marked piece that is farthest along n."""
    x = kind.farthest(shape.size, shape.vertices, to_shape(shape.R, n), mark)
    return shape.p + to_world(shape.R, x)


def moved_to(kind: Convex, shape: Shape, n: Vector, mark: Mark) -> Mark:
    """The mark, of a rim with the point that is farthest along n: for the cap next to it."""
    return kind.moved_to(shape.R, n, mark)
