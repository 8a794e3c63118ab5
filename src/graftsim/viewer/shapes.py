"""Triangle meshes of a model's shapes: all but boxes and hulls are surfaces of revolution."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

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


def ellipsoid(axes: np.ndarray) -> Mesh:
    """An ellipsoid with the given semi-axes."""
    ball = sphere(1.0)
    return ball._replace(vertices=ball.vertices * np.asarray(axes, float))


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


def solid(kind: str, size: np.ndarray, vertices: np.ndarray) -> Mesh | None:
    """Mesh of a model's shape by its kind and size (see `Builder.geom`); None for a plane."""
    s = np.asarray(size, float)
    if kind == "plane":
        return None
    if kind == "mesh":
        return hull(vertices)
    if kind == "box":
        return box(s)
    if kind == "ellipsoid":
        return ellipsoid(s)
    return {"sphere": sphere, "capsule": capsule, "cylinder": cylinder}[kind](
        *s[: 1 if kind == "sphere" else 2]
    )
