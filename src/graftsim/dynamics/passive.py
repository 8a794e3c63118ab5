"""Passive joint forces: springs, viscous damping, Coulomb and Stribeck friction, limits."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.friction import Load, friction
from graftsim.dynamics.mechanism import Mechanism, by_joint_type, prepare
from graftsim.dynamics.motion import joint_motion
from graftsim.dynamics.paths import posed, tendon_arms
from graftsim.dynamics.tendons import limit, tendon_energy
from graftsim.model.model import Joints, Model
from graftsim.model.tree import Tree
from graftsim.taps import OFF, Tapper


def displacement(
    tree: Tree, start: Float[Array, " nq"], end: Float[Array, " nq"]
) -> Float[Array, " nv"]:
    """Displacement of each degree of freedom between two positions (rad, m)."""
    given = [(start, tree.q_rows), (end, tree.q_rows)]
    return by_joint_type(tree, lambda kind, q0, q1: kind.difference(q0, q1), given, tree.v_rows)


def spring_energy(model: Model | Mechanism, q: Float[Array, " nq"]) -> Float[Array, ""]:
    """Energy stored in the springs of joints and tendons (J)."""
    m = prepare(model)
    model = m.model
    stretch = displacement(model.tree, model.joint.rest, q)
    q_dof = displacement(model.tree, jnp.asarray(model.tree.neutral, q.dtype), q)
    joints = jnp.sum(model.joint.stiffness * stretch * stretch) / 2
    if not model.tendon.names:
        return joints
    pose = posed(m, joint_motion(m, q, jnp.zeros_like(q_dof)), None) if model.tendon.path else None
    return joints + tendon_energy(model.tendon, tendon_arms(model.tendon, q_dof, pose).length)


def displacements(
    model: Model, q: Float[Array, " nq"], qd: Float[Array, " nv"], *, scope: Tapper = OFF
) -> tuple[Float[Array, " nv"], Float[Array, " nv"]]:
    """Displacements of the degrees of freedom from zero (rad, m), and velocities, by name."""
    neutral = jnp.asarray(model.tree.neutral, q.dtype)
    return (
        scope.tap("joint.q", displacement(model.tree, neutral, q)),
        scope.tap("joint.qd", qd),
    )


class Resistance(NamedTuple):
    """Spring, damping and limit forces on each degree of freedom [nv]: all but dry friction."""

    spring: Float[Array, " nv"]
    damping: Float[Array, " nv"]
    limit: Float[Array, " nv"]


def resistance(
    model: Model,
    q: Float[Array, " nq"],
    q_dof: Float[Array, " nv"],
    qd: Float[Array, " nv"],
    *,
    scope: Tapper = OFF,
) -> Resistance:
    """What resists without regard to load, each by name."""
    joint = model.joint
    stretch = displacement(model.tree, joint.rest, q)
    return Resistance(
        scope.tap("joint.tau_spring", -joint.stiffness * stretch),
        scope.tap("joint.tau_damping", -joint.damping * qd),
        scope.tap("joint.tau_limit", limit(joint, q_dof, qd)),
    )


def with_friction(
    joint: Joints,
    r: Resistance,
    qd: Float[Array, " nv"],
    load: Load | None = None,
    *,
    scope: Tapper = OFF,
) -> Float[Array, " nv"]:
    """Sum of passive forces; load: where friction depends on it, without spring and limits."""
    if load is not None:
        load = load._replace(external=load.external + r.spring + r.limit)
    dry = scope.tap("joint.tau_friction", friction(joint, qd, load))
    return scope.tap("joint.tau_passive", r.spring + r.damping + dry + r.limit)


def passive_forces(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """Sum of spring, damping, friction and limit forces on the degrees of freedom (N m, N).

    Friction is that of joints without load.
    """
    model = prepare(model).model
    q_dof, qd = displacements(model, q, qd)
    return with_friction(model.joint, resistance(model, q, q_dof, qd), qd)
