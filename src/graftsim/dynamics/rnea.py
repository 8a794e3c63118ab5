"""Recursive Newton-Euler Algorithm: inverse dynamics [RBDA 5.3, table 5.1], level by level."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import link_acceleration
from graftsim.dynamics.mechanism import (
    Mechanism,
    assemble,
    prepare,
    rows,
    to_parents,
)
from graftsim.dynamics.motion import (
    JointMotion,
    at,
    joint_motion,
    link_velocity,
)
from graftsim.model.model import Model
from graftsim.spatial.vectors import apply, cross_force


def inverse_dynamics(
    model: Model | Mechanism,
    q: Float[Array, " nq"],
    qd: Float[Array, " nv"],
    qdd: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"] | None = None,
) -> Float[Array, " nv"]:
    """Joint forces tau (N m, N) that give accelerations qdd, armature included.

    `f_ext` as in `forward_dynamics`. Passive forces are not included, nor those of closed loops.
    """
    m = prepare(model)
    motion = joint_motion(m, q, qd)
    return newton_euler(m, motion, link_velocity(m.tree, motion), qdd, f_ext)


def newton_euler(
    m: Mechanism,
    motion: JointMotion,
    v: Float[Array, "nl 6"],
    qdd: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"] | None = None,
    *,
    armature: Float[Array, " nv"] | None = None,
) -> Float[Array, " nv"]:
    """`inverse_dynamics` of a motion and link velocities that are known already.

    armature: instead of the model's.
    """
    tree = m.tree
    armature = m.model.joint.armature if armature is None else armature
    a = link_acceleration(m, motion, v, qdd)
    f = apply(m.I, a) + cross_force(v, apply(m.I, v))
    if f_ext is not None:
        f = f - f_ext
    total: list[Float[Array, "k 6"]] = []
    for d in reversed(range(len(tree.levels))):
        index = tree.levels[d]
        f_d = rows(f, index)
        if d + 1 < len(tree.levels):
            through = at(motion.X_up, tree.levels[d + 1]).force_inverse(total[0])
            f_d = f_d + to_parents(tree, d + 1, through)
        total.insert(0, f_d)
    f_joint = assemble(total, list(tree.levels))
    tau = jnp.sum(motion.S * rows(f_joint, tree.link_of_dof), -1)
    return tau + armature * qdd


def bias_forces(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """C(q, qd): Coriolis, centrifugal and gravity forces (N m, N); tau = H qdd + C."""
    return inverse_dynamics(model, q, qd, jnp.zeros_like(qd))
