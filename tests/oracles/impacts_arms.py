"""Mechanisms on joints for `impacts.py`: a double pendulum by hand, a robot's leg by MuJoCo.

Both move by equations M(q) v' + h(q, v) = tau that owe nothing to graftsim.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from impacts import WORLD, Array, Flow, Pose, ode
from impacts_bodies import cross

_WORLD = {WORLD: (np.eye(3), np.zeros(3))}


class Arm:
    """Joints of one coordinate each: v = q'."""

    def acceleration(self, q: Array, v: Array) -> Array:
        """Without contact."""
        raise NotImplementedError

    def flow(self, q: Array, v: Array, T: float) -> Flow:
        """Motion without contact."""
        n = len(q)
        solution = ode(
            lambda y: np.concatenate([y[n:], self.acceleration(y[:n], y[n:])]),
            np.concatenate([q, v]),
            T,
        )

        def at(t: float) -> tuple[Array, Array]:
            y = solution(t)
            return y[:n], y[n:]

        return at


@dataclass(frozen=True)
class DoublePendulum(Arm):
    """Two links that hang along -z and turn about y, the second relative to the first.

    Lengths, centres of mass below the joints (m), masses (kg), inertias about y through the
    centres (kg m^2), each [2]; gravity along -z (m/s^2).
    """

    lengths: tuple[float, float]
    centres: tuple[float, float]
    masses: tuple[float, float]
    inertias: tuple[float, float]
    gravity: float

    def mass(self, q: Array) -> Array:
        """The textbook's, in relative angles."""
        (l, _), (c1, c2), (m1, m2), (I1, I2) = (
            self.lengths, self.centres, self.masses, self.inertias
        )  # fmt: skip
        own = I2 + m2 * c2**2
        mixed = own + m2 * l * c2 * np.cos(q[1])
        first = I1 + m1 * c1**2 + m2 * l**2 + m2 * l * c2 * np.cos(q[1]) + mixed
        return np.array([[first, mixed], [mixed, own]])

    def acceleration(self, q: Array, v: Array) -> Array:
        """Coriolis forces are those of the mixed term, weights pull back to the vertical."""
        (l, _), (c1, c2), (m1, m2) = self.lengths, self.centres, self.masses
        swing = m2 * l * c2 * np.sin(q[1])
        outer = m2 * c2 * self.gravity * np.sin(q[0] + q[1])
        inner = (m1 * c1 + m2 * l) * self.gravity * np.sin(q[0])
        bias = np.array([
            -swing * v[1] * (2 * v[0] + v[1]) + inner + outer,
            swing * v[0] ** 2 + outer,
        ])  # fmt: skip
        return -np.linalg.solve(self.mass(q), bias)

    def poses(self, q: Array) -> dict[int, Pose]:
        """Turned about y by the sum of the angles before."""
        first, second = (_about_y(a) for a in (q[0], q[0] + q[1]))
        elbow = first @ np.array([0.0, 0.0, -self.lengths[0]])
        return _WORLD | {0: (first, np.zeros(3)), 1: (second, elbow)}

    def carried(self, q: Array, body: int, point: Array) -> Array:
        """Points turn about the joints before them: y x r."""
        J, y = np.zeros((3, 2)), np.array([0.0, 1.0, 0.0])
        for joint in range(body + 1):
            J[:, joint] = cross(y, point - self.poses(q)[joint][1])
        return J


def _about_y(angle: float) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def leg_urdf(file: Path, leg: str = "FR") -> str:
    """A quadruped's file with one leg alone, whose name its links and joints begin with."""
    root = ET.fromstring(file.read_text(encoding="utf-8"))
    for child in list(root):
        own = child.get("name", "").startswith(leg)
        trunk = child.tag == "link" and child.get("name") == "trunk"
        if child.tag in ("link", "joint") and not (own or trunk):
            root.remove(child)
    return ET.tostring(root, encoding="unicode")


class Leg(Arm):
    """A robot on a fixed base under constant torques (N m), its equations by MuJoCo.

    `armature` (kg m^2) of each joint. Body k is MuJoCo's k + 1, whose links on fixed joints are
    parts of it.
    """

    def __init__(self, urdf: str, armature: float, torques: Array) -> None:
        import mujoco

        self._mujoco: Any = mujoco
        self.model: Any = mujoco.MjModel.from_xml_string(urdf)
        self.model.dof_armature[:] = armature
        self.model.dof_damping[:] = self.model.dof_frictionloss[:] = 0
        flags = mujoco.mjtDisableBit
        self.model.opt.disableflags |= flags.mjDSBL_CONTACT | flags.mjDSBL_CONSTRAINT
        self.data: Any = mujoco.MjData(self.model)
        self.torques = torques

    def acceleration(self, q: Array, v: Array) -> Array:
        """M v' = torques - bias."""
        self.data.qpos[:], self.data.qvel[:] = q, v
        self.data.qfrc_applied[:] = self.torques
        self._mujoco.mj_forward(self.model, self.data)
        return self.data.qacc.copy()

    def mass(self, q: Array) -> Array:
        """With armature."""
        self._at(q)
        M = np.zeros((len(q), len(q)))
        self._mujoco.mj_fullM(self.model, self.data, M)
        return M

    def poses(self, q: Array) -> dict[int, Pose]:
        """Of moving bodies."""
        self._at(q)
        d = self.data
        bodies = range(1, self.model.nbody)
        own = {k - 1: (d.xmat[k].reshape(3, 3).copy(), d.xpos[k].copy()) for k in bodies}
        return _WORLD | own

    def carried(self, q: Array, body: int, point: Array) -> Array:
        """MuJoCo's Jacobian."""
        J = np.zeros((3, len(q)))
        if body != WORLD:
            self._at(q)
            self._mujoco.mj_jac(self.model, self.data, J, None, point, body + 1)
        return J

    def _at(self, q: Array) -> None:
        self.data.qpos[:] = q
        self._mujoco.mj_kinematics(self.model, self.data)
        self._mujoco.mj_comPos(self.model, self.data)
        self._mujoco.mj_crb(self.model, self.data)
