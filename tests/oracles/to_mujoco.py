"""Our models as MuJoCo's: same coordinates, branch by branch (`zoo.depth_first`).

Free is MuJoCo's free joint where the joint frame is the world's, else three slides and a ball on
one body, which have the same coordinates. Planar is two slides and a hinge.
"""

from __future__ import annotations

import mujoco
import numpy as np

import zoo
from graftsim.model import Model


def plane_of(axis: np.ndarray) -> np.ndarray:
    """Where the smallest rotation from z to `axis` takes the x and y axes (columns; Rodrigues)."""
    z = np.array([0.0, 0.0, 1.0])
    turn = np.cross(z, axis)
    s, c = np.linalg.norm(turn), axis[2]
    if s < 1e-9:
        return np.diag([1.0, np.sign(c), np.sign(c)])[:, :2]
    k = turn / s
    K = np.array([[0, -k[2], k[1]], [k[2], 0, -k[0]], [-k[1], k[0], 0]])
    return (np.eye(3) + s * K + (1 - c) * K @ K)[:, :2]


def to_mujoco(model: Model, **options: object) -> mujoco.MjModel:
    """Compile the tree, inertias, armature and damping of a model; `options` as in mjOption."""
    spec = mujoco.MjSpec()
    spec.option.gravity = np.asarray(model.world.gravity)
    for name, value in options.items():
        setattr(spec.option, name, value)
    bodies = {-1: spec.worldbody}
    order, _, rows_v = zoo.depth_first(model)
    for i in order:
        parent, kind = model.tree.parent[i], model.tree.types[i]
        origin, rotation = np.asarray(model.joint.origin[i]), np.asarray(model.joint.rotation[i])
        body = bodies[parent].add_body(name=model.tree.links[i], pos=origin, quat=rotation)
        bodies[i] = body
        body.explicitinertial = True
        body.mass, body.ipos = float(model.link.mass[i]), np.asarray(model.link.com[i])
        body.inertia, body.iquat = _principal(np.asarray(model.link.inertia[i]))
        axis = np.asarray(model.joint.axis[i])
        at_world = parent < 0 and not origin.any() and rotation[0] == 1
        for joint in _joints(kind, axis, at_world):
            body.add_joint(**joint)
    compiled = spec.compile()
    compiled.dof_armature[:] = np.asarray(model.joint.armature)[rows_v]
    compiled.dof_damping[:] = np.asarray(model.joint.damping)[rows_v]
    return compiled


def _joints(kind: str, axis: np.ndarray, at_world: bool) -> list[dict]:
    hinge, slide, ball = (
        getattr(mujoco.mjtJoint, f"mjJNT_{k}") for k in ("HINGE", "SLIDE", "BALL")
    )
    if kind == "free" and at_world:
        return [{"type": mujoco.mjtJoint.mjJNT_FREE}]
    slides = np.eye(3) if kind == "free" else plane_of(axis).T
    return {
        "fixed": [],
        "revolute": [{"type": hinge, "axis": axis}],
        "prismatic": [{"type": slide, "axis": axis}],
        "planar": [*({"type": slide, "axis": x} for x in slides), {"type": hinge, "axis": axis}],
        "spherical": [{"type": ball}],
        "free": [*({"type": slide, "axis": x} for x in slides), {"type": ball}],
    }[kind]


def _principal(six: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Principal inertias and quaternion of their axes; MuJoCo's own diagonalisation is coarser."""
    xx, yy, zz, xy, xz, yz = six
    values, axes = np.linalg.eigh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    axes[:, 2] *= np.linalg.det(axes)
    quat = np.zeros(4)
    mujoco.mju_mat2Quat(quat, axes.ravel())
    return np.maximum(values, 0), quat
