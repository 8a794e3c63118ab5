"""Triangle meshes of a model's shapes: all but boxes and hulls are surfaces of revolution."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.model.shape_type import Convex, ShapeType
from graftsim.model.shapes import BOX, CAPSULE, CYLINDER, MESH, POLYGON, SPHERE

SEGMENTS = 28


class Mesh(NamedTuple):
    """Vertices [n, 3] (m), faces [m, 3], and whether faces are shaded flat."""

    vertices: np.ndarray
    faces: np.ndarray
    flat: bool


def revolve(profile: np.ndarray, segments: int = SEGMENTS) -> Mesh:
    """Surface swept by a profile [k, 2] of (radius, z), from below upwards, about the z axis.

    A point that stands twice in the profile makes a sharp edge there.
    """
    profile = np.asarray(profile, float)
    k, angle = len(profile), np.linspace(0, 2 * np.pi, segments, endpoint=False)
    radius, z = profile[:, 0], profile[:, 1]
    x = radius[:, None] * np.cos(angle)
    y = radius[:, None] * np.sin(angle)
    vertices = np.stack([x, y, np.broadcast_to(z[:, None], x.shape)], -1).reshape(-1, 3)
    ring, turn = np.meshgrid(np.arange(k - 1), np.arange(segments), indexing="ij")
    a = ring * segments + turn
    b = ring * segments + (turn + 1) % segments
    c, d = a + segments, b + segments
    faces = np.concatenate([np.stack([a, b, d], -1), np.stack([a, d, c], -1)]).reshape(-1, 3)
    corner = vertices[faces]
    area = np.linalg.norm(
        np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1
    )
    return Mesh(vertices, faces[area > 1e-9 * max(area.max(), 1e-300)], False)


def _arc(radius: float, start: float, end: float, z: float, n: int) -> np.ndarray:
    angle = np.linspace(start, end, n)
    return np.stack([np.maximum(radius * np.cos(angle), 0.0), z + radius * np.sin(angle)], -1)


def sphere(radius: float) -> Mesh:
    """A ball about the origin."""
    return revolve(_arc(radius, -np.pi / 2, np.pi / 2, 0.0, 15))


def capsule(radius: float, half: float) -> Mesh:
    """A cylinder along z of the given half length, with half balls on its ends."""
    below = _arc(radius, -np.pi / 2, 0.0, -half, 8)
    return revolve(np.concatenate([below, _arc(radius, 0.0, np.pi / 2, half, 8)]))


def cylinder(radius: float, half: float) -> Mesh:
    """A cylinder along z of the given half length."""
    r, h = radius, half
    return revolve(np.array([[0, -h], [r, -h], [r, -h], [r, h], [r, h], [0, h]]))


def box(half: np.ndarray) -> Mesh:
    """A box with the given half sides."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
    return hull(signs * np.asarray(half, float))


def hull(points: np.ndarray) -> Mesh:
    """The convex hull of points [n, 3], its faces turned outwards."""
    from scipy.spatial import ConvexHull

    points = np.asarray(points, float)
    found = ConvexHull(points)
    corner = points[found.simplices]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    inward = np.sum(normal * found.equations[:, :3], 1) < 0
    faces = found.simplices.copy()
    faces[inward] = faces[inward][:, ::-1]
    used, faces = np.unique(faces, return_inverse=True)
    return Mesh(points[used], faces.reshape(-1, 3), True)


def solid(kind: ShapeType, size: np.ndarray, vertices: np.ndarray) -> Mesh | None:
    """Mesh of a model's shape by its type and size (see `Builder.geom`); None for a plane."""
    s = np.asarray(size, float)
    if kind == MESH:
        return hull(vertices)
    if kind == POLYGON:
        return hull(np.concatenate([vertices + np.array([0, 0, z]) for z in (-_THIN, _THIN)]))
    if kind in _REVOLVED:
        return _REVOLVED[kind](*s[: len(kind.sizes)])
    if kind == BOX:
        return box(s)
    return _from_support(kind, s) if isinstance(kind, Convex) else None


def _from_support(kind: Convex, size: np.ndarray) -> Mesh:
    """A convex solid by its farthest points along directions that are even for an ellipsoid."""
    ball, own, none = sphere(1.0), jnp.asarray(size), jnp.zeros((0, 3))

    def point(n: jax.Array) -> jax.Array:
        n = n / jnp.sqrt(jnp.sum(n * n))
        return kind.farthest(own, none, n, kind.mark(none, n)) + kind.radius(own) * n

    extent = jnp.diag(jax.vmap(point)(jnp.eye(3)))
    points = jax.vmap(point)(jnp.asarray(ball.vertices) / extent)
    return ball._replace(vertices=np.asarray(points, float))


# Half the thickness (m) that a polygon is drawn with.
_THIN = 1e-3
_REVOLVED: dict[ShapeType, Callable[..., Mesh]] = {
    SPHERE: sphere,
    CAPSULE: capsule,
    CYLINDER: cylinder,
}
