"""Robot, cameras and markers have axes of their own: where tips and outlines are for each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from pushes import TIP, Pushes, gap


def registration(pushes: Pushes) -> dict[str, np.ndarray]:
    """By session how far (m) the tip is off in the world, the outline in the object, and how much
    larger it is [5]: what makes gaps in contact TIP, by least squares with a price of 1 mm.

    Robot, cameras and markers have axes of their own, which are set anew with each object. The last
    two thirds of a push count, its end where no more is known.
    """
    return {name: _offsets(pushes[pushes.session == name]) for name in np.unique(pushes.session)}


def _offsets(pushes: Pushes) -> np.ndarray:
    slopes, gaps = [], []
    for k in range(len(pushes)):
        last = pushes.last[k]
        rows = np.linspace(last // 3, last, 12).astype(int) if pushes.whole else np.array([last])
        tip, pose, outline = pushes.tip[k, rows], pushes.pose[k, rows], pushes.outline[k]
        away, n = gap(tip, pose, outline) - TIP, normals(tip, pose, outline)
        c, s = np.cos(pose[:, 2]), np.sin(pose[:, 2])
        own = np.stack([c * n[:, 0] + s * n[:, 1], -s * n[:, 0] + c * n[:, 1]], 1)
        near = np.abs(away) < 4e-3
        # A push is one observation, however many samples it has.
        share = 1 / np.sqrt(len(rows))
        slopes.append(share * np.concatenate([n, own, np.ones((len(n), 1))], 1)[near])
        gaps.append(share * away[near])
    A, b = np.concatenate(slopes), np.concatenate(gaps)
    return np.linalg.solve(A.T @ A + np.eye(5), A.T @ b)


def registered(pushes: Pushes, by: dict[str, np.ndarray]) -> Pushes:
    """With tips and outlines where the cameras would see them; sessions unknown stay."""
    off = np.stack([by.get(name, np.zeros(5)) for name in pushes.session])
    edge = np.roll(pushes.outline, -1, 1) - np.roll(pushes.outline, 1, 1)
    outside = np.stack([edge[..., 1], -edge[..., 0]], -1)
    outside /= np.linalg.norm(outside, axis=-1, keepdims=True)
    outline = pushes.outline + off[:, None, 2:4] + off[:, 4, None, None] * outside
    return replace(pushes, tip=pushes.tip - off[:, None, :2], outline=outline)


def normals(tip: np.ndarray, pose: np.ndarray, outline: np.ndarray) -> np.ndarray:
    """Directions [.., 2] in which gaps grow, the object's outward normals, by differences."""
    e = 1e-6 * np.eye(2)
    steps = [(gap(tip + d, pose, outline) - gap(tip - d, pose, outline)) / 2e-6 for d in e]
    return np.stack(steps, -1)
