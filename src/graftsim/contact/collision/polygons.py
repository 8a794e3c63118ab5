"""Convex polygons in the world's xy plane: against a disc, and against each other.

Corners run counter-clockwise, so that the normal of the edge e = (e_x, e_y) is (e_y, -e_x) / |e|.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from graftsim.contact.collision.shapes import ABSENT, Points, Shape, one
from graftsim.spatial.arithmetic import (
    Scalar,
    clip,
    direction,
    dot,
    greatest,
    pick_row,
    to_shape,
    to_world,
    top,
)

Planar = Float[Array, "*b 2"]
Corners = Float[Array, "n 2"]
# How much farther apart (m) the second polygon's best edge must see the two to be preferred.
_PREFERENCE = 1e-6


def _normals(v: Corners) -> tuple[Corners, Corners]:
    """Edges (from each corner to the next) and their unit normals to the outside."""
    e = jnp.roll(v, -1, 0) - v
    length = jnp.sqrt(dot(e, e))[:, None]
    return e, jnp.stack([e[:, 1], -e[:, 0]], -1) / length


def _on_segment(x: Planar, start: Planar, edge: Planar) -> Planar:
    """Nearest point of a segment."""
    part = clip(dot(x - start, edge) / dot(edge, edge), 0.0, 1.0)
    return start + part[..., None] * edge


def _distance(x: Planar, v: Corners) -> tuple[Scalar, Planar]:
    """Signed distance of a point from a polygon, and the direction in which it grows.

    Outside, the nearest edge decides; inside, the edge whose line is nearest.
    """
    e, n = _normals(v)
    behind = dot(n, x - v)
    gap = x - _on_segment(x, v, e)
    near = top(-jax.lax.stop_gradient(dot(gap, gap)))
    length, m = direction(pick_row(near, gap), pick_row(near, n))
    outside = (jnp.max(behind) > 0) & (length > 0)
    return (
        jnp.where(outside, length, greatest(behind)),
        jnp.where(outside, m, pick_row(top(behind), n)),
    )


def sphere(a: Shape, b: Shape) -> Points:
    """A disc, with its centre outside or inside."""
    s, m = _distance(to_shape(b.R, a.p - b.p)[:2], b.vertices[:, :2])
    n = -dot(b.R[:, :2], m)
    return one(a.size[0] - s, a.p + (a.size[0] + s) / 2 * n, n)


class _Edge(NamedTuple):
    """An edge of a polygon: where it starts, what leads to its end, its unit normal outside."""

    start: Planar
    along: Planar
    n: Planar


def _edge(which: Bool[Array, " n"], v: Corners, e: Corners, n: Corners) -> _Edge:
    return _Edge(pick_row(which, v), pick_row(which, e), pick_row(which, n))


def _either(first: Bool[Array, ""], a: _Edge, b: _Edge) -> _Edge:
    return _Edge(*(jnp.where(first, x, y) for x, y in zip(a, b, strict=True)))


def polygon(a: Shape, b: Shape) -> Points:
    """Two contacts: the ends of what of an edge of one polygon is over an edge of the other.

    The reference edge is the one over which all of the other polygon is highest; the incident edge
    is the other polygon's that faces it most, clipped to the part over the reference. While the
    polygons are apart, the nearer of the two is the exact pair of nearest points, which may be two
    corners.
    """
    v = a.vertices[:, :2]
    w = to_shape(a.R, b.p - a.p + to_world(b.R, b.vertices))[:, :2]
    (e_v, n_v), (e_w, n_w) = _normals(v), _normals(w)
    over_v, over_w = (
        jnp.min(jnp.sum(n[:, None] * (x - y[:, None]), -1), 1)
        for n, x, y in ((n_v, w, v), (n_w, v, w))
    )
    own = jnp.max(over_w) <= jnp.max(over_v) + _PREFERENCE
    best_v, best_w = _edge(top(over_v), v, e_v, n_v), _edge(top(over_w), w, e_w, n_w)
    reference = _either(own, best_v, best_w)
    facing_v, facing_w = (top(-dot(reference.n, n)) for n in (n_v, n_w))
    incident = _either(own, _edge(facing_w, w, e_w, n_w), _edge(facing_v, v, e_v, n_v))
    side = jnp.where(own, 1.0, -1.0).astype(v.dtype)
    depth, x, exists = _clipped(reference, incident)
    position, normal = x + depth[:, None] / 2 * reference.n, side * reference.n

    near_w, near_v = _nearest(w, v, e_v, n_v), _nearest(v, w, e_w, n_w)
    gap, middle, n = (
        jnp.where(near_w[0] <= near_v[0], x, y)
        for x, y in zip(near_w, (near_v[0], near_v[1], -near_v[2]), strict=True)
    )
    depth = jnp.where(exists, depth, ABSENT)
    apart = jnp.maximum(jnp.max(over_v), jnp.max(over_w)) > 0
    second = depth[1] > depth[0]
    here = apart & (jnp.stack([~second, second]))
    depth = jnp.where(here, -gap, depth)
    position = jnp.where(here[:, None], middle, position)
    normal = jnp.where(here[:, None], n, normal)
    flat = a.R[:, :2]
    return Points(
        depth, a.p + jnp.sum(flat * position[:, None], -1), jnp.sum(flat * normal[:, None], -1)
    )


def _clipped(
    reference: _Edge, incident: _Edge
) -> tuple[Float[Array, " 2"], Float[Array, "2 2"], Bool[Array, ""]]:
    """Depths under the reference edge and places of the ends of what of the incident is over it.

    Along the incident edge x = start + t along; over the reference's ends are t_0 and t_1. The
    last value is false where no part is between them.
    """
    e = reference.along
    run = dot(incident.along, e)
    level = jnp.abs(run) > 1e-9 * dot(e, e)
    t_0 = -dot(incident.start - reference.start, e) / jnp.where(level, run, 1.0)
    t_1 = t_0 + dot(e, e) / jnp.where(level, run, 1.0)
    lo, hi = jnp.where(run > 0, t_0, t_1), jnp.where(run > 0, t_1, t_0)
    t = clip(jnp.stack([lo, hi]), 0.0, 1.0)
    x = incident.start + t[:, None] * incident.along
    return -dot(reference.n, x - reference.start), x, level & (lo < 1) & (hi > 0)


def _nearest(x: Corners, v: Corners, e: Corners, n: Corners) -> tuple[Scalar, Planar, Planar]:
    """Distance, midpoint and direction (from v to x) of the corner x nearest to an edge of v."""
    fixed = jax.lax.stop_gradient((x, v, e))
    gap = fixed[0][:, None] - _on_segment(fixed[0][:, None], fixed[1], fixed[2])
    square = dot(gap, gap)
    corner = pick_row(top(-jnp.min(square, 1)), x)
    edge = _edge(top(-jnp.min(square, 0)), v, e, n)
    foot = _on_segment(corner, edge.start, edge.along)
    distance, m = direction(corner - foot, edge.n)
    return distance, (corner + foot) / 2, m
