"""Vector arithmetic and choices for functions of shapes: exact, and safe to differentiate.

Sums of products are written out instead of `@`: on accelerators that would be rounded to fewer
digits than positions need, and elsewhere it is no faster at three numbers.

Choices are comparisons followed by `where`. The derivatives of `max`, `min` and `clip` ask whether
an argument equals the result; a compiler that computes the argument twice, rounded differently,
makes that false for all of them, and the derivative 0/0. A comparison is safe from that.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

Scalar = Float[Array, "*b"]
Vector = Float[Array, "*b 3"]
Matrix = Float[Array, "3 3"]

# Below the root of it (m) a distance has no direction; its third power is a number in float32.
_TINY = 1e-20


def dot(a: Float[Array, "*b n"], b: Float[Array, "*b n"]) -> Scalar:
    """a . b over the last axis."""
    return jnp.sum(a * b, -1)


def to_world(R: Matrix, v: Vector) -> Vector:
    """R v: a direction in the shape's axes to the world's."""
    return jnp.sum(R * v[..., None, :], -1)


def to_shape(R: Matrix, v: Vector) -> Vector:
    """R^T v: a direction in the world's axes to the shape's."""
    return jnp.sum(R * v[..., :, None], -2)


def between(R: Matrix, S: Matrix) -> Matrix:
    """R^T S: columns are the axes of S in those of R."""
    return jnp.sum(R[:, :, None] * S[:, None, :], 0)


def direction(
    d: Float[Array, "*b n"], fallback: Float[Array, "*b n"]
) -> tuple[Scalar, Float[Array, "*b n"]]:
    """Length and unit vector of d; at d = 0 the fallback, and gradient 0 of the length."""
    s = dot(d, d)
    far = s > _TINY
    length = jnp.sqrt(jnp.where(far, s, 1.0))
    unit = jnp.where(far[..., None], d / length[..., None], fallback)
    return jnp.where(far, length, 0.0), unit


def sign(x: Scalar) -> Scalar:
    """1 or -1, also at 0: the side of a surface that a point is on."""
    return jnp.where(x < 0, -1.0, 1.0).astype(x.dtype)


def absolute(x: Scalar) -> Scalar:
    """|x|, with slope 0 at 0: the mean of both sides, where JAX takes the right one."""
    return x * jnp.sign(x)


def positive(x: Scalar) -> Scalar:
    """The larger of x and 0."""
    return jnp.where(x > 0, x, 0.0)


def clip(x: Scalar, low: Scalar | float, high: Scalar | float) -> Scalar:
    """x, or the bound that it is beyond."""
    return jnp.where(x < low, low, jnp.where(x > high, high, x))


def top(values: Float[Array, "*b n"]) -> Bool[Array, "*b n"]:
    """Mask of the largest value along the last axis, the first one of equals."""
    index = jnp.argmax(jax.lax.stop_gradient(values), -1)
    return index[..., None] == jnp.arange(values.shape[-1])


def pick(which: Bool[Array, "*b n"], values: Float[Array, "*b n"]) -> Scalar:
    """The value along the last axis that a mask marks."""
    return jnp.sum(jnp.where(which, values, 0.0), -1)


def pick_row(which: Bool[Array, " n"], rows: Float[Array, "n k"]) -> Float[Array, " k"]:
    """The row that a mask marks."""
    return pick(which, rows.T)


def greatest(values: Float[Array, "*b n"]) -> Scalar:
    """Largest value along the last axis, with the mean slope of those that tie."""
    fixed = jax.lax.stop_gradient(values)
    rounding = 4 * jnp.finfo(values.dtype).eps * jnp.max(jnp.abs(fixed), -1, keepdims=True)
    ties = fixed >= jnp.max(fixed, -1, keepdims=True) - rounding
    return pick(ties, values) / jnp.sum(ties, -1)
