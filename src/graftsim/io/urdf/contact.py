"""Contact in URDF: Bullet's `<contact>` of a link, and which links of a robot are kept apart.

The standard says nothing about contact. Bullet reads surfaces from a `<contact>` in `<link>`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from graftsim.errors import ModelError
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.model.build import WORLD
from graftsim.model.joint_type import JointType
from graftsim.model.pairs import check_surface

# Element of <contact>: the quantity of the pairs.
READ = {"lateral_friction": "friction", "restitution": "restitution"}


def read_surface(link: Element, notes: Notes) -> dict[str, Any]:
    """Numbers of the `<contact>` of a link, as `Builder.geom` takes them.

    Raises FileError: a second `<contact>`, a number that is none or that no surface has.
    """
    contact = link.one("contact")
    if contact is None:
        return {}
    if not link.all("collision"):
        notes.group("not used: the link has no <collision>.", "<contact> in line", contact.line)
        return {}
    surface: dict[str, Any] = {}
    for tag, quantity in READ.items():
        element = contact.one(tag)
        if element is None:
            continue
        value = element.number("value")
        try:
            check_surface({quantity: value}, f"link '{link.attributes['name']}'")
        except ModelError as e:
            raise element.error(str(e)) from None
        surface[quantity] = value
    if surface:
        notes.group(
            "of two shapes that touch, the larger friction and restitution hold; Bullet multiplies "
            "them.",
            "<contact> in line",
            contact.line,
        )
    return surface


def keep_apart(
    parent: Mapping[str, str],
    kind: Mapping[str, JointType],
    shaped: Collection[str],
    self_collision: bool,
) -> list[tuple[str, str]]:
    """Links that must not touch although one is fixed to the world: both are of one robot.

    `parent`: of each link, parents first, "world" for the world itself, whose shapes are the
    surroundings. `kind`: type of the joint to it. `shaped`: links with shapes. With
    `self_collision` a fixed base is kept from what hangs on it directly, as any parent.
    """
    base: set[str] = set()
    first: dict[str, str] = {}  # the link of each mechanism that moves against the base
    near: set[str] = set()  # rigidly connected with that
    for name, above in parent.items():
        if kind[name].nv == 0 and (above == WORLD or above in base):
            base.add(name)
        elif above == WORLD or above in base:
            first[name] = name
            near.add(name)
        else:
            first[name] = first[above]
            if kind[name].nv == 0 and above in near:
                near.add(name)
    return [
        (b, name)
        for name, f in first.items()
        if name in shaped
        and parent[f] != WORLD
        and not kind[f].is_pose
        and (name in near or not self_collision)
        for b in base
        if b in shaped
    ]
