"""Passive joint forces: springs, viscous damping, Coulomb and Stribeck friction, limits."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import Mechanism, by_joint_type, prepare
from graftsim.dynamics.tendons import tendon_energy
from graftsim.model.model import Joints, Model
from graftsim.model.tree import Tree
from graftsim.spatial import safe
from graftsim.taps import OFF, Tapper


def displacement(
    tree: Tree, start: Float[Array, " nq"], end: Float[Array, " nq"]
) -> Float[Array, " nv"]:
    """Displacement of each degree of freedom between two positions (rad, m)."""
    given = [(start, tree.q_rows), (end, tree.q_rows)]
    return by_joint_type(tree, lambda kind, q0, q1: kind.difference(q0, q1), given, tree.v_rows)


def spring_energy(model: Model, q: Float[Array, " nq"]) -> Float[Array, ""]:
    """Energy stored in the springs of joints and tendons (J)."""
    stretch = displacement(model.tree, model.joint.rest, q)
    q_dof = displacement(model.tree, jnp.asarray(model.tree.neutral, q.dtype), q)
    joints = jnp.sum(model.joint.stiffness * stretch * stretch) / 2
    return joints + tendon_energy(model.tendon, q_dof) if model.tendon.names else joints


def friction(joint: Joints, qd: Float[Array, " nv"]) -> Float[Array, " nv"]:
    """Force of dry friction: -(f_c + f_s exp(-(qd/v_s)^2)) tanh(qd/v_0).

    f_c Coulomb's level, f_s the breakaway level above it, v_s Stribeck's speed (Armstrong-Helouvry
    et al. 1994, eq. 4); the sign is smoothed over v_0, so a joint at rest creeps at force/slope.
    """
    level = joint.friction + joint.stribeck * jnp.exp(-((qd / joint.stribeck_velocity) ** 2))
    return -level * jnp.tanh(qd / joint.friction_velocity)


def friction_secant(joint: Joints, qd: Float[Array, " nv"]) -> Float[Array, " nv"]:
    """-friction(qd)/qd >= 0 (N m s/rad, N s/m): the damping that would give the same force."""
    level = joint.friction + joint.stribeck * jnp.exp(-((qd / joint.stribeck_velocity) ** 2))
    return level * safe.tanh_ratio(qd / joint.friction_velocity) / joint.friction_velocity


def limit(joint: Joints, q: Float[Array, " nv"], qd: Float[Array, " nv"]) -> Float[Array, " nv"]:
    """Force of the limits of travel: k x (1 + d x_dot), never pulling back (Hunt & Crossley 1975).

    x is the depth beyond the limit, x_dot its rate. Continuous at first touch, exactly zero inside.
    """

    def push(depth: Float[Array, " nv"], rate: Float[Array, " nv"]) -> Float[Array, " nv"]:
        inside = jnp.isfinite(depth) & (depth > 0)
        x = jnp.where(inside, depth, 0.0)
        return joint.limit_stiffness * x * jnp.maximum(1 + joint.limit_damping * rate, 0.0)

    return push(joint.lower - q, -qd) - push(q - joint.upper, qd)


class Passive(NamedTuple):
    """Passive forces [nv], and the displacements and velocities [nv] they were computed from."""

    tau: Float[Array, " nv"]
    q_dof: Float[Array, " nv"]
    qd: Float[Array, " nv"]


def passive_terms(
    model: Model, q: Float[Array, " nq"], qd: Float[Array, " nv"], *, scope: Tapper = OFF
) -> Passive:
    """Spring, damping, friction and limit forces on the degrees of freedom, each by name."""
    tree, joint = model.tree, model.joint
    q_dof = scope.tap("joint.q", displacement(tree, jnp.asarray(tree.neutral, q.dtype), q))
    qd = scope.tap("joint.qd", qd)
    stretch = displacement(tree, joint.rest, q)
    spring = scope.tap("joint.tau_spring", -joint.stiffness * stretch)
    damping = scope.tap("joint.tau_damping", -joint.damping * qd)
    dry = scope.tap("joint.tau_friction", friction(joint, qd))
    stops = scope.tap("joint.tau_limit", limit(joint, q_dof, qd))
    return Passive(scope.tap("joint.tau_passive", spring + damping + dry + stops), q_dof, qd)


def passive_forces(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """Sum of spring, damping, friction and limit forces on the degrees of freedom (N m, N)."""
    return passive_terms(prepare(model).model, q, qd).tau
