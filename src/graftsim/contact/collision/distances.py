"""Signed distance of points from a shape, and the direction in which it grows.

Each function takes points x [..., 3] in the shape's axes and its sizes, and returns the distance s
[...] (m; negative inside) with the unit vector m [..., 3] that points from the nearest point of the
surface, x - s m, to the outside. Where the nearest point is not unique, one is taken and the slope
of s is the mean over all of them, so zero in every direction of symmetry.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.arithmetic import (
    Scalar,
    Vector,
    absolute,
    clip,
    direction,
    dot,
    greatest,
    positive,
    sign,
    top,
)

Distance = Callable[[Vector, Float[Array, " 3"]], tuple[Scalar, Vector]]

# The secular equation of an ellipsoid is solved to rounding within this number of Newton steps for
# ratios of semi-axes up to 50.
_STEPS = 12


def capsule(x: Vector, size: Float[Array, " 3"]) -> tuple[Scalar, Vector]:
    """From its segment along z, less the radius."""
    z = x[..., 2]
    d = jnp.stack([x[..., 0], x[..., 1], z - clip(z, -size[1], size[1])], -1)
    length, m = direction(d, jnp.array([1.0, 0.0, 0.0], x.dtype))
    return length - size[0], m


def box(x: Vector, size: Float[Array, " 3"]) -> tuple[Scalar, Vector]:
    """Outside from faces, edges or corners; inside from the nearest face."""
    s, m = _corner(absolute(x) - size)
    return s, sign(x) * m


def cylinder(x: Vector, size: Float[Array, " 3"]) -> tuple[Scalar, Vector]:
    """A rectangle in the plane of axis and point: distance rho from the axis, height z."""
    rho, u = direction(x[..., :2], jnp.array([1.0, 0.0], x.dtype))
    z = x[..., 2]
    s, m = _corner(jnp.stack([rho - size[0], absolute(z) - size[1]], -1))
    return s, jnp.concatenate([m[..., :1] * u, (sign(z) * m[..., 1])[..., None]], -1)


def _corner(q: Float[Array, "*b n"]) -> tuple[Scalar, Float[Array, "*b n"]]:
    """Distance and direction from {q <= 0}, the inner side of n planes at right angles."""
    length, m = direction(positive(q), top(q).astype(q.dtype))
    return jnp.where(length > 0, length, greatest(q)), m


def ellipsoid(x: Vector, size: Float[Array, " 3"]) -> tuple[Scalar, Vector]:
    """From the nearest point e w, |w| = 1, with semi-axes e.

    Normality of x - e w gives w = e x / (e^2 + t); t > -min e^2 solves the secular equation
    sum (e x / (e^2 + t))^2 = 1 (Eberly, Distance from a Point to an Ellipsoid). Newton's method on
    1/sqrt(sum) - 1, which is almost straight, climbs from the left to the root. One more step
    outside the loop carries the derivatives of t. Inside, on a plane of symmetry, x_i = 0 may
    have two nearest points, mirror images, with t + e_i^2 = 0 ("split"): the one at +w_i is taken.
    """
    fixed, e = jax.lax.stop_gradient(x), jax.lax.stop_gradient(size)
    least = 0.1 * jnp.sqrt(jnp.finfo(x.dtype).eps)
    y = e * jnp.maximum(jnp.abs(fixed), least * e)
    least_square = jnp.min(e * e)
    delta = e * e - least_square  # s = t + min e^2: no cancellation near the pole

    def climb(_: int, s: Scalar) -> Scalar:
        inverse = 1 / (s[..., None] + delta)
        p2 = (y * inverse) ** 2
        total = jnp.sum(p2, -1)
        return s + (jnp.sqrt(total) - 1) * total / dot(p2, inverse)

    s = jax.lax.fori_loop(0, _STEPS, climb, jnp.max(y - delta, -1))
    pole = s[..., None] + delta
    split = (jnp.abs(fixed) <= least * e) & (pole < 1e3 * least * e * e)
    smooth = ~jnp.any(split, -1)

    delta = size * size - least_square
    p = size * x / pole
    slope = jax.lax.stop_gradient(jnp.where(smooth, dot(p * p, 1 / pole), 1.0))
    p = size * x / (s[..., None] + delta)
    s = s + jnp.where(smooth, (dot(p, p) - 1) / (2 * slope), 0.0)
    w = jnp.where(split, sign(x) * y / pole, size * x / (s[..., None] + delta))
    w = w / jnp.sqrt(dot(w, w))[..., None]
    m = w / size
    m = m / jnp.sqrt(dot(m, m))[..., None]
    x = jnp.where(split, sign(x) * absolute(x), x)
    return dot(m, x - size * w), m
