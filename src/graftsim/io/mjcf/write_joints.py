"""Joints of MJCF bodies, and what is collected while a file is written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field

import numpy as np

from graftsim.io.robot.numbers import floats, text
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
    # Shapes that are not in the file.
    missing: set[int] = field(default_factory=set)

    @property
    def tree(self) -> Tree:
        """Topology."""
        return self.model.tree


def write_joint(w: Writer, body: ET.Element, i: int, R: np.ndarray, p: np.ndarray) -> None:
    """Write the joint of link i, whose pose in the body's frame is (R, p)."""
    kind, name = w.tree.types[i], w.tree.joints[i]
    j, rows = w.model.joint, w.tree.v_index[i]
    axis = floats(j.axis[i]) / np.linalg.norm(floats(j.axis[i]))
    labels = [name + s for s in w.tree.joint_types[i].suffixes]
    if kind in ("revolute", "prismatic"):
        _axis_joint(w, body, name, kind, R @ axis, p, rows[0], w.tree.q_index[i][0])
    elif kind == "planar":
        plane = R @ _plane(axis)
        for k, (direction, row) in enumerate(zip([*plane.T[:2], R @ axis], rows, strict=True)):
            how = "revolute" if k == 2 else "prismatic"
            position = w.tree.q_index[i][k]
            _axis_joint(w, body, labels[k], how, direction, p, row, position)
    elif kind == "spherical":
        _ball(w, body, name, i, rows, "ball")
        w.dof_place |= {label: (name, k) for k, label in enumerate(labels)}
    elif kind == "free":
        absolute = not np.any(floats(j.origin[i])) and floats(j.rotation[i])[0] == 1
        if w.tree.parent[i] < 0 and absolute:
            _ball(w, body, name, i, rows, "free")
            w.dof_place |= {label: (name, k) for k, label in enumerate(labels)}
            return
        # A free joint of MuJoCo starts from the world's origin; three slides and a ball do not.
        for k in range(3):
            position = w.tree.q_index[i][k]
            _axis_joint(w, body, labels[k], "prismatic", np.eye(3)[k], p, rows[k], position)
        _ball(w, body, name, i, rows[3:], "ball")
        w.dof_place |= {label: (name, k) for k, label in enumerate(labels[3:])}


def _axis_joint(
    w: Writer,
    body: ET.Element,
    name: str,
    kind: str,
    axis: np.ndarray,
    anchor: np.ndarray,
    row: int,
    position: int,
) -> None:
    """A hinge or slide for the degree of freedom `row`, position coordinate `position`."""
    j = w.model.joint
    item = ET.SubElement(
        body,
        "joint",
        name=name,
        type="hinge" if kind == "revolute" else "slide",
        axis=text(axis),
        pos=text(anchor),
    )
    _passive(item, w, row)
    if float(j.stiffness[row]):
        item.set("springref", text(j.rest[position]))
    low, high = floats(j.lower[row]), floats(j.upper[row])
    if np.isfinite(low) or np.isfinite(high):
        item.set("range", text(np.clip([low, high], -UNLIMITED, UNLIMITED)))
    w.dof_place[name] = (name, 0)


def _ball(w: Writer, body: ET.Element, name: str, i: int, rows: np.ndarray, kind: str) -> None:
    """A ball or free joint, which has one number for all its degrees of freedom."""
    item = ET.SubElement(body, "joint", name=name, type=kind)
    _passive(item, w, rows[0])
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
    rest = floats(j.rest[w.tree.q_index[i]])
    if kind == "free":  # MuJoCo's spring pulls to the pose in which the body is drawn
        body.set("pos", text(rest[:3]))
        body.set("quat", text(rest[3:]))
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
