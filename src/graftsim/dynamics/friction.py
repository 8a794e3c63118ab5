"""Dry friction of joints: Coulomb, Stribeck, and what grows with the load of a gear.

A joint resists with at most F, and against its motion: -F tanh(qd/v_0). With S = exp(-(qd/v_s)^2),

    F = f_c + S f_s + (k + S k_s) |(1 - b) tau_e - (1 + b) tau_m| + S k_2 min(|tau_m|, |tau_e|)^2

tau_m is what the actuators give to the joint and tau_e all else that acts on it; the last term
counts only where they oppose each other. f_c, f_s: Armstrong-Helouvry et al. (1994), eq. 4. k to
k_2: the friction models M3 to M6 of servos of Duclusaud et al. (2024); b tells a gear that is hard
to drive back. A gear of efficiency e driven by its motor has k (1 + b) = 1 - e.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.model.model import Joints
from graftsim.spatial import safe


class Load(NamedTuple):
    """Forces of the actuators on each degree of freedom, and all others (N m, N) [nv]."""

    motor: Float[Array, " nv"]
    external: Float[Array, " nv"]


def friction_level(
    joint: Joints, qd: Float[Array, " nv"], load: Load | None = None
) -> Float[Array, " nv"]:
    """F, the largest force of dry friction at velocities qd."""
    slow = jnp.exp(-((qd / joint.stribeck_velocity) ** 2))
    level = joint.friction + joint.stribeck * slow
    if load is None:
        return level
    b = joint.load_asymmetry
    carried = jnp.abs((1 - b) * load.external - (1 + b) * load.motor)
    level = level + (joint.load_friction + joint.load_stribeck * slow) * carried
    against = jnp.minimum(jnp.abs(load.motor), jnp.abs(load.external))
    against = jnp.where(load.motor * load.external < 0, against, 0.0)
    return level + joint.load_quadratic * slow * against**2


def friction(
    joint: Joints, qd: Float[Array, " nv"], load: Load | None = None
) -> Float[Array, " nv"]:
    """Force of dry friction, -F tanh(qd/v_0).

    The sign is smoothed over v_0, so a joint at rest creeps at force/slope.
    """
    return -friction_level(joint, qd, load) * jnp.tanh(qd / joint.friction_velocity)


def friction_secant(
    joint: Joints, qd: Float[Array, " nv"], load: Load | None = None
) -> Float[Array, " nv"]:
    """-friction(qd)/qd >= 0 (N m s/rad, N s/m): the damping that would give the same force."""
    ratio = safe.tanh_ratio(qd / joint.friction_velocity) / joint.friction_velocity
    return friction_level(joint, qd, load) * ratio
