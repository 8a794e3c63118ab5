"""Sections of the friction cone, and the nearest point in them: a disc, a square, a polygon."""

from __future__ import annotations

from typing import Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.spatial import safe

# Coulomb's disc; a square, each tangent direction bounded by itself; or a polygon with corners at
# the given angles (rad, ascending).
Section = Literal["cone", "pyramid"] | tuple[float, ...]


class Projection(NamedTuple):
    """Nearest point of K(r) to z, and its derivatives by z and by r."""

    point: Float[Array, "n 2"]
    by_z: Float[Array, "n 2 2"]
    by_r: Float[Array, "n 2"]


def corners(angles: tuple[float, ...]) -> np.ndarray:
    """[2, nd]: unit vectors in the tangent plane."""
    return np.stack([np.cos(angles), np.sin(angles)]).round(15)


def project(z: Float[Array, "n 2"], r: Float[Array, " n"], section: Section) -> Projection:
    """The point of K(r) nearest to z."""
    if section == "cone":
        return _disc(z, r)
    if section == "pyramid":
        return _square(z, r)
    return _polygon(z, r, corners(section))


def contains(z: Float[Array, "n 2"], r: Float[Array, " n"], section: Section) -> Bool[Array, " n"]:
    """Whether z lies in K(r)."""
    if section == "cone":
        return jnp.sum(z * z, -1) <= r * r
    if section == "pyramid":
        return jnp.all(jnp.abs(z) <= r[:, None], -1)
    return jnp.all(project(z, r, section).point == z, -1)


def _disc(z: Float[Array, "n 2"], r: Float[Array, " n"]) -> Projection:
    length = safe.norm(z)
    outside = length > r
    unit = z / jnp.where(length > 0, length, 1.0)[:, None]
    share = jnp.where(outside, r / jnp.where(outside, length, 1.0), 1.0)
    eye = jnp.eye(2, dtype=z.dtype)
    across = eye - unit[:, :, None] * unit[:, None, :]
    return Projection(
        share[:, None] * z,
        jnp.where(outside[:, None, None], share[:, None, None] * across, eye),
        jnp.where(outside[:, None], unit, 0.0),
    )


def _square(z: Float[Array, "n 2"], r: Float[Array, " n"]) -> Projection:
    outside = jnp.abs(z) > r[:, None]
    side = jnp.where(outside, jnp.sign(z), 0.0)
    return Projection(
        jnp.where(outside, side * r[:, None], z),
        jnp.where(outside, 0.0, 1.0)[:, :, None] * jnp.eye(2, dtype=z.dtype),
        side,
    )


def _polygon(z: Float[Array, "n 2"], r: Float[Array, " n"], D: np.ndarray) -> Projection:
    """The nearest of the sides, each a stretch of a line n.p = r h between two corners."""
    nd = D.shape[1]
    # A cone without friction is a point; which corner it grows to first is seen from a small one.
    seen = jnp.where(r > 0, r, 1e-3 * safe.norm(z))
    nearest = Projection(z, jnp.broadcast_to(jnp.eye(2, dtype=z.dtype), (*z.shape, 2)), 0 * z)
    shortest = jnp.full(r.shape, jnp.inf, z.dtype)
    inside = jnp.ones(r.shape, bool)
    sides = []
    for k in range(nd):
        a, b = D[:, k], D[:, (k + 1) % nd]
        length = float(np.linalg.norm(b - a))
        along = (b - a) / length
        normal = np.array([along[1], -along[0]])
        height = float(normal @ a)
        inside &= z @ normal <= r * height
        t = z @ along - seen * float(along @ a)
        on = (t > 0) & (t < r * length) & (r > 0)
        at_a = t <= jnp.where(r > 0, 0.0, seen * length / 2)
        corner = jnp.where(at_a[:, None], a, b)
        flat = (z @ along)[:, None] * along + r[:, None] * (height * normal)
        point = jnp.where(on[:, None], flat, r[:, None] * corner)
        found = Projection(
            point,
            jnp.where(on[:, None, None], np.outer(along, along), 0.0),
            jnp.where(on[:, None], height * normal, corner),
        )
        there = jnp.where((r > 0)[:, None], point, seen[:, None] * corner)
        sides.append((found, jnp.sum((z - there) ** 2, -1)))
    for side, distance in sides:
        closer = ~inside & (distance < shortest)
        shortest = jnp.where(closer, distance, shortest)
        nearest = Projection(
            *(
                jnp.where(closer.reshape(-1, *([1] * (x.ndim - 1))), x, y)
                for x, y in zip(side, nearest, strict=True)
            )
        )
    return nearest
