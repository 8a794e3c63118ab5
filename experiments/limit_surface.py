"""Pushing without dynamics: the ellipsoidal limit surface (Lynch, Maekawa, Tanie 1992).

Friction of the ground lies on f^2 / f_max^2 + m^2 / m_max^2 = 1, and the object moves along its
normal: the twist is proportional to (f, m / c^2), c = m_max / f_max. With r the lever of the tip
and p = (-r_y, r_x) its velocity is v ~ B f, B = 1 + p p^T / c^2. The tip sticks while f stays in
its cone of friction, else it slides along with f on the edge. Two numbers: c as a multiple of the
uniform pressure's root mean square distance, and the tip's friction.
"""

from __future__ import annotations

import numpy as np
from pushes import TIP, Pushes, Shape, gap
from pushing_fit import MISS
from pushing_registration import normals
from scipy.optimize import minimize

# Within a step of this many samples the twist is constant.
START = (1.0, 0.25)


def _by_shape(pushes: Pushes) -> list[np.ndarray]:
    return [np.flatnonzero(pushes.shape == name) for name in np.unique(pushes.shape)]


def simulate(
    numbers: np.ndarray, shapes: dict[str, Shape], pushes: Pushes, every: int = 1
) -> np.ndarray:
    """Final poses [n, 3]."""
    found = np.zeros((len(pushes), 3))
    for rows in _by_shape(pushes):
        path = _one(numbers, shapes[pushes.shape[rows[0]]], pushes[rows], every)
        found[rows] = path[
            np.arange(len(rows)), np.minimum(pushes.last[rows] // every, path.shape[1] - 1)
        ]
    return found


def _one(numbers: np.ndarray, shape: Shape, pushes: Pushes, every: int) -> np.ndarray:
    """Poses of all pushes of one shape, step by step."""
    spread = np.sqrt(shape.shares @ ((shape.points - shape.com) ** 2).sum(1))
    c, mu = numbers[0] * spread, numbers[1]
    tip = pushes.tip[:, ::every]
    pose, found = pushes.pose[:, 0].copy(), [pushes.pose[:, 0].copy()]
    for k in range(tip.shape[1] - 1):
        pose = pose + _step(c, mu, shape, pose, tip[:, k], tip[:, k + 1])
        found.append(pose)
    return np.stack(found, 1)


def _step(
    c: float, mu: float, shape: Shape, pose: np.ndarray, tip: np.ndarray, after: np.ndarray
) -> np.ndarray:
    """How poses [n, 3] change while tips move on."""
    inward = -normals(tip, pose, shape.outline)
    inward /= np.maximum(np.linalg.norm(inward, axis=1), 1e-9)[:, None]
    u, apart = after - tip, gap(tip, pose, shape.outline) - TIP
    needed = (u * inward).sum(1) - apart
    cos, sin = np.cos(pose[:, 2]), np.sin(pose[:, 2])
    com = np.stack(
        [cos * shape.com[0] - sin * shape.com[1], sin * shape.com[0] + cos * shape.com[1]], 1
    )
    r = tip + TIP * inward - pose[:, :2] - com
    p = np.stack([-r[:, 1], r[:, 0]], 1)
    B = np.eye(2) + p[:, :, None] * p[:, None] / c**2
    tangent = np.stack([-inward[:, 1], inward[:, 0]], 1)
    wanted = needed[:, None] * inward + (u * tangent).sum(1)[:, None] * tangent
    f = np.linalg.solve(B, wanted[..., None])[..., 0]
    normal, side = (f * inward).sum(1), (f * tangent).sum(1)
    slides = (np.abs(side) > mu * normal) | (normal <= 0)
    edge = inward + mu * np.sign(side)[:, None] * tangent
    along = np.einsum("nij,nj->ni", B, edge)
    size = needed / np.maximum((along * inward).sum(1), 1e-9)
    f = np.where(slides[:, None], size[:, None] * edge, f)
    f = np.where((needed > 0)[:, None], f, 0.0)
    turn = (p * f).sum(1) / c**2
    # The frame's origin moves with the centre of mass and about it.
    origin = f + turn[:, None] * np.stack([com[:, 1], -com[:, 0]], 1)
    return np.concatenate([origin, turn[:, None]], 1)


def fit(shapes: dict[str, Shape], pushes: Pushes, every: int = 1, calls: int = 60) -> np.ndarray:
    """Both numbers by final poses, derivative-free."""
    real = pushes.pose[np.arange(len(pushes)), pushes.last]

    def cost(x: np.ndarray) -> float:
        miss = ((simulate(np.exp(x), shapes, pushes, every) - real) / MISS) ** 2
        return float(np.mean(np.sqrt(1 + miss.sum(1)) - 1))

    options = {
        "maxfev": calls,
        "initial_simplex": np.log(START) + np.array([[0, 0], [0.3, 0], [0, 0.5]]),
    }
    return np.exp(minimize(cost, np.log(START), method="Nelder-Mead", options=options).x)
