"""Joints of MJCF bodies, and what is collected while a file is written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from graftsim.io.robot.numbers import floats, text
from graftsim.model.joint_type import JointType
from graftsim.model.joints import FIXED, FREE, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL
from graftsim.model.model import Model
from graftsim.model.tree import Tree

# MuJoCo has no infinite numbers; a limit of this size is none (mjMAXVAL).
UNLIMITED = 1e10


@dataclass
class Writer:
    """A model, what of it MJCF could not express, and what other parts of the file refer to."""

    model: Model
    lost: list[str] = field(default_factory=list)
    # Where each degree of freedom is in the file: joint name, component of its gear.
    dof_place: dict[str, tuple[str, int]] = field(default_factory=dict)
    meshes: dict[str, np.ndarray] = field(default_factory=dict)
    # The element of each link that has one, -1: the world's.
    bodies: dict[int, ET.Element] = field(default_factory=dict)
    # Shapes that are not in the file.
    missing: set[int] = field(default_factory=set)
    # Tendons that are not.
    lost_tendons: set[int] = field(default_factory=set)

    @property
    def tree(self) -> Tree:
        """Topology."""
        return self.model.tree


class _Joint(NamedTuple):
    """The joint of link i, whose pose in the frame of the element `body` is (R, p)."""

    w: Writer
    body: ET.Element
    i: int
    R: np.ndarray
    p: np.ndarray

    @property
    def name(self) -> str:
        """Its name."""
        return self.w.tree.joints[self.i]

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of its degrees of freedom."""
        return self.w.tree.joint_types[self.i].dof_labels(self.name)

    @property
    def rows(self) -> np.ndarray:
        """Its degrees of freedom."""
        return self.w.tree.v_index[self.i]

    @property
    def axis(self) -> np.ndarray:
        """Its axis in the link, of unit length."""
        axis = floats(self.w.model.joint.axis[self.i])
        return axis / np.linalg.norm(axis)


def write_joint(w: Writer, body: ET.Element, i: int, R: np.ndarray, p: np.ndarray) -> None:
    """Write the joint of link i, whose pose in the body's frame is (R, p)."""
    WRITE[w.tree.joint_types[i]](_Joint(w, body, i, R, p))


def _fixed(j: _Joint) -> None:
    """A body without a joint is fixed."""


def _revolute(j: _Joint) -> None:
    _axis_joint(j, "hinge", 0, j.R @ j.axis)


def _prismatic(j: _Joint) -> None:
    _axis_joint(j, "slide", 0, j.R @ j.axis)


def _planar(j: _Joint) -> None:
    plane = j.R @ _plane(j.axis)
    for k in range(2):
        _axis_joint(j, "slide", k, plane[:, k])
    _axis_joint(j, "hinge", 2, j.R @ j.axis)


def _spherical(j: _Joint) -> None:
    _ball(j, "ball", 0)


def _free(j: _Joint) -> None:
    joint = j.w.model.joint
    absolute = not np.any(floats(joint.origin[j.i])) and floats(joint.rotation[j.i])[0] == 1
    if j.w.tree.parent[j.i] < 0 and absolute:
        drawn = j.w.model.starts.drawn
        if drawn:
            pose = np.array(drawn)[j.w.tree.q_index[j.i]]
            j.body.set("pos", text(pose[:3]))
            j.body.set("quat", text(pose[3:]))
        _ball(j, "free", 0)
        return
    # A free joint of MuJoCo starts from the world's origin; three slides and a ball do not.
    for k in range(3):
        _axis_joint(j, "slide", k, np.eye(3)[k])
    _ball(j, "ball", 3)


WRITE: dict[JointType, Callable[[_Joint], None]] = {
    FIXED: _fixed,
    REVOLUTE: _revolute,
    PRISMATIC: _prismatic,
    PLANAR: _planar,
    SPHERICAL: _spherical,
    FREE: _free,
}


def _axis_joint(joint: _Joint, kind: str, k: int, axis: np.ndarray) -> None:
    """A hinge or slide along an axis of the body for degree of freedom k of the joint."""
    w, name, row = joint.w, joint.labels[k], joint.rows[k]
    j = w.model.joint
    item = ET.SubElement(
        joint.body, "joint", name=name, type=kind, axis=text(axis), pos=text(joint.p)
    )
    _passive(item, w, row)
    if float(j.stiffness[row]):
        item.set("springref", text(j.rest[w.tree.q_index[joint.i][k]]))
    low, high = floats(j.lower[row]), floats(j.upper[row])
    if np.isfinite(low) or np.isfinite(high):
        item.set("range", text(np.clip([low, high], -UNLIMITED, UNLIMITED)))
    w.dof_place[name] = (name, 0)


def _ball(joint: _Joint, kind: str, first: int) -> None:
    """A ball or free joint for the degrees of freedom from `first` on: one number for them all."""
    w, name, rows = joint.w, joint.name, joint.rows[first:]
    item = ET.SubElement(joint.body, "joint", name=name, type=kind)
    _passive(item, w, rows[0])
    w.dof_place |= {label: (name, k) for k, label in enumerate(joint.labels[first:])}
    j = w.model.joint
    for quantity in ("armature", "damping", "stiffness", "friction"):
        values = floats(getattr(j, quantity)[rows])
        if np.any(values != values[0]):
            w.lost.append(
                f"joint {name}: {quantity} {values} of its axes is written as {values[0]:g}."
            )
    if np.any(np.isfinite(floats(j.lower[rows]))) or np.any(np.isfinite(floats(j.upper[rows]))):
        w.lost.append(f"joint {name}: limits of its axes.")
    if not np.any(floats(j.stiffness[rows])):
        return
    rest = floats(j.rest[w.tree.q_index[joint.i]])
    if kind == "free":  # MuJoCo's spring pulls to the pose in which the body is drawn
        joint.body.set("pos", text(rest[:3]))
        joint.body.set("quat", text(rest[3:]))
    elif np.any(rest[-4:] != [1, 0, 0, 0]):
        w.lost.append(f"joint {name}: rest orientation {rest[-4:]} of its spring.")


def _passive(item: ET.Element, w: Writer, row: int) -> None:
    j = w.model.joint
    names = {"armature": j.armature, "damping": j.damping, "stiffness": j.stiffness}
    for name, values in (names | {"frictionloss": j.friction}).items():
        if float(values[row]):
            item.set(name, text(values[row]))


def _plane(axis: np.ndarray) -> np.ndarray:
    """Twin of `spatial.rotation.align_z`: columns 0 and 1 are the directions of a planar joint."""
    x, y, z = axis
    if z < -1 + 1e-12:
        return np.diag([1.0, -1.0, -1.0])
    k = 1 / (1 + z)
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])
