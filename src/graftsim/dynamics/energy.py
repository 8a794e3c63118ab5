"""Energy, momentum and centre of mass: what a free mechanism keeps."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism, prepare
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.passive import spring_energy
from graftsim.model.model import Model
from graftsim.spatial.rotation import transpose
from graftsim.spatial.transform import rotate
from graftsim.spatial.vectors import apply


def kinetic_energy(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]
) -> Float[Array, ""]:
    """Kinetic energy (J), that of the rotors (armature) included."""
    m = prepare(model)
    v = link_velocity(m.tree, joint_motion(m, q, qd))
    return jnp.sum(v * apply(m.I, v)) / 2 + jnp.sum(m.model.joint.armature * qd * qd) / 2


def potential_energy(model: Model | Mechanism, q: Float[Array, " nq"]) -> Float[Array, ""]:
    """Energy of gravity (zero at the world's origin) and of the joint springs (J)."""
    m = prepare(model)
    mass = jnp.sum(m.model.link.mass)
    height = jnp.dot(center_of_mass(m, q), m.model.world.gravity)
    return -mass * height + spring_energy(m, q)


def center_of_mass(model: Model | Mechanism, q: Float[Array, " nq"]) -> Float[Array, " 3"]:
    """Centre of mass of the whole mechanism, in the world (m)."""
    m = prepare(model)
    X = world_transforms(m.tree, joint_motion(m, q, jnp.zeros(m.tree.nv, q.dtype)))
    com = X.r + rotate(transpose(X.E), m.model.link.com)
    mass = m.model.link.mass
    return mass @ com / jnp.sum(mass)


def momentum(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]
) -> Float[Array, " 6"]:
    """Spatial momentum (angular N m s about the world's origin; linear N s), in world axes."""
    m = prepare(model)
    motion = joint_motion(m, q, qd)
    v = link_velocity(m.tree, motion)
    X = world_transforms(m.tree, motion)
    return jnp.sum(X.force_inverse(apply(m.I, v)), 0)
