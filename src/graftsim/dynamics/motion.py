"""Joint by joint: transforms, motion subspaces and velocities of all links at once [RBDA 4.4].

Links are handled by joint type, whatever their place in the tree; the recursions then go level by
level over what is returned here.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import Mechanism, assemble, from_parents, joint_rows, rows
from graftsim.model.tree import Tree
from graftsim.spatial.rotation import transpose
from graftsim.spatial.transform import Transform
from graftsim.spatial.vectors import cross_motion


class JointMotion(NamedTuple):
    """`X_up` parent to link; `S` a row a degree of freedom; `v_J`, `c_J`."""

    X_up: Transform
    S: Float[Array, "nv 6"]
    v_J: Float[Array, "nl 6"]
    c_J: Float[Array, "nl 6"]


def joint_motion(m: Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]) -> JointMotion:
    """Transforms from parent to link coordinates and what the joint velocities contribute."""
    tree = m.tree
    R, p, v_J, c_J, links = [], [], [], [], []
    S = []
    for (kind, index), q_rows, v_rows in zip(tree.groups, tree.q_rows, tree.v_rows, strict=True):
        qk, qdk = (joint_rows(*x, len(index)) for x in ((q, q_rows), (qd, v_rows)))
        axis = rows(m.axis, index)
        Rk, pk = kind.transform(axis, qk)
        Sk = kind.motion_subspace(axis, Rk)
        R.append(Rk)
        p.append(pk)
        v_J.append(jnp.einsum("kni,kn->ki", Sk, qdk))
        c_J.append(kind.bias(Sk, Rk, qdk))
        links.append(index)
        S.append(Sk.reshape(-1, 6))
    return JointMotion(
        X_up=Transform(transpose(assemble(R, links)), assemble(p, links)) @ m.X_tree,
        S=assemble(S, list(tree.v_rows)),
        v_J=assemble(v_J, links),
        c_J=assemble(c_J, links),
    )


def link_velocity(tree: Tree, motion: JointMotion) -> Float[Array, "nl 6"]:
    """v_i = X_up v_parent + v_J, from the roots outwards [RBDA 5.1], link coordinates."""
    levels: list[Float[Array, "k 6"]] = []
    for d, index in enumerate(tree.levels):
        v = rows(motion.v_J, index)
        if d > 0:
            v = at(motion.X_up, index).motion(from_parents(tree, d, levels[-1])) + v
        levels.append(v)
    return assemble(levels, list(tree.levels))


def carried_velocity(
    tree: Tree, motion: JointMotion, qd: Float[Array, " nv"]
) -> Float[Array, "nl 6"]:
    """Link velocities of other joint velocities in the same pose."""
    moved = motion.S * qd[:, None]
    incidence = (np.arange(tree.nl)[:, None] == tree.link_of_dof).astype(float)
    return link_velocity(tree, motion._replace(v_J=jnp.asarray(incidence, qd.dtype) @ moved))


def velocity_bias(motion: JointMotion, v: Float[Array, "nl 6"]) -> Float[Array, "nl 6"]:
    """c_i = c_J + v_i x v_J [RBDA 5.1]."""
    return motion.c_J + cross_motion(v, motion.v_J)


def per_link(tree: Tree, x: Float[Array, "nv 6"]) -> Float[Array, "nl 6"]:
    """Sum rows of the degrees of freedom into their links."""
    pieces = [
        jnp.sum(joint_rows(x, dofs, len(links)), 1)
        if kind.nv
        else jnp.zeros((len(links), 6), x.dtype)
        for (kind, links), dofs in zip(tree.groups, tree.v_rows, strict=True)
    ]
    return assemble(pieces, [links for _, links in tree.groups])


def at(X: Transform, index: np.ndarray) -> Transform:
    """Transforms of some links."""
    return Transform(rows(X.E, index), rows(X.r, index))
