"""What goes into a collision function and what comes out."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.arithmetic import Scalar, Vector

# Depth (m) of a candidate that does not exist in the present configuration.
ABSENT = -1e3


class Shape(NamedTuple):
    """One shape, placed in the world.

    R [3, 3]: columns are its axes; p [3]: position (m); size [3]: sizes (m) after MuJoCo;
    vertices [n, 3]: corners of a mesh or polygon in its own frame (m), else [0, 3].
    """

    R: Float[Array, "3 3"]
    p: Float[Array, " 3"]
    size: Float[Array, " 3"]
    vertices: Float[Array, "n 3"]


class Points(NamedTuple):
    """The k candidate contacts of two shapes.

    depth [k] (m): overlap, or minus the gap; position [k, 3] (m): midway between the surfaces;
    normal [k, 3]: unit, from the first shape to the second. All in the world.
    """

    depth: Float[Array, " k"]
    position: Float[Array, "k 3"]
    normal: Float[Array, "k 3"]


def one(depth: Scalar, position: Vector, normal: Vector) -> Points:
    """Points of a pair with a single candidate."""
    return Points(depth[None], position[None], normal[None])


def join(*parts: Points) -> Points:
    """All candidates of several."""
    return Points(*(jnp.concatenate(x) for x in zip(*parts, strict=True)))
