"""Our models as Pinocchio's, with the conversions between the two sets of coordinates.

Pinocchio's free-flyer velocity is the body's (linear; angular) in its own axes and its quaternions
are x, y, z, w; ours has the linear part in the parent's axes. With v_pin = T(q) qd, forces are
tau = T^T tau_pin, and accelerations qdd_pin = T qdd + (dT/dt) qd.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pinocchio as pin
from to_mujoco import plane_of

import zoo
from graftsim.model import Model


@dataclass
class Pin:
    """A Pinocchio model, where our links sit in it, and joint types branch by branch."""

    model: pin.Model
    carrier: dict[int, int]
    placement: dict[int, pin.SE3]
    types: list[str]

    def q(self, q: np.ndarray) -> np.ndarray:
        """Positions, branch by branch, with Pinocchio's quaternions."""
        q, at = q.copy(), 0
        for kind in self.types:
            if kind in ("spherical", "free"):
                start = at + (3 if kind == "free" else 0)
                q[start : start + 4] = np.roll(q[start : start + 4], -1)
            at += _nq(kind)
        return q

    def velocity_map(self, q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """T and (dT/dt) qd."""
        T, drift = np.eye(len(qd)), np.zeros(len(qd))
        at_q = at_v = 0
        for kind in self.types:
            if kind == "free":
                w, x, y, z = q[at_q + 3 : at_q + 7]
                R = pin.Quaternion(w, x, y, z).toRotationMatrix()
                T[at_v : at_v + 3, at_v : at_v + 3] = R.T
                omega = qd[at_v + 3 : at_v + 6]
                drift[at_v : at_v + 3] = -np.cross(omega, R.T @ qd[at_v : at_v + 3])
            at_q, at_v = at_q + _nq(kind), at_v + _nv(kind)
        return T, drift


def to_pinocchio(model: Model) -> Pin:
    """Build joint by joint; links on fixed joints are appended to what carries them."""
    m = pin.Model()
    m.gravity.linear = np.asarray(model.world.gravity)
    carrier: dict[int, int] = {}
    placement: dict[int, pin.SE3] = {}
    order, _, rows_v = zoo.depth_first(model)
    for i in order:
        parent, kind = model.tree.parent[i], model.tree.types[i]
        w, x, y, z = np.asarray(model.joint.rotation[i])
        R = pin.Quaternion(w, x, y, z).toRotationMatrix()
        M = pin.SE3(R, np.asarray(model.joint.origin[i]))
        above = 0
        if parent >= 0:
            above, M = carrier[parent], placement[parent] * M
        axis = np.asarray(model.joint.axis[i])
        for n, joint in enumerate(_joints(kind, axis)):
            above = m.addJoint(above, joint, M, f"{model.tree.joints[i]}.{n}")
            M = pin.SE3.Identity()
        carrier[i], placement[i] = above, M
        xx, yy, zz, xy, xz, yz = np.asarray(model.link.inertia[i])
        inertia = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        if above > 0:
            body = pin.Inertia(float(model.link.mass[i]), np.asarray(model.link.com[i]), inertia)
            m.appendBodyToJoint(above, body, M)
    m.armature = np.asarray(model.joint.armature)[rows_v]
    return Pin(m, carrier, placement, [model.tree.types[i] for i in order])


def _joints(kind: str, axis: np.ndarray) -> list:
    def slide(x: np.ndarray) -> pin.JointModelPrismaticUnaligned:
        return pin.JointModelPrismaticUnaligned(*x)

    return {
        "fixed": list,
        "revolute": lambda: [pin.JointModelRevoluteUnaligned(*axis)],
        "prismatic": lambda: [slide(axis)],
        "planar": lambda: [
            *(slide(x) for x in plane_of(axis).T),
            pin.JointModelRevoluteUnaligned(*axis),
        ],
        "spherical": lambda: [pin.JointModelSpherical()],
        "free": lambda: [pin.JointModelFreeFlyer()],
    }[kind]()


def _nq(kind: str) -> int:
    return {"fixed": 0, "revolute": 1, "prismatic": 1, "planar": 3, "spherical": 4, "free": 7}[kind]


def _nv(kind: str) -> int:
    return {"fixed": 0, "revolute": 1, "prismatic": 1, "planar": 3, "spherical": 3, "free": 6}[kind]
