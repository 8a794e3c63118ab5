"""A sphere against everything: the signed distance of its centre from the other shape.

Where the other surface is at distance s from the centre, in direction m away from it, the overlap
is r - s and the contact lies at c - (r + s)/2 m, with the centre outside (s > 0) and inside (s < 0)
alike.
"""

from __future__ import annotations

from collections.abc import Callable

from graftsim.contact.collision import distances
from graftsim.contact.collision.distances import Distance
from graftsim.contact.collision.shapes import Points, Shape, one
from graftsim.spatial.arithmetic import (
    Scalar,
    Vector,
    clip,
    direction,
    dot,
    to_shape,
    to_world,
)


def balls(
    center_a: Vector, r_a: Scalar, center_b: Vector, r_b: Scalar, fallback: Vector
) -> tuple[Scalar, Vector, Vector]:
    """Depth, position and normal of two balls; concentric ones part along `fallback`."""
    distance, n = direction(center_b - center_a, fallback)
    depth = r_a + r_b - distance
    return depth, center_a + (r_a - depth / 2)[..., None] * n, n


def sphere(a: Shape, b: Shape) -> Points:
    """Two spheres."""
    return one(*balls(a.p, a.size[0], b.p, b.size[0], b.R[:, 2]))


def capsule(a: Shape, b: Shape) -> Points:
    """The ball of the capsule that is nearest to the sphere."""
    axis, half = b.R[:, 2], b.size[1]
    along = clip(dot(axis, a.p - b.p), -half, half)
    return one(*balls(a.p, a.size[0], b.p + along * axis, b.size[0], b.R[:, 0]))


def surface(r: Scalar, x: Vector, solid: Shape, distance: tuple[Scalar, Vector]) -> Points:
    """Balls of radius r about the points x [k, 3] in the solid's axes, as first shape."""
    s, m = distance
    position = solid.p + to_world(solid.R, x - ((r + s) / 2)[..., None] * m)
    return Points(r - s, position, -to_world(solid.R, m))


def against(distance: Distance) -> Callable[[Shape, Shape], Points]:
    """Contact of a sphere with a shape whose signed distance is known."""

    def collide(a: Shape, b: Shape) -> Points:
        x = to_shape(b.R, a.p - b.p)[None]
        return surface(a.size[0], x, b, distance(x, b.size))

    return collide


box, cylinder, ellipsoid = (
    against(d) for d in (distances.box, distances.cylinder, distances.ellipsoid)
)
