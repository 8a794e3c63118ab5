"""Any two convex shapes of which the farthest point along a direction is known.

The direction n of least overlap comes from a search without derivatives (`gjk`), which also says
which pieces of surface meet: up to three points w_j = a_j - b_j of the difference of the shapes,
each a corner, an edge's end or a point of a curved piece that moves with n. At the solution they
are equally far, n . (w_j - w_1) = 0, and n is stationary in what freedom that leaves:

- three points (a face against anything, two edges): n is the normal of their plane,
- two (an edge against something curved): n turns about their difference,
- one (corners and curved surfaces): n turns freely,

with slope t . w and curvature t . (dw/dn) t - n . w in a direction t. Newton's method on that
finds n to rounding, and its last step, on live values, carries the derivatives.

Accuracy: that of rounding, if the search has found the right pieces. It finds the least overlap
for shapes that are apart or overlap little. Of deep overlaps it finds one that is least among its
neighbours, from the best of a fixed set of guesses.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.contact.collision import gjk
from graftsim.contact.collision.shapes import Points, Shape, one
from graftsim.contact.collision.supports import farthest, mark, radius
from graftsim.model.shape_type import Convex
from graftsim.spatial.arithmetic import (
    Scalar,
    Vector,
    direction,
    dot,
    pick,
    pick_row,
    sign,
    top,
)
from graftsim.spatial.rotation import cross

Kinds = tuple[Convex, Convex]

# Newton steps after the search; the largest turn (rad) of one.
_STEPS, _TURN = 5, 0.3
# Guesses that are followed.
_STARTS = 3
# Points (m^2) that are the same, a squared sine that is none, a weight that does not count, and an
# overlap (m) that is no worse.
_SAME, _THIN, _WEIGHT, _SLACK = 1e-12, 1e-10, 1e-6, 1e-9
# Square of the height of a triangle over its side below which a better one is looked for.
_SLIM = 1e-3
# How far outside a triangle, as a weight, a foot still belongs to it.
_BESIDE = 0.1
# How far n leans (rad) to find more points that are as far.
_LEAN = 1e-5
# Least curvature (m) that is told from none.
_CURVED = 1e-7


def marks(kinds: Kinds, a: Shape, b: Shape, n: Vector) -> Float[Array, " 6"]:
    """The pieces of both surfaces that are farthest along n and -n."""
    return jnp.concatenate([mark(kinds[0], a, n), mark(kinds[1], b, -n)])


def difference(kinds: Kinds, a: Shape, b: Shape, n: Vector, marked: Float[Array, " 6"]) -> Vector:
    """a - b for the points of marked pieces that are farthest along n and -n."""
    return farthest(kinds[0], a, n, marked[:3]) - farthest(kinds[1], b, -n, marked[3:])


def support(kinds: Kinds, a: Shape, b: Shape, n: Vector) -> tuple[Vector, Float[Array, " 6"]]:
    """a - b for the points that are farthest along n and -n, and the marks of their pieces."""
    marked = marks(kinds, a, b, n)
    return difference(kinds, a, b, n, marked), marked


def _guesses(kinds: Kinds, a: Shape, b: Shape) -> Float[Array, "s 3"]:
    """Directions of least overlap among the line of centres, both shapes' axes, and diagonals."""
    _, centres = direction(b.p - a.p, a.R[:, 2])
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    axes = jnp.concatenate([a.R.T, b.R.T])
    ways = jnp.concatenate([centres[None], axes, -axes, jnp.asarray(signs / 3**0.5, a.p.dtype)])
    overlap = jax.vmap(lambda n: dot(n, support(kinds, a, b, n)[0]))(ways)
    return ways[jnp.argsort(overlap)[:_STARTS]]


def pieces(
    kinds: Kinds, a: Shape, b: Shape, n: Vector, marked: Float[Array, "k 6"]
) -> tuple[Float[Array, "k 3"], Float[Array, "k 3"]]:
    """a_j and b_j, rows of the two results."""
    return (
        jax.vmap(lambda m: farthest(kinds[0], a, n, m))(marked[:, :3]),
        jax.vmap(lambda m: farthest(kinds[1], b, -n, m))(marked[:, 3:]),
    )


def _subtract(points: tuple[Float[Array, "k 3"], Float[Array, "k 3"]]) -> Float[Array, "k 3"]:
    return points[0] - points[1]


def _span(w: Float[Array, "3 3"]) -> tuple[Bool[Array, ""], Bool[Array, ""], Bool[Array, ""]]:
    """Are the rows of w three points of a plane, at least two points, the second far from the
    first?"""
    first, second = w[1] - w[0], w[2] - w[0]
    normal, a, b = cross(first, second), dot(first, first), dot(second, second)
    two = (a > _SAME) | (b > _SAME)
    return two & (dot(normal, normal) > _THIN * a * b), two, a > b


def _completed(
    kinds: Kinds, a: Shape, b: Shape, n: Vector, marked: Float[Array, "3 6"]
) -> Float[Array, "3 6"]:
    """Marks of three points of a plane, where the solution is on one or (almost) between two.

    Leaning n sideways tells whether there are more points as far, as around the middle of a face.
    Where there are none, the marks lead to the same points as before.
    """
    w = _subtract(pieces(kinds, a, b, n, marked))
    _, two, second = _span(w)
    edge = jnp.where(second, w[1], w[2]) - w[0]
    side = direction(cross(n, jnp.where(two, edge, _across(n))), n)[1]
    along = cross(side, n)
    ways = jnp.stack([side, -side, 0.8 * along - 0.6 * side, -0.8 * along - 0.6 * side])
    leaning = jax.vmap(lambda n: marks(kinds, a, b, n))(n + _LEAN * ways)
    line = jnp.stack([marked[0], jnp.where(second, marked[1], marked[2])])
    third = jnp.concatenate([jnp.where(second, marked[2], marked[1])[None], leaning[:2]])
    beside = jnp.abs(dot(_subtract(pieces(kinds, a, b, n, third)) - w[0], side))
    # The present one stays if it is at a good distance from the line.
    fat = beside[0] ** 2 > _SLIM * dot(edge, edge)
    best = top(jnp.where(fat & (jnp.arange(3) > 0), 0.0, beside))
    beyond = jnp.concatenate([line, pick_row(best, third)[None]])
    return jnp.where(two, beyond, leaning[jnp.array([0, 2, 3])])


def _across(n: Vector) -> Vector:
    """Some vector that is not along n."""
    return jnp.where(top(-jnp.abs(n)), 1.0, 0.0).astype(n.dtype)


def _turned(kinds: Kinds, a: Shape, b: Shape, n: Vector, marked: Float[Array, "3 6"]) -> Vector:
    """One Newton step from a fixed n for given pieces, with the derivatives of n by the shapes."""
    x_a, x_b = pieces(kinds, a, b, n, marked)
    w = x_a - x_b
    three, two, second = _span(w)
    _, normal = direction(cross(w[1] - w[0], w[2] - w[0]), n)

    # t_1 and t_2 are across n; of two points, t_2 is from one to the other.
    edge = jnp.where(second, w[1], w[2]) - w[0]
    t_2 = direction(jnp.where(two, edge, cross(n, _across(n))), n)[1]
    _, across = direction(n - dot(n, t_2) * t_2, n)
    t_1 = cross(t_2, across)

    weights = jax.lax.stop_gradient(gjk.nearest(w, n * dot(n, w[0])))[:, None]

    def mean(a: Shape, b: Shape, m: Vector) -> Vector:
        x_a, x_b = pieces(kinds, a, b, m, marked)
        return jnp.sum(weights * (x_a - x_b), 0)

    fixed = jax.lax.stop_gradient((a, b, across))
    t = jax.lax.stop_gradient(jnp.stack([t_1, t_2]))
    m = fixed[2]
    bent = jax.vmap(lambda t: jax.jvp(lambda m: mean(*fixed[:2], m), (m,), (t,))[1])(t)
    average = mean(a, b, across)
    overlap = jax.lax.stop_gradient(dot(across, average))
    h_11, h_22 = dot(t[0], bent[0]) - overlap, dot(t[1], bent[1]) - overlap
    h_12 = jnp.where(two, 0.0, dot(t[0], bent[1]))
    h_22 = jnp.where(two, 1.0, h_22)
    # Not at a minimum: no step.
    area = h_11 * h_22 - h_12 * h_12
    curved = (h_11 > _CURVED) & (h_22 > _CURVED) & (area > _THIN * h_11 * h_22)
    area = jnp.where(curved, area, jnp.inf)
    g_1, g_2 = dot(average, t_1), jnp.where(two, 0.0, dot(average, t_2))
    step = (h_12 * g_2 - h_22 * g_1) / area * t_1 + (h_12 * g_1 - h_11 * g_2) / area * t_2
    length = jnp.sqrt(jax.lax.stop_gradient(dot(step, step)) + 1e-20)
    step = step * jnp.where(length > _TURN, _TURN / length, 1.0)
    side = sign(jax.lax.stop_gradient(dot(normal, n)))
    return jnp.where(three, side * normal, direction(across + step, n)[1])


class Meeting(NamedTuple):
    """The direction of least overlap n [3], and the marks [3, 6] of the pieces of surface that
    decide it, with the weights [3] of their points in the contact."""

    n: Vector
    marks: Float[Array, "3 6"]
    weights: Float[Array, " 3"]


def meet(kinds: Kinds, a: Shape, b: Shape, guesses: Float[Array, "s 3"], shifts: int) -> Meeting:
    """Search, Newton's method, and one step that carries the derivatives."""
    fixed_a, fixed_b = jax.lax.stop_gradient((a, b))

    def far(n: Vector) -> tuple[Vector, Float[Array, " 6"]]:
        return support(kinds, fixed_a, fixed_b, n)

    def overlap(n: Vector) -> Scalar:
        return dot(n, far(n)[0])

    found, ends = jax.vmap(lambda guess: gjk.least_overlap(far, guess, shifts))(guesses)
    best = top(-jax.vmap(overlap)(ends))
    points, marked, n_0 = (pick(best, jnp.moveaxis(x, 0, -1)) for x in (*found, ends))
    # Corners of the triangle without weight decide nothing: the heaviest takes their place.
    weights = gjk.nearest(points, n_0 * overlap(n_0))
    marked = jnp.where(weights[:, None] > _WEIGHT, marked, pick_row(top(weights), marked))
    marked = _completed(kinds, fixed_a, fixed_b, n_0, marked)

    n = jax.lax.fori_loop(0, _STEPS, lambda _, n: _turned(kinds, fixed_a, fixed_b, n, marked), n_0)
    slack = max(_SLACK, 20 * float(jnp.finfo(n.dtype).eps))
    better = overlap(n) <= overlap(n_0) + slack
    n = jnp.where(better, _turned(kinds, a, b, n, marked), n_0)
    w = _subtract(pieces(kinds, a, b, n, marked))
    foot = n * dot(n, w[0])
    # Just outside a triangle its plane goes on: no kink where the foot is on an edge.
    plane = gjk.on_plane(w, foot)[0]
    inside = _span(w)[0] & jnp.all(plane > -_BESIDE)
    return Meeting(n, marked, jnp.where(inside, plane, gjk.nearest(w, foot)))


def touching(kinds: Kinds, a: Shape, b: Shape) -> tuple[Vector, Vector, Vector]:
    """n, and the points of both shapes."""
    guesses = _guesses(kinds, *jax.lax.stop_gradient((a, b)))
    n, marked, weights = meet(kinds, a, b, guesses, gjk.SHIFTS)
    x_a, x_b = pieces(kinds, a, b, n, marked)
    return n, jnp.sum(weights[:, None] * x_a, 0), jnp.sum(weights[:, None] * x_b, 0)


def contact(n: Vector, x_a: Vector, x_b: Vector, r_a: Scalar, r_b: Scalar) -> Points:
    """Contact of the surfaces at r_a and r_b from the points, with the overlap along n."""
    position = (x_a + x_b + (r_a - r_b) * n) / 2
    return one(dot(n, x_a - x_b) + r_a + r_b, position, n)


def single(kind_a: Convex, kind_b: Convex) -> Callable[[Shape, Shape], Points]:
    """One contact, for shapes of which one is round."""

    def collide(a: Shape, b: Shape) -> Points:
        n, x_a, x_b = touching((kind_a, kind_b), a, b)
        return contact(n, x_a, x_b, radius(kind_a, a), radius(kind_b, b))

    return collide
