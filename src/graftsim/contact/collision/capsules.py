"""A capsule against capsules and against solids with a known signed distance.

A capsule is a row of balls along its segment c + t u, |t| <= h. Against a convex solid the signed
distance s(t) of their centres is a convex function: its slope m . u grows with t, and the nearest
ball is where it changes sign. A capsule that lies on a flat or straight part of the solid is held
there by two more balls: the ends of the part of the segment that is over it.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp

from graftsim.contact.collision import distances, segments
from graftsim.contact.collision.distances import Distance
from graftsim.contact.collision.shapes import ABSENT, Points, Shape
from graftsim.contact.collision.spheres import balls, surface
from graftsim.spatial.arithmetic import (
    Scalar,
    Vector,
    absolute,
    clip,
    direction,
    dot,
    positive,
    sign,
    to_shape,
    top,
)
from graftsim.spatial.rotation import cross

# Sine of the angle below which two capsules are held in two places.
_PARALLEL = 0.02
# Two balls on one segment that are nearer than this part of its half length are one contact.
_SAME = 1e-3
# Slope (of the signed distance along a segment) that is zero but for rounding.
_FLAT = 1e-9
_BISECTIONS = 20
# Sine squared of the angle to a cylinder's axis below which a capsule stands on its end cap.
_UPRIGHT = 1e-8
# Square of half a chord (over the radius) below which it misses the circle.
_TANGENT = 1e-6


def capsule(a: Shape, b: Shape) -> Points:
    """Two contacts of (nearly) parallel capsules, else one.

    As the angle goes to zero, the two move from the nearest points of the segments to the ends of
    the part of the first segment that is beside the second.
    """
    u, v, half_a, half_b = a.R[:, 2], b.R[:, 2], a.size[1], b.size[1]
    r = b.p - a.p
    s, _ = segments.nearest(r, u, half_a, v, half_b)
    cosine = dot(u, v)
    across = u - cosine * v
    apart = positive(1 - dot(across, across) / _PARALLEL**2)
    reach = absolute(cosine) * half_b
    ends = clip(dot(u, r) + jnp.stack([-reach, reach]), -half_a, half_a)
    s = s + apart * (ends - s)
    t = segments.beside(s, -r, v, u, half_b)
    # Where the segments meet, the capsules part along what is at right angles to both.
    _, fallback = direction(cross(u, v), b.R[:, 0])
    depth, position, normal = balls(
        a.p + s[:, None] * u, a.size[0], b.p + t[:, None] * v, b.size[0], fallback
    )
    exists = jnp.stack([jnp.array(True), (apart > 0) & (ends[1] > ends[0])])
    return Points(jnp.where(exists, depth, ABSENT), position, normal)


def _held(
    a: Shape, b: Shape, distance: Distance, t: Scalar, lo: Scalar, hi: Scalar, c: Vector, u: Vector
) -> Points:
    """Contacts of the balls at t, and at lo and hi where these are others."""
    same = _SAME * a.size[1]
    ends = jnp.stack([lo, hi])
    other = (jnp.abs(ends - t) > same) & (hi - lo > same)
    x = c + jnp.concatenate([t[None], jnp.where(other, ends, t)])[:, None] * u
    points = surface(a.size[0], x, b, distance(x, b.size))
    exists = jnp.concatenate([jnp.array([True]), other])
    return points._replace(depth=jnp.where(exists, points.depth, ABSENT))


def box(a: Shape, b: Shape) -> Points:
    """The nearest ball, exactly, and those over the ends of the face it is nearest to.

    Half the slope of the squared distance is g(t) = u . (x - clip(x)) with x = c + t u: piecewise
    straight, with knots where the segment meets the planes of the faces.
    """
    half, h = a.size[1], b.size
    c, u = to_shape(b.R, a.p - b.p), to_shape(b.R, a.R[:, 2])
    enter, leave = segments.slabs(c, u, h)
    t = _root(*jax.lax.stop_gradient((c, u, half, h, enter, leave)))
    x = c + t * u
    beyond = x - clip(x, -h, h)
    slope = jax.lax.stop_gradient(dot(jnp.where(jnp.abs(x) > h, u, 0.0), u))
    follow = (jnp.abs(t) < half) & (slope > 1e-8)
    t = jnp.where(jnp.abs(t) < half, t, sign(t) * half) - dot(u, beyond) / jnp.where(
        follow, slope, jnp.inf
    )
    # Where the segment itself is inside the box, the middle of that part.
    first, last = segments.inside(enter, leave, -half, half)
    t = jnp.where(first < last, (first + last) / 2, t)

    face = top(jnp.abs(c + t * u) - h)
    lo, hi = segments.inside(
        jnp.where(face, -half, enter), jnp.where(face, half, leave), -half, half
    )
    return _held(a, b, distances.box, t, lo, hi, c, u)


def _root(c: Vector, u: Vector, half: Scalar, h: Vector, enter: Vector, leave: Vector) -> Scalar:
    """Where g of `box` is zero; an end of the segment where it is nowhere."""
    knots = jnp.concatenate([enter, leave, jnp.stack([-half, half])])
    t = clip(knots, -half, half)
    x = c + t[:, None] * u
    g = dot(u, x - clip(x, -h, h))
    right = g > _FLAT
    lo, hi = jnp.max(jnp.where(right, -half, t)), jnp.min(jnp.where(right, t, half))
    g_lo, g_hi = jnp.max(jnp.where(right, -1.0, g)), jnp.min(jnp.where(right, g, 1.0))
    return lo - g_lo * (hi - lo) / (g_hi - g_lo)


def against(
    distance: Distance, over: Callable[..., tuple[Scalar, Scalar]] | None = None
) -> Callable[[Shape, Shape], Points]:
    """Contacts with a solid of which distance is known: by bisection for the slope's sign.

    `over`(c, u, size, t): the part of the line that is beside the straight piece of surface at t.
    The nearest ball's t follows the poses by a Newton step for slope(t) = 0. Without `over` (a
    surface that is round everywhere) there is one contact.
    """

    def collide(a: Shape, b: Shape) -> Points:
        half = a.size[1]
        c, u = to_shape(b.R, a.p - b.p), to_shape(b.R, a.R[:, 2])
        t = _nearest(distance, c, u, half, b.size)
        if over is None:
            x = (c + t * u)[None]
            return surface(a.size[0], x, b, distance(x, b.size))
        lo, hi = over(c, u, b.size, t)
        lo, hi = jnp.where(lo < -half, -half, lo), jnp.where(hi > half, half, hi)
        return _held(a, b, distance, t, lo, hi, c, u)

    return collide


def _nearest(distance: Distance, c: Vector, u: Vector, half: Scalar, size: Vector) -> Scalar:
    fixed = jax.lax.stop_gradient((c, u, half, size))

    def slope(t: Scalar, c: Vector, u: Vector, size: Vector) -> Scalar:
        return dot(distance(c + t * u, size)[1], u)

    c_0, u_0, half_0, size_0 = fixed

    def at(t: Scalar) -> Scalar:
        return slope(t, c_0, u_0, size_0)

    def halve(_: int, bracket: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        lo, hi = bracket
        t = (lo + hi) / 2
        rising = at(t)
        return jnp.where(rising < _FLAT, t, lo), jnp.where(rising > -_FLAT, t, hi)

    lo, hi = jax.lax.fori_loop(0, _BISECTIONS, halve, (-half_0, half_0))
    t = (lo + hi) / 2
    width = 2.0 ** (2 - _BISECTIONS) * half_0
    inner = jnp.abs(t) < half_0 - width
    t = jnp.where(inner, t, sign(t) * half_0)

    def newton(_: int, found: tuple[Scalar, Scalar]) -> tuple[Scalar, Scalar]:
        t = found[0]
        rest, rate = jax.jvp(at, (t,), (jnp.ones_like(t),))
        # Where the slope jumps, or is zero all along, there is nothing to follow.
        good = inner & (jnp.abs(rest) <= rate * width) & (rate * half_0 > 1e-8)
        rate = jnp.where(good, rate, jnp.inf)
        return t - rest / rate, rate

    t, rate = jax.lax.fori_loop(0, 2, newton, (t, jnp.ones_like(t)))
    return jnp.where(inner, t, sign(t) * half) - slope(t, c, u, size) / rate


def _over_cylinder(c: Vector, u: Vector, size: Vector, t: Scalar) -> tuple[Scalar, Scalar]:
    """Over the end cap, where |c + t u| across the axis is below r; else between the caps.

    An upright capsule is over the cap with all of it or with nothing.
    """
    r, half = size[0], size[1]
    enter, leave = (z[0] for z in segments.slabs(c[2:], u[2:], half[None]))
    flat, across = u[:2], c[:2]
    a, b, under = dot(flat, flat), dot(flat, across), r * r - dot(across, across)
    upright, square = a < _UPRIGHT, b * b + a * under
    meets = ~upright & (square > _TANGENT * r * r)
    a, root = jnp.where(meets, a, 1.0), jnp.sqrt(jnp.where(meets, square, 1.0))
    none = jnp.where(upright & (under > 0), 1.0, -1.0) * 1e3
    lo, hi = jnp.where(meets, (-b - root) / a, -none), jnp.where(meets, (root - b) / a, none)
    x = jax.lax.stop_gradient(c + t * u)
    on_cap = jnp.abs(x[2]) - half > jnp.sqrt(dot(x[:2], x[:2])) - r
    return jnp.where(on_cap, lo, enter), jnp.where(on_cap, hi, leave)


cylinder = against(distances.cylinder, _over_cylinder)
ellipsoid = against(distances.ellipsoid)
