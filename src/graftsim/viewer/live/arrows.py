"""Forces as arrows: what the ground and other shapes press with, and the pull of the mouse."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from graftsim.model.model import Model
from graftsim.spatial.rotation import align_z
from graftsim.viewer.live.world import Instant

_frames = jax.jit(align_z)
CONTACT = (214, 84, 52)
PULL = (60, 140, 75)
FAINT = 1e-3
"""Of the weight: forces below are not drawn."""
LENGTH = 0.5
"""Of the scene's radius: the arrow of a force as large as the weight."""


def contact_arrows(instant: Instant, metres: float, least: float) -> np.ndarray:
    """Start and end [n, 2, 3] (m) of the forces on the second shapes; `metres` a newton.

    Those below `least` (N) are left out; of a step without contact there are none.
    """
    found = instant.recorded
    if "contact.force_n" not in found:
        return np.zeros((0, 2, 3))
    normal = np.asarray(found["contact.normal"], float)
    # Columns as `contact.detect` has them: the normal is the third, tangents the first two.
    R = np.asarray(_frames(normal), float)
    force = found["contact.force_n"][:, None] * normal
    force = force + np.einsum("nij,nj->ni", R[:, :, :2], found["contact.force_t"])
    drawn = np.linalg.norm(force, axis=1) > least
    start = np.asarray(found["contact.position"], float)[drawn]
    return np.stack([start, start + metres * force[drawn]], 1)


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

    def show(self, instant: Instant, held: tuple[np.ndarray, np.ndarray] | None) -> None:
        """Forces of an instant; `held`: where a body is held, and where the spring leads (m)."""
        contact = contact_arrows(instant, self.scale * self._newton, self._least)
        _put(self.contact, contact if self.shown else contact[:0])
        _put(self.pull, np.zeros((0, 2, 3)) if held is None else np.array([held]))


def _put(handle: Any, points: np.ndarray) -> None:
    points = np.asarray(points, np.float32)
    if points.shape != handle.points.shape or not np.array_equal(points, handle.points):
        handle.points = points
