"""Free rigid bodies for `impacts.py`, and the gaps between their shapes.

A body's frame lies in its centre of mass along its principal axes. q: position and unit quaternion
(w x y z) of each body, v: velocity in world axes and angular velocity in the body's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from impacts import WORLD, Array, Contact, Flow, Meeting, Pose, ode


def cross(a: Array, b: Array) -> Array:
    """a x b; NumPy's own is slow at three numbers."""
    (p, q, r), (x, y, z) = a, b
    return np.array([q * z - r * y, r * x - p * z, p * y - q * x])


def product(a: Array, b: Array) -> Array:
    """Of quaternions."""
    (s, p, q, r), (w, x, y, z) = a, b
    return np.array([
        s * w - p * x - q * y - r * z,
        s * x + w * p + q * z - r * y,
        s * y + w * q + r * x - p * z,
        s * z + w * r + p * y - q * x,
    ])  # fmt: skip


def turn(rotation: Array) -> Array:
    """Quaternion of a rotation vector."""
    angle = np.linalg.norm(rotation)
    # sin(x / 2) / x, also at zero.
    return np.concatenate([[np.cos(angle / 2)], np.sinc(angle / 2 / np.pi) / 2 * rotation])


def matrix(q: Array) -> Array:
    """Rotation matrix of a unit quaternion."""
    w, x, y, z = q
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def cross_matrix(r: Array) -> Array:
    """r x."""
    return np.array([[0, -r[2], r[1]], [r[2], 0, -r[0]], [-r[1], r[0], 0]])


@dataclass(frozen=True)
class FreeBodies:
    """Masses [n] (kg), principal moments [n, 3] (kg m^2) and gravity [3] (m/s^2)."""

    masses: Array
    inertias: Array
    gravity: Array

    def flow(self, q: Array, v: Array, T: float) -> Flow:
        """Each body by itself: its centre on a parabola, its axes as those of a spinning top."""
        n = len(self.masses)
        q, v = q.reshape(n, 7), v.reshape(n, 6)
        tops = [
            _spinning(I, qk[3:], vk[3:], T) for I, qk, vk in zip(self.inertias, q, v, strict=True)
        ]

        def at(t: float) -> tuple[Array, Array]:
            centres = q[:, :3] + t * v[:, :3] + t * t / 2 * self.gravity
            speeds = v[:, :3] + t * self.gravity
            turns, spins = (np.array(x) for x in zip(*(top(t) for top in tops), strict=True))
            return np.hstack([centres, turns]).ravel(), np.hstack([speeds, spins]).ravel()

        return at

    def mass(self, q: Array) -> Array:
        """Diagonal."""
        triples = np.repeat(self.masses[:, None], 3, 1)
        return np.diag(np.hstack([triples, self.inertias]).ravel())

    def poses(self, q: Array) -> dict[int, Pose]:
        """By number."""
        rows = q.reshape(-1, 7)
        own = {k: (matrix(x[3:]), x[:3]) for k, x in enumerate(rows)}
        return own | {WORLD: (np.eye(3), np.zeros(3))}

    def carried(self, q: Array, body: int, point: Array) -> Array:
        """v + omega x r."""
        J = np.zeros((3, 6 * len(self.masses)))
        if body != WORLD:
            R, p = self.poses(q)[body]
            J[:, 6 * body : 6 * body + 3] = np.eye(3)
            J[:, 6 * body + 3 : 6 * body + 6] = -cross_matrix(point - p) @ R
        return J


def _spinning(I: Array, q: Array, w: Array, T: float) -> Callable[[float], tuple[Array, Array]]:
    """Quaternion and spin (own axes) of a body without torque at a time."""
    like = [np.isclose(I[k], I[k - 2]) for k in range(3)]  # moments k and k + 1
    if any(like):
        return _top(I, int(np.argmax(like)) - 1, q, w)

    def rate(y: Array) -> Array:
        return np.concatenate([
            product(y[:4], np.concatenate([[0.0], y[4:]])) / 2,
            -cross(y[4:], I * y[4:]) / I,
        ])  # fmt: skip

    solution = ode(rate, np.concatenate([q, w]), T)

    def at(t: float) -> tuple[Array, Array]:
        y = solution(t)
        return y[:4] / np.linalg.norm(y[:4]), y[4:]

    return at


def _top(I: Array, axis: int, q: Array, w: Array) -> Callable[[float], tuple[Array, Array]]:
    """Symmetric about an axis: a turn about the angular momentum, and one about the axis.

    With the moments A across the axis and C along it, R = exp(L t / A) R_0 exp((1 - C / A) w_a t).
    """
    A, C, a = I[axis - 1], I[axis], np.eye(3)[axis]
    momentum = matrix(q) @ (I * w) / A
    own = (1 - C / A) * w[axis] * a

    def at(t: float) -> tuple[Array, Array]:
        back = matrix(turn(t * own)).T
        return product(product(turn(t * momentum), q), turn(t * own)), back @ w

    return at


# -- gaps -----------------------------------------------------------------------------------


def _placed(pose: Pose, point: Array) -> Array:
    R, p = pose
    return p + R @ point


def ball_plane(body: int, centre: Array, radius: float, at: Array, normal: Array) -> Contact:
    """A ball on a body, or a corner (radius 0), over a fixed plane."""

    def meet(poses: dict[int, Pose]) -> Meeting:
        c = _placed(poses[body], centre)
        gap = normal @ (c - at) - radius
        return gap, c - radius * normal, normal

    return Contact(WORLD, body, meet)


def ball_ball(first: int, second: int, radii: tuple[float, float], at: Array) -> Contact:
    """Two balls centred on their bodies; the world's is centred at a place."""

    def meet(poses: dict[int, Pose]) -> Meeting:
        a, b = (at if k == WORLD else poses[k][1] for k in (first, second))
        length = np.linalg.norm(b - a)
        n = (b - a) / length
        return length - sum(radii), a + radii[0] * n, n

    return Contact(first, second, meet)


def ball_box(body: int, radius: float, half: Array) -> Contact:
    """A ball outside a fixed box about the origin, along the world's axes."""

    def meet(poses: dict[int, Pose]) -> Meeting:
        c = poses[body][1]
        nearest = np.clip(c, -half, half)
        length = max(float(np.linalg.norm(c - nearest)), 1e-9)  # inside, where no impact is
        return length - radius, nearest, (c - nearest) / length

    return Contact(WORLD, body, meet)


Line = tuple[Array, Array]  # a point and a direction, in the axes of what carries it


def crossing(
    body: int, fixed: Line, own: Line, radii: tuple[float, float], towards: Array
) -> Contact:
    """A line on a body, edge or axis of a capsule, that passes one of the world at a skew angle.

    The nearest points are where the common perpendicular meets both; normals point `towards`.
    """

    def meet(poses: dict[int, Pose]) -> Meeting:
        (a, d), (R, _) = fixed, poses[body]
        b, g = _placed(poses[body], own[0]), R @ own[1]
        n = cross(d, g)
        n *= np.sign(n @ towards) / np.linalg.norm(n)
        # a + s d + x n = b + t g
        s, x, _ = np.linalg.solve(np.stack([d, n, -g], -1), b - a)
        return x - sum(radii), a + s * d + radii[0] * n, n

    return Contact(WORLD, body, meet)


def rim_floor(body: int, radius: float, half: float) -> Contact:
    """The rim of a cylinder at z = `half` (negative: the other end) over the floor z = 0."""

    def meet(poses: dict[int, Pose]) -> Meeting:
        R, p = poses[body]
        axis, up = R[:, 2], np.array([0.0, 0.0, 1.0])
        down = axis[2] * axis - up  # of all directions across the axis, the steepest
        lowest = p + half * axis + radius * down / np.linalg.norm(down)
        return lowest[2], lowest, up

    return Contact(WORLD, body, meet)
