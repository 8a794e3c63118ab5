"""Where links are, how fast they move, and how joint velocities move a point."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import Mechanism, assemble, from_parents, prepare, rows
from graftsim.dynamics.motion import (
    JointMotion,
    at,
    joint_motion,
    link_velocity,
    per_link,
    velocity_bias,
)
from graftsim.errors import ModelError, suggest
from graftsim.model.model import Model
from graftsim.model.tree import Tree
from graftsim.spatial import rotation
from graftsim.spatial.transform import Transform, rotate


def world_transforms(tree: Tree, motion: JointMotion) -> Transform:
    """X_0: world to link coordinates, for every link."""
    levels: list[Transform] = []
    for d, index in enumerate(tree.levels):
        X = at(motion.X_up, index)
        if d > 0:
            above = levels[-1]
            X = X @ Transform(from_parents(tree, d, above.E), from_parents(tree, d, above.r))
        levels.append(X)
    index = list(tree.levels)
    return Transform(assemble([X.E for X in levels], index), assemble([X.r for X in levels], index))


def link_poses(
    model: Model | Mechanism, q: Float[Array, " nq"]
) -> tuple[Float[Array, "nl 3 3"], Float[Array, "nl 3"]]:
    """Rotation matrices (link to world) and positions (m) of the link frames."""
    m = prepare(model)
    X = world_transforms(m.tree, joint_motion(m, q, jnp.zeros(m.tree.nv, q.dtype)))
    return rotation.transpose(X.E), X.r


def link_velocities(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"]
) -> Float[Array, "nl 6"]:
    """Spatial velocities (angular rad/s; linear m/s of the link's origin), in link coordinates."""
    m = prepare(model)
    return link_velocity(m.tree, joint_motion(m, q, qd))


def link_acceleration(
    m: Mechanism, motion: JointMotion, v: Float[Array, "nl 6"], qdd: Float[Array, " nv"]
) -> Float[Array, "nl 6"]:
    """Spatial accelerations of the links, in them, gravity subtracted, of known joint ones."""
    tree, gravity = m.tree, m.model.world.gravity
    own = per_link(tree, motion.S * qdd[:, None]) + velocity_bias(motion, v)
    a_base = jnp.concatenate([jnp.zeros_like(gravity), -gravity])
    a: list[Float[Array, "k 6"]] = []
    for d, index in enumerate(tree.levels):
        above = a_base[None] if d == 0 else from_parents(tree, d, a[-1])
        above = jnp.broadcast_to(above, (len(index), 6))
        a.append(at(motion.X_up, index).motion(above) + rows(own, index))
    return assemble(a, list(tree.levels))


def attachment(model: Model, name: str) -> tuple[int, Float[Array, " 3"], Float[Array, " 4"]]:
    """Link index (-1: world), position and orientation in it of a named frame or link.

    Raises ModelError with the nearest names.
    """
    if name in model.frame.names:
        i = model.frame.names.index(name)
        return model.frame.link[i], model.frame.position[i], model.frame.rotation[i]
    if name in model.tree.links:
        dtype = model.link.mass.dtype
        return (
            model.tree.links.index(name),
            jnp.zeros(3, dtype),
            jnp.array([1.0, 0.0, 0.0, 0.0], dtype),
        )
    known = [*model.tree.links, *model.frame.names]
    raise ModelError(f"There is no link or frame named '{name}'. {suggest(name, known)}")


def frame_pose(
    model: Model | Mechanism, q: Float[Array, " nq"], name: str
) -> tuple[Float[Array, "3 3"], Float[Array, " 3"]]:
    """Rotation matrix (to world) and position (m) of a named frame or link."""
    m = prepare(model)
    link, position, quaternion = attachment(m.model, name)
    R_f = rotation.matrix(quaternion)
    if link < 0:
        return R_f, position
    R, p = link_poses(m, q)
    return R[link] @ R_f, p[link] + rotate(R[link], position)


def jacobian(model: Model | Mechanism, q: Float[Array, " nq"], name: str) -> Float[Array, "6 nv"]:
    """J with J qd = (angular; linear) velocity of a named frame's origin, in world axes."""
    m = prepare(model)
    link, position, _ = attachment(m.model, name)
    motion = joint_motion(m, q, jnp.zeros(m.tree.nv, q.dtype))
    X_0 = world_transforms(m.tree, motion)
    if link < 0:
        return jnp.zeros((6, m.tree.nv), q.dtype)
    S_0 = at(X_0, m.tree.link_of_dof).motion_inverse(motion.S)
    carried = jnp.asarray(m.tree.ancestor[m.tree.link_of_dof, link], q.dtype)[:, None]
    point = X_0.r[link] + rotate(rotation.transpose(X_0.E[link]), position)
    linear = S_0[:, 3:] + rotation.cross(S_0[:, :3], point[None])
    return (carried * jnp.concatenate([S_0[:, :3], linear], -1)).T


def point_velocity(
    model: Model | Mechanism, q: Float[Array, " nq"], qd: Float[Array, " nv"], name: str
) -> Float[Array, " 6"]:
    """(angular rad/s; linear m/s) velocity of a named frame's origin, in world axes."""
    return jacobian(model, q, name) @ qd
