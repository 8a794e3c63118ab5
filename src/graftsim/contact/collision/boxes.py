"""Two boxes: separating axes, then one face clipped against another, or one edge against another.

Two boxes are apart when an axis among the 3 + 3 face normals and the 9 cross products of edges
separates them (Gottschalk, Lin & Manocha, OBBTree, 1996). The axis along which the gap is largest
(the overlap smallest) names the features that touch. With a face, the box it belongs to is the
reference; the face of the other box that looks at it most is the incident one.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.contact.collision import distances, segments
from graftsim.contact.collision.planes import CORNERS
from graftsim.contact.collision.shapes import ABSENT, Points, Shape, join, one
from graftsim.contact.collision.spheres import surface
from graftsim.spatial.arithmetic import (
    Scalar,
    between,
    clip,
    direction,
    dot,
    pick,
    pick_row,
    positive,
    sign,
    to_shape,
    to_world,
    top,
)
from graftsim.spatial.rotation import cross

# A stack should keep its four corners: an edge must be this part of the gap or overlap, and of
# the size, better than the best face, and the second box's faces better than the first's.
_BETTER, _BETTER_SIZE = 0.05, 1e-5
# Edges are parallel below this sine squared.
_PARALLEL = 1e-6
# Corners of a face, counter-clockwise, as multiples of its two half sides.
_AROUND = np.array([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])


class _Axes(NamedTuple):
    """Gaps along the separating axes, and which is best (masks of three, or of three by three)."""

    face: Scalar
    second: Bool[Array, ""]
    axis: Bool[Array, " 3"]
    edge: Scalar
    edges: Bool[Array, "3 3"]


class _Face(NamedTuple):
    """A box seen from one of its faces: columns of R are two sides of the face and its axis.

    R [3, 3]; p [3]: centre of the box; h [3]: half sides, in that order.
    """

    R: Float[Array, "3 3"]
    p: Float[Array, " 3"]
    h: Float[Array, " 3"]


def box(a: Shape, b: Shape) -> Points:
    """Thirteen candidates: eight ends of clipped incident edges, four corners of the reference
    face, and one pair of edges.

    An end that the next edge starts with counts once, so that at most eight of the twelve exist.
    While the boxes are apart, the last candidate is the exact pair of nearest points (edges, or a
    corner and anything), unless one of the others is as near.
    """
    axes = _separate(*jax.lax.stop_gradient((a, b)))
    apart = jnp.maximum(axes.face, axes.edge) > 0
    margin = _BETTER * jnp.abs(axes.face) + _BETTER_SIZE * jnp.min(a.size)
    by_edge = axes.edge > axes.face + margin
    faces = _faces(a, b, axes)
    shown = jnp.where(apart, axes.face > 0, ~by_edge)
    faces = faces._replace(depth=jnp.where(shown, faces.depth, ABSENT))

    edges, corner = _edges(a, b, axes.edges, apart), _corner(a, b)
    nearest = jax.tree.map(
        lambda x, y: jnp.where(apart & (corner.depth[0] > edges.depth[0]), x, y), corner, edges
    )
    new = nearest.depth[0] > jnp.max(faces.depth) + _BETTER_SIZE * jnp.min(a.size)
    depth = jnp.where(jnp.where(apart, new, by_edge), nearest.depth, ABSENT)
    return join(faces, nearest._replace(depth=depth))


def _separate(a: Shape, b: Shape) -> _Axes:
    """The gap along an axis l is |l . t| less what both boxes reach along it."""
    C = between(a.R, b.R)  # columns: axes of b in those of a
    t = to_shape(a.R, b.p - a.p)
    reach = jnp.abs(C)
    gap_a = jnp.abs(t) - a.size - jnp.sum(reach * b.size, 1)
    gap_b = jnp.abs(jnp.sum(C * t[:, None], 0)) - b.size - jnp.sum(reach * a.size[:, None], 0)
    best_a, best_b = jnp.max(gap_a), jnp.max(gap_b)
    second = best_b > best_a + _BETTER * jnp.abs(best_a) + _BETTER_SIZE * jnp.min(a.size)
    axis = jnp.where(second, top(gap_b), top(gap_a))

    lines = cross(jnp.eye(3, dtype=C.dtype)[:, None], C.T[None])  # [i, j]: e_i x column j
    sine2 = dot(lines, lines)
    crossed = sine2 > _PARALLEL
    along_b = jnp.sum(jnp.abs(jnp.sum(lines[:, :, :, None] * C, 2)) * b.size, -1)
    gaps = jnp.abs(dot(lines, t)) - dot(jnp.abs(lines), a.size) - along_b
    gaps = jnp.where(crossed, gaps / jnp.sqrt(jnp.where(crossed, sine2, 1.0)), ABSENT)
    edges = top(gaps.ravel()).reshape(3, 3)
    return _Axes(jnp.maximum(best_a, best_b), second, axis, jnp.max(gaps), edges)


def _swapped(a: Shape, b: Shape, swap: Bool[Array, ""]) -> tuple[Shape, Shape, Scalar]:
    """Both shapes in either order, and the sign of a normal from the one to the other."""
    first, other = (
        Shape(*(jnp.where(swap, y, x) for x, y in zip(*pair, strict=True)))
        for pair in ((a, b), (b, a))
    )
    return first, other, jnp.where(swap, -1.0, 1.0).astype(a.p.dtype)


def _seen_from(shape: Shape, axis: Bool[Array, " 3"]) -> _Face:
    """Axes in cyclic order, the marked one last."""
    R, h = (
        jnp.where(axis[0], jnp.roll(x, -1, -1), jnp.where(axis[1], jnp.roll(x, 1, -1), x))
        for x in (shape.R, shape.size)
    )
    return _Face(R, shape.p, h)


def _faces(a: Shape, b: Shape, axes: _Axes) -> Points:
    """Twelve candidates between the reference face and the incident face, in the reference's axes.

    There n = +-z is the normal from reference to incident box, f the centre of the incident face,
    m its normal to the outside, and a point x of it is at depth h_z - n . x.
    """
    first, other, side = _swapped(a, b, axes.second)
    reference = _seen_from(first, axes.axis)
    facing = to_shape(other.R, reference.R[:, 2])
    incident = _seen_from(other, top(jnp.abs(facing)))
    C = between(reference.R, incident.R)
    t = to_shape(reference.R, incident.p - reference.p)
    h, up = reference.h, sign(t[2])
    n = jnp.zeros(3, h.dtype).at[2].set(up)
    m = -up * sign(C[2, 2]) * C[:, 2]
    f = t + incident.h[2] * m

    around = jnp.asarray(_AROUND, h.dtype)
    sides = C[:, :2] * incident.h[:2]
    corners = f + around[:, :1] * sides[:, 0] + around[:, 1:] * sides[:, 1]
    # An edge along that of an equal face is over it, whatever rounding says.
    rounding = max(1e-9, 100 * float(jnp.finfo(h.dtype).eps))
    ends, exists = _clip(corners, h[:2] * (1 + rounding))
    depth = h[2] - up * ends[:, 2]
    position = ends + depth[:, None] / 2 * n

    # A corner r of the reference face is over the point r - depth n of the incident face.
    r = jnp.concatenate([around * h[:2], jnp.full((4, 1), up * h[2])], 1)
    down = -dot(m, r - f) / jnp.abs(m[2])
    foot = to_shape(C, r - down[:, None] * n - t)[:, :2]
    over = jnp.all(jnp.abs(foot) < incident.h[:2] * (1 - rounding), -1)

    depth = jnp.where(jnp.concatenate([exists, over]), jnp.concatenate([depth, down]), ABSENT)
    position = jnp.concatenate([position, r - down[:, None] / 2 * n])
    normal = jnp.broadcast_to(side * up * reference.R[:, 2], position.shape)
    return Points(depth, reference.p + to_world(reference.R, position), normal)


def _clip(
    corners: Float[Array, "4 3"], limit: Float[Array, " 2"]
) -> tuple[Float[Array, "8 3"], Bool[Array, " 8"]]:
    """Both ends of what of each edge of a face is inside the rectangle |x|, |y| <= limit.

    The later end does not count where it is the corner from which the next edge starts.
    """
    along = jnp.roll(corners, -1, 0) - corners
    zero = jnp.zeros(4, along.dtype)
    enter, leave = segments.inside(
        *segments.slabs(corners[:, :2], along[:, :2], limit), zero, zero + 1
    )
    some = enter <= leave
    t = clip(jnp.concatenate([enter, leave]), 0.0, 1.0)
    ends = jnp.tile(corners, (2, 1)) + t[:, None] * jnp.tile(along, (2, 1))
    return ends, jnp.concatenate([some, some & (leave < 1)])


def _edges(a: Shape, b: Shape, which: Bool[Array, "3 3"], apart: Bool[Array, ""]) -> Points:
    """The edges along two axes that face each other, touching where they are nearest.

    Of the four parallel edges of a box the one that reaches farthest along the normal counts.
    """
    on_a, on_b = jnp.any(which, 1), jnp.any(which, 0)
    (u, half_a), (v, half_b) = (
        (pick(on, x.R), pick(on, x.size)) for on, x in ((on_a, a), (on_b, b))
    )
    _, n = direction(cross(u, v), a.R[:, 2])
    n = sign(dot(n, b.p - a.p)) * n
    middle_a = a.p + to_world(a.R, jnp.where(on_a, 0.0, sign(to_shape(a.R, n)) * a.size))
    middle_b = b.p - to_world(b.R, jnp.where(on_b, 0.0, sign(to_shape(b.R, n)) * b.size))
    s, t = segments.nearest(middle_b - middle_a, u, half_a, v, half_b)
    x_a, x_b = middle_a + s * u, middle_b + t * v
    # Where an end counts, the normal is that from point to point. Between the ends it is n: the
    # same, but its slope is not that of a difference which rounding eats as the gap closes.
    ended = apart & ((jnp.abs(s) >= half_a) | (jnp.abs(t) >= half_b))
    length, unit = direction(x_b - x_a, n)
    depth = jnp.where(ended, -length, dot(n, x_a - x_b))
    return one(depth, (x_a + x_b) / 2, jnp.where(ended, unit, n))


def _corner(a: Shape, b: Shape) -> Points:
    """The corner of either box that is nearest to the other, for boxes that are apart."""
    signs = jnp.asarray(CORNERS, a.size.dtype)

    def gaps(solid: Shape, other: Shape) -> Float[Array, " 8"]:
        x = other.p - solid.p + to_world(other.R, signs * other.size)
        beyond = positive(jnp.abs(to_shape(solid.R, x)) - solid.size)
        return dot(beyond, beyond)

    fixed_a, fixed_b = jax.lax.stop_gradient((a, b))
    of_a, of_b = gaps(fixed_b, fixed_a), gaps(fixed_a, fixed_b)
    swap = jnp.min(of_b) < jnp.min(of_a)
    owner, solid, side = _swapped(a, b, swap)
    which = top(-jnp.where(swap, of_b, of_a))
    corner = pick_row(which, signs) * owner.size
    x = to_shape(solid.R, owner.p - solid.p + to_world(owner.R, corner))[None]
    zero = jnp.zeros((), x.dtype)
    points = surface(zero, x, solid, distances.box(x, solid.size))
    return points._replace(normal=side * points.normal)
