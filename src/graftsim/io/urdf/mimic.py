"""`<mimic>` of URDF, as couplings: position = multiplier * other + offset; read and written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Mapping

from graftsim.errors import suggest
from graftsim.io.robot.numbers import text
from graftsim.io.robot.xml_lines import Notes
from graftsim.io.urdf.joint import Joint
from graftsim.model.build import Builder
from graftsim.model.model import Model


def add_mimics(builder: Builder, joints: Mapping[str, Joint], notes: Notes) -> set[str]:
    """Couple every joint that mimics another; returns their names: they have no motor.

    Raises FileError: it mimics a joint that is not there, itself, or one that is no hinge or slide.
    """
    found: set[str] = set()
    for name, joint in joints.items():
        mimic = joint.element.one("mimic")
        if mimic is None:
            continue
        other = mimic.text("joint")
        if other not in joints:
            raise mimic.error(f"joint '{name}' mimics '{other}'. {suggest(other, joints)}")
        if other == name:
            raise mimic.error(f"joint '{name}' mimics itself.")
        if joint.kind.nv == 0:
            notes.group("<mimic> of a fixed joint has no meaning; not used.", "joint", name)
            continue
        if joint.kind.nv != 1 or joints[other].kind.nv != 1:
            wrong = name if joint.kind.nv != 1 else other
            raise mimic.error(
                f"joint '{name}' mimics '{other}', and '{wrong}' is no hinge or slide "
                f"but {joints[wrong].element.attributes['type']}."
            )
        multiplier, offset = mimic.number("multiplier", 1.0), mimic.number("offset", 0.0)
        builder.couple(name, name, other, ratio=multiplier, offset=offset)
        notes.group("<mimic> holds exactly, and the joint has no motor.", "joint", name)
        found.add(name)
    return found


def write_mimics(robot: ET.Element, model: Model) -> None:
    """Add `<mimic>` to the joints of the couplings that it can say."""
    c, dofs = model.coupling, model.tree.dofs
    elements = {x.get("name"): x for x in robot.iter("joint")}
    for k in range(len(c.names)):
        if not why_not(model, k):
            first, second = (dofs[d] for d in c.dofs[k])
            offset = float(c.offset[k]) - float(c.ratio[k]) * float(c.reference[k])
            attributes = {"joint": second, "multiplier": text(c.ratio[k]), "offset": text(offset)}
            ET.SubElement(elements[first], "mimic", attributes)


def lost_loops(model: Model) -> list[str]:
    """What of loops and couplings URDF has no words for, one sentence each."""
    lost = [f"loop {name}: URDF has no closed loops." for name in model.loop.names]
    reasons = {name: why_not(model, k) for k, name in enumerate(model.coupling.names)}
    return lost + [f"coupling {name}: {reason}." for name, reason in reasons.items() if reason]


def why_not(model: Model, k: int) -> str:
    """Why coupling k is no `<mimic>`; empty if it is one."""
    c, tree = model.coupling, model.tree
    if c.tendons[k][0] >= 0:
        return "it is of tendons"
    if c.dofs[k][1] < 0:
        return "it follows no other joint"
    if any(tree.dofs[d] not in tree.joints for d in c.dofs[k]):
        return "it is of one axis of a joint"
    if any(float(x[k]) for x in (c.quadratic, c.cubic, c.quartic)):
        return "it is not linear"
    if [d for d, _ in c.dofs].count(c.dofs[k][0]) > 1:
        return "its joint is coupled more than once"
    return ""
