"""A plane against everything: which points of the other shape are lowest over it.

With unit normal n through p, a point x of the other shape is at depth n . (p - x), and the contact
lies half that depth above it. Of curved shapes the lowest points are taken, of others the corners.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.contact.collision.shapes import ABSENT, Points, Shape, one
from graftsim.contact.collision.supports import farthest, mark
from graftsim.model.contact_counts import FEW_CORNERS, MANY_CORNERS
from graftsim.model.shape_type import Convex
from graftsim.spatial.arithmetic import dot, to_shape, to_world

# Corners of a box, by the signs of x, y, z: ---, --+, ..., +++.
CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
# A cylinder that stands straighter than this (rad) touches with three fixed points of its rim.
_UPRIGHT = 1e-4
# Of a mesh with many corners: how far the directions lean (as a slope) in which it is searched.
_LEAN = 0.05


def _under(plane: Shape, x: Float[Array, "k 3"]) -> Points:
    """Contacts at the points x (world) of the other shape's surface."""
    n = plane.R[:, 2]
    depth = dot(n, plane.p - x)
    return Points(depth, x + depth[:, None] / 2 * n, jnp.broadcast_to(n, x.shape))


def sphere(plane: Shape, ball: Shape) -> Points:
    """Lowest point of a sphere."""
    n, r = plane.R[:, 2], ball.size[0]
    depth = r - dot(n, ball.p - plane.p)
    return one(depth, ball.p - (r - depth / 2) * n, n)


def capsule(plane: Shape, other: Shape) -> Points:
    """Lowest points of the two end spheres, that at -z first."""
    r, half, n = other.size[0], other.size[1], plane.R[:, 2]
    along = half * other.R[:, 2]
    return _under(plane, jnp.stack([other.p - along, other.p + along]) - r * n)


def box(plane: Shape, other: Shape) -> Points:
    """All eight corners, in the order of their signs along x, y, z: ---, --+, ..., +++."""
    corners = jnp.asarray(CORNERS, other.size.dtype) * other.size
    return _under(plane, other.p + to_world(other.R, corners))


def cylinder(plane: Shape, other: Shape) -> Points:
    """Three points of each rim, 120 degrees apart, one of them the lowest; that at -z first.

    The lowest one lies in the direction u of the plane's -n across the axis. Upright there is no
    such direction and all points of the rim are level: there the shape's own x is taken.
    """
    r, half = other.size[0], other.size[1]
    down = -to_shape(other.R, plane.R[:, 2])[:2]
    slope = jnp.sum(down * down)
    leans = slope > _UPRIGHT**2
    x_axis = jnp.array([1.0, 0.0], down.dtype)
    u = jnp.where(leans, down / jnp.sqrt(jnp.where(leans, slope, 1.0)), x_axis)
    across = jnp.array([-1.0, 1.0], u.dtype) * u[::-1] * (3**0.5 / 2)
    rim = r * jnp.stack([u, across - u / 2, -across - u / 2])
    z = jnp.repeat(jnp.stack([-half, half]), 3)[:, None]
    return _under(
        plane, other.p + to_world(other.R, jnp.concatenate([jnp.tile(rim, (2, 1)), z], 1))
    )


def ellipsoid(plane: Shape, other: Shape) -> Points:
    """Its support point: with semi-axes e and m = -n in its axes, e^2 m / |e m|."""
    m = -other.size * to_shape(other.R, plane.R[:, 2])
    lowest = other.size * m / jnp.sqrt(dot(m, m))
    return _under(plane, (other.p + to_world(other.R, lowest))[None])


def support(kind: Convex) -> Callable[[Shape, Shape], Points]:
    """The point of a convex shape that is farthest below the plane."""

    def collide(plane: Shape, other: Shape) -> Points:
        n = plane.R[:, 2]
        lowest = farthest(kind, other, -n, mark(kind, other, -n)) - kind.radius(other.size) * n
        return _under(plane, lowest[None])

    return collide


def corners(plane: Shape, other: Shape) -> Points:
    """Every vertex of a polygon or mesh; of a mesh with many, those that can be lowest.

    These are the lowest one along n and along directions that lean from n by 3 degrees, all around:
    of a face that lies on the plane they find the outermost corners. One found twice counts once.
    """
    if len(other.vertices) <= MANY_CORNERS:
        return _under(plane, other.p + to_world(other.R, other.vertices))
    angle = 2 * np.pi / (FEW_CORNERS - 1) * np.arange(FEW_CORNERS - 1)
    ways = np.stack([_LEAN * np.cos(angle), _LEAN * np.sin(angle), np.ones_like(angle)], 1)
    ways = jnp.asarray(np.concatenate([[[0, 0, 1]], ways]), other.p.dtype)
    v = jax.lax.stop_gradient(other.vertices)
    ways = jax.lax.stop_gradient(to_shape(other.R, to_world(plane.R, ways)))
    lowest = jnp.argmin(jnp.sum(ways[:, None] * v, -1), -1)
    points = _under(plane, other.p + to_world(other.R, other.vertices[lowest]))
    repeated = jnp.any(np.tri(FEW_CORNERS, k=-1, dtype=bool) & (lowest[:, None] == lowest), 1)
    return points._replace(depth=jnp.where(repeated, ABSENT, points.depth))
