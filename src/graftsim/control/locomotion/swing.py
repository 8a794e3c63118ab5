"""Feet in the air: where they should land, and the way there."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float


@dataclass(frozen=True)
class Swing:
    """Raibert's footholds and a path over the ground.

    feedback (s): how far a foot is put beyond, per speed above the wanted one (Raibert, Legged
    Robots That Balance, 1986, ch. 2); clearance (m): height of the path; press (m): how much less
    than the standing height the foot reaches down.
    """

    feedback: float = 0.03
    clearance: float = 0.1
    press: float = 0.01

    def foothold(
        self,
        hips: Float[Array, "4 3"],
        velocity: Float[Array, " 3"],
        command: Float[Array, " 3"],
        turning: Float[Array, ""],
        stance: float,
    ) -> Float[Array, "4 3"]:
        """Where the feet should land (m, trunk; z as of `hips`).

        hips (m): neutral places of the feet; velocity (m/s): of the trunk, in its axes; turning
        (rad/s): its yaw rate; command: forward and left speed (m/s), yaw rate (rad/s); stance (s).
        """
        now = _hip_velocity(hips, velocity[0], velocity[1], turning)
        wanted = _hip_velocity(hips, command[0], command[1], command[2])
        return hips + now * (stance / 2) - self.feedback * (wanted - now)

    def path(
        self,
        begin: Float[Array, "4 3"],
        end: Float[Array, "4 3"],
        progress: Float[Array, " 4"],
    ) -> Float[Array, "4 3"]:
        """Where the feet should be now: straight in x and y, a parabola in z.

        The parabola passes the higher of both ends by `clearance` half way. The share of the time
        that is over, s, is bent to 0.8 sin(pi s) in the first half and 0.8 + 0.4 (s - 0.5) in the
        second: up quickly, down slowly.
        """
        s = jnp.where(
            progress <= 0.5, 0.8 * jnp.sin(jnp.pi * progress), 0.8 + 0.4 * (progress - 0.5)
        )[:, None]
        level = begin[:, :2] + s * (end[:, :2] - begin[:, :2])
        z0, z1 = begin[:, 2:], end[:, 2:]
        middle = jnp.maximum(z0, z1) + self.clearance
        # Lagrange through (0, z0), (1/2, middle), (1, z1).
        z = 2 * (s - 0.5) * (s - 1) * z0 - 4 * s * (s - 1) * middle + 2 * s * (s - 0.5) * z1
        return jnp.concatenate([level, z], -1)


def _hip_velocity(hips: Float[Array, "4 3"], x: Array, y: Array, turning: Array) -> Array:
    """Of the points above the feet, level (m/s)."""
    return jnp.stack(
        [x - turning * hips[:, 1], y + turning * hips[:, 0], jnp.zeros_like(hips[:, 0])], -1
    )
