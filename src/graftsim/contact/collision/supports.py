"""The point of each convex shape that is farthest along a direction.

It is found in two steps. First a mark is made: which corner, which end, which side of the rim.
Then the marked piece of surface can be followed as the direction changes, without a leap to the
next corner when two are equally far. Rounded shapes are taken without their radius.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

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

Mark = Float[Array, " 3"]

# Sine of the angle between direction and axis below which all of a cylinder's cap is farthest.
_CAP = 3e-5


def radius(kind: str, shape: Shape) -> Scalar:
    """How far a rounded shape reaches beyond its core."""
    return shape.size[0] if kind in ("sphere", "capsule") else jnp.zeros((), shape.size.dtype)


def mark(kind: str, shape: Shape, n: Vector) -> Mark:
    """The piece of surface that is farthest along n (world): three numbers without derivatives.

    Of corners and ends their signs, of a rim its side with the unit vector to the point, of a mesh
    the number of the corner.
    """
    n = jax.lax.stop_gradient(to_shape(shape.R, n))
    if kind == "cylinder":
        return _round(n, sign(n[2]))
    if kind == "mesh":
        corner = jnp.argmax(dot(jax.lax.stop_gradient(shape.vertices), n))
        return jnp.zeros_like(n).at[0].set(corner.astype(n.dtype))
    return sign(n)


def farthest(kind: str, shape: Shape, n: Vector, mark: Mark) -> Vector:
    """The point (world) of the marked piece that is farthest along n."""
    n = to_shape(shape.R, n)
    if kind == "sphere":
        x = jnp.zeros_like(n)
    elif kind == "capsule":
        x = jnp.zeros_like(n).at[2].set(mark[2] * shape.size[1])
    elif kind == "box":
        x = mark * shape.size
    elif kind == "cylinder":
        u = jnp.where(_on_cap(n), mark, _round(n, mark[2]))
        x = u * jnp.stack([shape.size[0], shape.size[0], shape.size[1]])
    elif kind == "ellipsoid":
        m = shape.size * n
        x = shape.size * m / jnp.sqrt(dot(m, m))
    else:
        x = shape.vertices[mark[0].astype(int)]
    return shape.p + to_world(shape.R, x)


def moved_to(kind: str, shape: Shape, n: Vector, mark: Mark) -> Mark:
    """The mark, of a rim with the point that is farthest along n: for the cap next to it."""
    if kind != "cylinder":
        return mark
    n = to_shape(shape.R, n)
    return jnp.where(_on_cap(n), mark, _round(n, mark[2]))


def _round(n: Vector, side: Scalar) -> Vector:
    """Unit vector of n across the axis, and the side."""
    _, u = direction(n[:2], jnp.array([1.0, 0.0], n.dtype))
    return jnp.append(u, side)


def _on_cap(n: Vector) -> Bool[Array, ""]:
    return dot(n[:2], n[:2]) < _CAP**2 * dot(n, n)
