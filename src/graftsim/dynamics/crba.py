"""Composite-rigid-body algorithm: the joint-space inertia matrix [RBDA 6.2], in world coordinates.

In one frame the recursion becomes two products: composite inertias sum the inertias that a link
carries, and H_ij = S_i . (I_c S_j) wherever link i carries link j.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism, prepare, rows
from graftsim.dynamics.motion import at, joint_motion
from graftsim.model.model import Model


def mass_matrix(model: Model | Mechanism, q: Float[Array, " nq"]) -> Float[Array, "nv nv"]:
    """H(q), symmetric positive (kg m^2, kg m, kg), armature included."""
    m = prepare(model)
    tree = m.tree
    motion = joint_motion(m, q, jnp.zeros(tree.nv, q.dtype))
    X_0 = world_transforms(tree, motion)
    I_c = jnp.tensordot(jnp.asarray(tree.ancestor, q.dtype), X_0.inertia_inverse(m.I), 1)
    S = at(X_0, tree.link_of_dof).motion_inverse(motion.S)
    F = jnp.einsum("nij,nj->ni", rows(I_c, tree.link_of_dof), S)
    i, j = np.meshgrid(tree.link_of_dof, tree.link_of_dof, indexing="ij")
    # Upper part: row i carries column j. Degrees of freedom of one joint appear on both sides.
    carries = tree.ancestor[i, j]
    SF = S @ F.T
    H = jnp.where(jnp.asarray(carries), SF, jnp.where(jnp.asarray(carries.T), SF.T, 0.0))
    return H + jnp.diag(m.model.joint.armature)
