"""Where the feet are, how joints move them, and the joints that put them somewhere."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.control.locomotion.legs import Legs
from graftsim.spatial import rotation


def feet_of(
    legs: Legs, angles: Float[Array, "4 3"]
) -> tuple[Float[Array, "4 3"], Float[Array, "4 3 3"]]:
    """Positions of the feet (m) and their Jacobians (m/rad, columns are joints), in the trunk."""
    return jax.vmap(_foot)(legs.axis, legs.point, legs.foot, angles)


def _foot(
    axis: Float[Array, "3 3"],
    point: Float[Array, "3 3"],
    foot: Float[Array, " 3"],
    angles: Float[Array, " 3"],
) -> tuple[Float[Array, " 3"], Float[Array, "3 3"]]:
    """Product of rotations about fixed lines, the knee's first: Brockett's formula."""
    axes, points = axis, point
    for k in (2, 1, 0):
        R = rotation.about_axis(axis[k], angles[k])
        foot = point[k] + R @ (foot - point[k])
        # What lies beyond joint k turns with it.
        axes = jnp.concatenate([axes[: k + 1], axes[k + 1 :] @ R.T])
        points = jnp.concatenate([points[: k + 1], point[k] + (points[k + 1 :] - point[k]) @ R.T])
    return foot, rotation.cross(axes, foot[None] - points).T


def angles_of(legs: Legs, feet: Float[Array, "4 3"]) -> Float[Array, "4 3"]:
    """Joint angles (rad) that put the feet at points of the trunk (m), in closed form.

    A point out of reach gives the stretched (or folded) leg that points to it.
    """
    return jax.vmap(_angles)(legs.axis, legs.point, legs.foot, legs.bend, feet)


def _angles(
    axis: Float[Array, "3 3"],
    point: Float[Array, "3 3"],
    foot: Float[Array, " 3"],
    bend: Float[Array, ""],
    target: Float[Array, " 3"],
) -> Float[Array, " 3"]:
    """Abduction from the distance that the foot keeps from the plane of the leg; then the triangle
    of thigh, shank and the line from hip to foot.

    Frame: `along` the abduction axis, `across` the leg's plane, `down` = along x across, towards
    which the foot may lie with either sign.
    """
    along, across = axis[0], axis[1]
    down = rotation.cross(along, across)
    offset = across @ (foot - point[0])
    rest, wanted = foot - point[0], target - point[0]
    y, z = across @ wanted, down @ wanted
    depth = jnp.sign(down @ rest) * _root(y * y + z * z - offset * offset)
    abduction = jnp.arctan2(z, y) - jnp.arctan2(depth, offset)

    def plane(x: Float[Array, " 3"]) -> Float[Array, " 2"]:
        # A positive turn about `across` leads from `down` to `along`.
        return jnp.stack([down @ x, along @ x])

    thigh, shank = plane(point[2] - point[1]), plane(foot - point[2])
    line = jnp.stack([depth, along @ wanted]) - plane(point[1] - point[0])
    a, b = jnp.sqrt(thigh @ thigh), jnp.sqrt(shank @ shank)
    cosine = jnp.clip((line @ line - a * a - b * b) / (2 * a * b), -1.0, 1.0)
    fold = bend * jnp.arccos(cosine)
    lead = jnp.arctan2(b * jnp.sin(fold), a + b * jnp.cos(fold))
    hip = _direction(line) - lead - _direction(thigh)
    knee = (fold + _direction(thigh) - _direction(shank)) * jnp.sign(across @ axis[2])
    angles = jnp.stack([abduction, hip, knee])
    return jnp.arctan2(jnp.sin(angles), jnp.cos(angles))


def _direction(x: Float[Array, " 2"]) -> Float[Array, ""]:
    return jnp.arctan2(x[1], x[0])


def _root(x: Float[Array, ""]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.maximum(x, 0.0))
