"""A model as a URDF file, with every digit of its numbers; what URDF cannot say is named."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import numpy as np

from graftsim.io.robot import poses
from graftsim.io.robot.feasible_inertia import raised
from graftsim.io.robot.known_joints import check_joints
from graftsim.io.robot.numbers import floats, text
from graftsim.io.urdf.joint import KINDS, UNLIMITED
from graftsim.io.urdf.mimic import lost_loops, why_not, write_mimics
from graftsim.io.urdf.write_contact import WRITTEN, lost_contact, write_surfaces
from graftsim.model.build import WORLD
from graftsim.model.joints import FREE, REVOLUTE, SPHERICAL
from graftsim.model.model import Model
from graftsim.model.numbers import FRICTION_VELOCITY
from graftsim.model.shape_type import ShapeType
from graftsim.model.shapes import BOX, SPHERE

STANDARD_GRAVITY = (0.0, 0.0, -9.81)
TYPES = {kind: name for name, kind in reversed(KINDS.items())}


def urdf_element(model: Model) -> tuple[ET.Element, list[str]]:
    """The `<robot>` of a model, and what of it URDF has no words for.

    Raises FileError: a joint of a type that URDF has not.
    """
    check_joints(model, TYPES, "URDF")
    robot = ET.Element("robot", name=model.name)
    floating = _floating_root(model)
    links: dict[int, ET.Element] = {}
    if not floating:
        links[-1] = _link(robot, model, -1, WORLD)
    for i, name in enumerate(model.tree.links):
        links[i] = _link(robot, model, i, name)
        if not (floating and i == 0):
            _joint(robot, model, i)
    write_mimics(robot, model)
    write_surfaces(model, links)
    _frames(robot, model)
    return robot, inexpressible(model)


def inexpressible(model: Model) -> list[str]:
    """What of a model URDF has no words for, one sentence each."""
    tree, j = model.tree, model.joint
    lost: list[str] = []
    if not np.allclose(floats(model.world.gravity), STANDARD_GRAVITY, rtol=1e-6, atol=1e-6):
        lost.append(f"gravity {text(model.world.gravity)}: every program has its own.")
    for i, name in enumerate(tree.links):
        raised(name, float(model.link.mass[i]), floats(model.link.inertia[i]), lost)
    rigid = _rigid_mass(model)
    for i, (name, kind) in enumerate(zip(tree.joints, tree.joint_types, strict=True)):
        if kind == SPHERICAL:
            lost.append(f"joint {name}: spherical joints are an extension of URDF (Bullet's).")
        if kind.nv > 0 and rigid[i] == 0:
            lost.append(f"link {tree.links[i]}: it moves without mass of its own.")
        rows, q_rows = tree.v_index[i], tree.q_index[i]
        if np.any(floats(j.stiffness[rows])) and np.any(
            floats(j.rest[q_rows]) != tree.neutral[q_rows]
        ):
            lost.append(f"joint {name}: rest position {text(j.rest[q_rows])} of its spring.")
        for quantity in ("damping", "friction"):
            values = floats(getattr(j, quantity)[rows])
            if len(set(values)) > 1:
                lost.append(f"joint {name}: {quantity} {values} differs between its axes.")
        if kind.nv > 1 and np.any(np.isfinite([floats(j.lower[rows]), floats(j.upper[rows])])):
            lost.append(f"joint {name}: limits of its axes.")
    for row, name in enumerate(tree.dofs):
        for quantity in ("armature", "stiffness", "stribeck", "limit_stiffness"):
            value = float(getattr(j, quantity)[row])
            if value:
                lost.append(f"joint {name}: {quantity} {value:g}.")
        width = float(j.friction_velocity[row])
        if float(j.friction[row]) and abs(width / FRICTION_VELOCITY - 1) > 1e-6:
            lost.append(f"joint {name}: friction_velocity {width:g}.")
    if _floating_root(model) and tree.joints[0] != "root":
        lost.append(f"joint {tree.joints[0]}: the joint of a floating root has no name in URDF.")
    lost += [f"tendon {name}." for name in model.tendon.names]
    lost += lost_loops(model)
    around = dict.fromkeys(model.tree.links[i] for i in model.medium.link)
    lost += [f"link {name}: drag and lift of a medium." for name in around]
    return lost + _lost_actuators(model) + lost_contact(model)


def _rigid_mass(model: Model) -> np.ndarray:
    """Mass of each link together with the links fixed to it, [nl] (kg)."""
    mass = floats(model.link.mass).copy()
    for i in reversed(range(model.tree.nl)):
        parent = model.tree.parent[i]
        if not model.tree.moving[i] and parent >= 0:
            mass[parent] += mass[i]
    return mass


def _lost_actuators(model: Model) -> list[str]:
    a, tree = model.actuator, model.tree
    lost: list[str] = []
    following = _following(model)
    for k, name in enumerate(a.names):
        if a.dof[k] < 0:
            on = a.tendon[k] >= 0
            where = f"tendon {model.tendon.names[a.tendon[k]]}" if on else "a site"
            lost.append(f"actuator {name} on {where}.")
            continue
        joint = tree.dofs[a.dof[k]]
        if joint in following:
            lost.append(f"actuator {name}: in URDF {joint} mimics another joint and has no motor.")
            continue
        low, high = float(a.force_lower[k]), float(a.force_upper[k])
        plain = (
            a.kinds[k] == "torque"
            and float(a.gear[k]) == float(a.gain[k]) == 1
            and not (a.lagged[k] or a.longest_delay[k] or a.speed_limited[k])
            and low == -high
            and np.isinf(float(a.control_lower[k]))
            and np.isinf(float(a.control_upper[k]))
        )
        if not plain or name != joint:
            lost.append(
                f"actuator {name} on {joint}: URDF knows only a limit of effort; gear, gain, "
                "servo, delay, lag, range of control and its own name are lost."
            )
    driven = {tree.dofs[d] for d in a.dof if d >= 0}
    for name, kind in zip(tree.joints, tree.joint_types, strict=True):
        if kind.nv == 1 and name not in driven | following:
            lost.append(f"joint {name}: that it has no actuator.")
    return lost


def _following(model: Model) -> set[str]:
    """Joints that mimic others, which have no motor of their own."""
    first = [d for k, (d, _) in enumerate(model.coupling.dofs) if not why_not(model, k)]
    return {model.tree.dofs[d] for d in first}


def _floating_root(model: Model) -> bool:
    """Whether link 0 alone meets the world, freely and at its origin."""
    tree, j = model.tree, model.joint
    return (
        tree.joint_types[0] == FREE
        and sum(p < 0 for p in tree.parent) == 1
        and -1 not in (*_written_links(model), *model.frame.link)
        and not np.any(floats(j.origin[0]))
        and floats(j.rotation[0])[0] == 1
        and not np.any(floats(j.damping[tree.v_index[0]]))
        and not np.any(floats(j.friction[tree.v_index[0]]))
        and float(model.link.mass[0]) > 0
    )


def _written_links(model: Model) -> list[int]:
    """Links of the shapes that URDF can express."""
    g = model.geom
    return [i for i, kind in zip(g.link, g.types, strict=True) if kind in WRITTEN]


def _origin(above: ET.Element, position: object, rotation: object) -> None:
    xyz, rpy = text(position), text(poses.rpy(floats(rotation)))
    ET.SubElement(above, "origin", xyz=xyz, rpy=rpy)


def _link(robot: ET.Element, model: Model, i: int, name: str) -> ET.Element:
    link = ET.SubElement(robot, "link", name=name)
    if i >= 0 and (float(model.link.mass[i]) or np.any(floats(model.link.inertia[i]))):
        inertial = ET.SubElement(link, "inertial")
        _origin(inertial, model.link.com[i], (1, 0, 0, 0))
        ET.SubElement(inertial, "mass", value=text(model.link.mass[i]))
        names = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
        mass = float(model.link.mass[i])
        possible = raised(name, mass, floats(model.link.inertia[i]), [])
        six = {k: text(v) for k, v in zip(names, possible, strict=True)}
        ET.SubElement(inertial, "inertia", six)
    g = model.geom
    for k in np.flatnonzero(np.array(g.link, int) == i):
        if (kind := g.types[k]) in WRITTEN:
            collision = ET.SubElement(link, "collision", name=g.names[k])
            _origin(collision, g.position[k], g.rotation[k])
            sizes = _shape_sizes(kind, floats(g.size[k]))
            ET.SubElement(ET.SubElement(collision, "geometry"), kind.name, sizes)
    return link


def _shape_sizes(kind: ShapeType, size: np.ndarray) -> dict[str, str]:
    """URDF's sizes: whole lengths where ours are halves."""
    if kind == BOX:
        return {"size": text(2 * size)}
    round_ = {"radius": text(size[0])}
    return round_ if kind == SPHERE else round_ | {"length": text(2 * size[1])}


def _joint(robot: ET.Element, model: Model, i: int) -> None:
    tree, j = model.tree, model.joint
    kind, rows = tree.joint_types[i], tree.v_index[i]
    low, high = (floats(x[rows]) for x in (j.lower, j.upper))
    bounded = len(rows) == 1 and (np.isfinite(low[0]) or np.isfinite(high[0]))
    urdf_type = "continuous" if kind == REVOLUTE and not bounded else TYPES[kind]
    joint = ET.SubElement(robot, "joint", name=tree.joints[i], type=urdf_type)
    _origin(joint, j.origin[i], j.rotation[i])
    parent = tree.links[tree.parent[i]] if tree.parent[i] >= 0 else WORLD
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=tree.links[i])
    if kind.axial:
        ET.SubElement(joint, "axis", xyz=text(j.axis[i]))
    if kind.nv > 0:
        passive = {"damping": j.damping[rows[0]], "friction": j.friction[rows[0]]}
        ET.SubElement(joint, "dynamics", {k: text(v) for k, v in passive.items()})
    if kind.nv == 1:
        effort = _effort(model, rows[0])
        limit = {"effort": text(effort), "velocity": text(UNLIMITED)}
        if urdf_type != "continuous":
            ends = np.clip([low[0], high[0]], -UNLIMITED, UNLIMITED)
            limit = {"lower": text(ends[0]), "upper": text(ends[1])} | limit
        ET.SubElement(joint, "limit", limit)


def _effort(model: Model, row: int) -> float:
    """Largest force of the actuators on a degree of freedom; URDF's stand-in for none is large."""
    a = model.actuator
    bounds = [
        max(abs(float(a.force_lower[k])), abs(float(a.force_upper[k]))) * abs(float(a.gear[k]))
        for k in range(len(a.names))
        if a.dof[k] == row
    ]
    return min(sum(bounds), UNLIMITED) if bounds else 0.0


def _frames(robot: ET.Element, model: Model) -> None:
    f, links = model.frame, (*model.tree.links, WORLD)
    for k, name in enumerate(f.names):
        ET.SubElement(robot, "link", name=name)
        joint = ET.SubElement(robot, "joint", name=f"{name}/fixed", type="fixed")
        _origin(joint, f.position[k], f.rotation[k])
        ET.SubElement(joint, "parent", link=links[f.link[k]])
        ET.SubElement(joint, "child", link=name)
