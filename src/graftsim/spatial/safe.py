"""Functions whose textbook form has 0/0 or an infinite slope at one point, made smooth there.

Every place of the engine that needs a norm, a square root or sin(x)/x goes through here, so that
gradients at rest are the right finite numbers (conformance G2, G3). All use the double `where`:
the branch that is not taken is evaluated at a harmless argument, so its gradient is finite too.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

# Below this the series is used. Its first dropped term is under 1e-17 of the value at the seam.
_SMALL = 1e-2


def norm(x: Float[Array, "*batch n"]) -> Float[Array, "*batch"]:
    """Euclidean norm over the last axis, with gradient 0 (the one-sided mean) at x = 0."""
    return sqrt(jnp.sum(x * x, axis=-1))


def sqrt(s: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """Square root of s >= 0, with gradient 0 instead of infinity at s = 0."""
    positive = s > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, s, 1.0)), 0.0)


def cos_sqrt(s: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """cos(sqrt(s)) as an analytic function of s >= 0, all derivatives finite at 0."""
    small = s < _SMALL
    series = 1 + s * (-1 / 2 + s * (1 / 24 + s * (-1 / 720 + s * (1 / 40320 - s / 3628800))))
    return jnp.where(small, series, jnp.cos(jnp.sqrt(jnp.where(small, 1.0, s))))


def sinc_sqrt(s: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """sin(sqrt(s)) / sqrt(s) as an analytic function of s >= 0, all derivatives finite at 0."""
    small = s < _SMALL
    series = 1 + s * (-1 / 6 + s * (1 / 120 + s * (-1 / 5040 + s * (1 / 362880 - s / 39916800))))
    root = jnp.sqrt(jnp.where(small, 1.0, s))
    return jnp.where(small, series, jnp.sin(root) / root)


def angle_per_sine(s: Float[Array, "*batch"], w: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """atan2(sqrt(s), w) / sqrt(s) for s >= 0, w >= 0: half-angle over the quaternion's vector norm.

    Analytic at s = 0, where it is 1/w; the logarithm of a rotation needs it.
    """
    small = s < _SMALL * w * w
    w_safe = jnp.where(small, w, 1.0)
    t = jnp.where(small, s, 0.0) / (w_safe * w_safe)
    series = (
        1
        - t
        * (1 / 3 - t * (1 / 5 - t * (1 / 7 - t * (1 / 9 - t * (1 / 11 - t * (1 / 13 - t / 15))))))
    ) / (w_safe)
    root = jnp.sqrt(jnp.where(small, 1.0, s))
    return jnp.where(small, series, jnp.arctan2(root, w) / root)


def tanh_ratio(x: Float[Array, "*batch"]) -> Float[Array, "*batch"]:
    """tanh(x) / x, all derivatives finite at 0, where it is 1."""
    small = jnp.abs(x) < 0.05
    s = jnp.where(small, x, 0.0) ** 2
    series = 1 - s * (1 / 3 - s * (2 / 15 - s * (17 / 315 - s * (62 / 2835 - s * (1382 / 155925)))))
    large = jnp.where(small, 1.0, x)
    return jnp.where(small, series, jnp.tanh(large) / large)


def normalise(x: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """x / |x| over the last axis; the zero vector stays zero with zero gradient."""
    length = norm(x)
    return x / jnp.where(length > 0, length, 1.0)[..., None]
