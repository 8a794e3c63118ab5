"""What a URDF file may contain, and the small pieces that links and joints share."""

from __future__ import annotations

import numpy as np

from graftsim.errors import suggest
from graftsim.io.robot import poses
from graftsim.io.robot.xml_lines import Element, Notes, misspelt

_INERTIA = ("ixx", "iyy", "izz", "ixy", "ixz", "iyz")
SHAPES = ("box", "sphere", "cylinder", "capsule", "mesh")

# tag: (attributes, children that are read)
SCHEMA: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "robot": (("name", "version"), ("link", "joint")),
    "link": (("name",), ("inertial", "collision", "contact")),
    "inertial": ((), ("origin", "mass", "inertia")),
    "origin": (("xyz", "rpy", "quat_xyzw"), ()),
    "mass": (("value",), ()),
    "inertia": (_INERTIA, ()),
    "collision": (("name",), ("origin", "geometry")),
    "geometry": ((), SHAPES),
    "box": (("size",), ()),
    "sphere": (("radius",), ()),
    "cylinder": (("radius", "length"), ()),
    "capsule": (("radius", "length"), ()),
    "mesh": (("filename", "scale"), ()),
    "contact": ((), ("lateral_friction", "restitution")),
    "lateral_friction": (("value",), ()),
    "restitution": (("value",), ()),
    "joint": (
        ("name", "type"),
        ("origin", "parent", "child", "axis", "dynamics", "limit", "mimic"),
    ),
    "parent": (("link",), ()),
    "child": (("link",), ()),
    "axis": (("xyz",), ()),
    "dynamics": (("damping", "friction", "stiffness", "spring_stiffness", "spring_reference"), ()),
    "limit": (("lower", "upper", "effort", "velocity"), ()),
    "mimic": (("joint", "multiplier", "offset"), ()),
}

# Known tags that do not change the dynamics here, and why they are skipped.
SKIPPED = {
    "visual": "skipped: shapes for display only; the collision shapes are read.",
    "material": "skipped: colours.",
    "transmission": "skipped: every moving joint of one degree of freedom gets a torque actuator.",
    "gazebo": "skipped: settings of another simulator.",
    "mujoco": "skipped: settings of another simulator.",
    "sensor": "skipped: sensors are chosen with the recording.",
    "contact": "skipped: the surface of a link is a <contact> in its <link>.",
    "stiffness": "skipped: N/m of a spring; give pair.stiffness, N/m^n of Hunt and Crossley's law.",
    "damping": "skipped: N s/m of a damper; give pair.dissipation, s/m of Hunt and Crossley's law.",
    "rolling_friction": "skipped: contact has sliding friction only.",
    "spinning_friction": "skipped: contact has sliding friction only.",
    "friction_anchor": "skipped: friction holds by itself here.",
    "contact_cfm": "skipped: give pair.cfm, in 1/kg.",
    "contact_erp": "skipped: how fast overlaps are undone belongs to the contact law (alpha).",
    "inertia_scaling": "skipped: the inertia of the file holds.",
    "calibration": "skipped: reference positions for homing a real joint.",
    "safety_controller": "skipped: bounds of a controller, not of the mechanism.",
    "verbose": "skipped: a comment.",
}


def check(element: Element, notes: Notes) -> None:
    """Walk all elements that are read: refuse misspelt names, note everything that is not read.

    Raises FileError for a tag or attribute that looks like a misspelt known one.
    """
    attributes, tags = SCHEMA[element.tag]
    element.check_attributes(attributes, notes)
    for child in element.children:
        if child.tag in tags:
            check(child, notes)
        elif child.tag in SKIPPED:
            notes.group(SKIPPED[child.tag], f"<{child.tag}> in line", child.line)
        elif misspelt(child.tag, [t for t in tags if not element.all(t)]):
            raise child.error(
                f"<{element.tag}> has the unknown element <{child.tag}>. {suggest(child.tag, tags)}"
            )
        else:
            why = f"skipped: not an element of <{element.tag}> that is known here."
            notes.group(why, f"<{child.tag}> in line", child.line)


def origin(element: Element) -> tuple[np.ndarray, np.ndarray]:
    """Position (m) and quaternion of the `<origin>` of an element; the identity without one."""
    found = element.one("origin")
    if found is None:
        return np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
    position = found.numbers("xyz", 3, (0, 0, 0))
    if "quat_xyzw" in found.attributes:
        if "rpy" in found.attributes:
            raise found.error("<origin> has both rpy and quat_xyzw; only one may be given.")
        return position, np.roll(found.numbers("quat_xyzw", 4), 1)
    return position, poses.quaternion_from_rpy(found.numbers("rpy", 3, (0, 0, 0)))
