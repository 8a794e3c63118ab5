"""Forces as arrows: what the ground and other shapes press with, and the pull of the mouse."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax
import numpy as np

from graftsim.model.model import Model
from graftsim.spatial.rotation import align_z

SHOWN = ("contact.position", "contact.normal", "contact.force_n", "contact.force_t")
"""Variables of a step that forces of contact are drawn from."""
_frames = jax.jit(align_z)
CONTACT = (214, 84, 52)
PULL = (60, 140, 75)
FAINT = 1e-3
"""Of the weight: forces below are not drawn."""
LENGTH = 0.5
"""Of the scene's radius: the arrow of a force as large as the weight."""


def contact_forces(recorded: Mapping[str, Any]) -> np.ndarray:
    """Places (m) and forces (N) on the second shapes, [n, 2, 3], of the variables of a step.

    Without variables of contact there are none.
    """
    if "contact.force_n" not in recorded:
        return np.zeros((0, 2, 3))
    normal = np.asarray(recorded["contact.normal"], float)
    # Columns as `contact.detect` has them: the normal is the third, tangents the first two.
    R = np.asarray(_frames(normal), float)
    force = np.asarray(recorded["contact.force_n"], float)[:, None] * normal
    force = force + np.einsum("nij,nj->ni", R[:, :, :2], recorded["contact.force_t"])
    return np.stack([np.asarray(recorded["contact.position"], float), force], 1)


def weight(model: Model) -> float:
    """Of all that moves, N; without gravity, as on earth."""
    gravity = float(np.linalg.norm(np.asarray(model.world.gravity)))
    return float(np.asarray(model.link.mass).sum()) * (gravity or 9.81)


class Arrows:
    """The arrows of a scene of some radius (m)."""

    def __init__(self, scene: Any, model: Model, radius: float) -> None:
        self.scale, self.shown = 1.0, True
        self._newton = LENGTH * radius / max(weight(model), 1e-9)
        self._least = FAINT * weight(model)
        thin = 0.012 * radius
        size = {"shaft_radius": thin, "head_radius": 2.4 * thin, "head_length": 5 * thin}
        none = np.zeros((0, 2, 3), np.float32)
        self.contact = scene.add_arrows("/forces/contact", none, CONTACT, **size)
        self.pull = scene.add_arrows("/forces/pull", none, PULL, **size)

    def show(self, forces: np.ndarray, held: tuple[np.ndarray, np.ndarray] | None = None) -> None:
        """Places and forces [n, 2, 3] (m, N); `held`: where a body is held, and where the spring
        leads (m). Forces next to nothing are left out.
        """
        drawn = forces[np.linalg.norm(forces[:, 1], axis=1) > self._least]
        start, metres = drawn[:, 0], self.scale * self._newton
        points = np.stack([start, start + metres * drawn[:, 1]], 1)
        _put(self.contact, points if self.shown else points[:0])
        _put(self.pull, np.zeros((0, 2, 3)) if held is None else np.array([held]))


def _put(handle: Any, points: np.ndarray) -> None:
    points = np.asarray(points, np.float32)
    if points.shape != handle.points.shape or not np.array_equal(points, handle.points):
        handle.points = points
