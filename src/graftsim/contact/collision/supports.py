"""The point of each convex shape that is farthest along a direction.

All functions take the direction n [3] in the shape's axes. A second direction makes the discrete
choices (which corner, which end), so that the chosen piece of surface can be followed as n changes.
Rounded shapes are given as what they are without their radius.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from graftsim.contact.collision.arithmetic import (
    Scalar,
    Vector,
    direction,
    dot,
    sign,
    to_shape,
    to_world,
)
from graftsim.contact.collision.shapes import Shape

Support = Callable[[Shape, Vector, Vector], Vector]

# Sine of the angle between n and a cylinder's axis below which all of the end cap is farthest.
_CAP = 3e-5


def _sphere(shape: Shape, n: Vector, choice: Vector) -> Vector:
    return jnp.zeros_like(n)


def _capsule(shape: Shape, n: Vector, choice: Vector) -> Vector:
    return jnp.zeros_like(n).at[2].set(sign(choice[2]) * shape.size[1])


def _box(shape: Shape, n: Vector, choice: Vector) -> Vector:
    return sign(choice) * shape.size


def _on_cap(n: Vector) -> Bool[Array, ""]:
    return dot(n[:2], n[:2]) < _CAP**2 * dot(n, n)


def _cylinder(shape: Shape, n: Vector, choice: Vector) -> Vector:
    """A point of a rim; of a cap, the one that the choice leans towards, fixed to the shape."""
    x_axis = jnp.array([1.0, 0.0], n.dtype)
    capped = _on_cap(n)
    _, u = direction(jnp.where(capped, jax.lax.stop_gradient(choice[:2]), n[:2]), x_axis)
    return jnp.concatenate([shape.size[0] * u, (sign(choice[2]) * shape.size[1])[None]])


def _ellipsoid(shape: Shape, n: Vector, choice: Vector) -> Vector:
    m = shape.size * n
    return shape.size * m / jnp.sqrt(dot(m, m))


def _mesh(shape: Shape, n: Vector, choice: Vector) -> Vector:
    return shape.vertices[jnp.argmax(dot(shape.vertices, choice))]


SUPPORTS: dict[str, Support] = {
    "sphere": _sphere,
    "capsule": _capsule,
    "box": _box,
    "cylinder": _cylinder,
    "ellipsoid": _ellipsoid,
    "mesh": _mesh,
}


def radius(kind: str, shape: Shape) -> Scalar:
    """How far a rounded shape reaches beyond its core."""
    return shape.size[0] if kind in ("sphere", "capsule") else jnp.zeros((), shape.size.dtype)


def farthest(kind: str, shape: Shape, n: Vector, choice: Vector) -> Vector:
    """The same point in the world, for directions of the world."""
    local = SUPPORTS[kind](shape, to_shape(shape.R, n), to_shape(shape.R, choice))
    return shape.p + to_world(shape.R, local)


def piece(kind: str, shape: Shape, n: Vector, choice: Vector) -> Vector:
    """The choice that leads to the same piece of surface, seen from n, for directions near n too.

    On a rim, n says where; on the end cap next to it only the choice can.
    """
    if kind != "cylinder":
        return choice
    n, choice = to_shape(shape.R, n), to_shape(shape.R, choice)
    on_rim = jnp.concatenate([n[:2], choice[2:]])
    return to_world(shape.R, jnp.where(_on_cap(n), choice, on_rim))
