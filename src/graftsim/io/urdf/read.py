"""URDF files into models, with the meaning of the URDF standard and exact doubles.

Links come out depth first, children in the order of their joints in the file. Fixed joints stay as
links of their own, so that tool frames keep their names.
"""

from __future__ import annotations

import numpy as np

from graftsim.errors import FileError, ModelError, suggest
from graftsim.io.robot.format import Base, ReadOptions
from graftsim.io.robot.ground import add_ground
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.io.urdf import contact, rigid, schema
from graftsim.io.urdf.inertia import read_body, small_sphere
from graftsim.io.urdf.joint import Joint, read_joint
from graftsim.io.urdf.link import Link
from graftsim.io.urdf.mimic import add_mimics
from graftsim.io.urdf.shapes import add_shapes
from graftsim.model.build import WORLD, Builder
from graftsim.model.joints import FIXED, FREE
from graftsim.model.model import Model

# Name of the joint between the world and a root link that is not the world.
ROOT = "root"


def read_urdf(robot: Element, options: ReadOptions) -> Model:
    """The model of a `<robot>`; options and errors as `graftsim.load`."""
    path, base = robot.path, options.base or "auto"
    if base not in ("auto", "fixed", "free"):
        raise FileError(f"{path}: base={base!r}; 'auto', 'fixed' or 'free' is expected.")
    repair_inertia = bool(options.repair_inertia)
    self_collision = bool(options.self_collision)
    notes = Notes()
    schema.check(robot, notes)
    links = _tree(robot, notes, repair_inertia)
    root = links[0]
    builder = Builder(robot.attributes.get("name", path.stem))
    renamed = {root.name: WORLD} if _is_world(root, base, notes) else {}
    joints = {x.joint.name for x in links if x.joint is not None}
    moving = [x for x in links if x.joint is not None and x.joint.kind.nv > 0]
    if not renamed and _floats(root, base, notes):
        moving = [root, *moving]
    _require_mass(links, moving, notes, repair_inertia)
    rigid.settle(links, moving, notes, repair_inertia)
    loose = {x.name for x in moving}
    for link in links:
        if link.name not in renamed:
            _add_link(builder, link, link.name in loose, renamed, joints)
    shapes: set[str] = set()
    for link in links:
        name = renamed.get(link.name, link.name)
        add_shapes(builder, link.element, name, options, shapes, notes)
    add_ground(builder, options.ground, shapes, path)
    _keep_apart(builder, links, moving, renamed, self_collision)
    following = add_mimics(
        builder, {x.joint.name: x.joint for x in links if x.joint is not None}, notes
    )
    for link in links:
        if link.joint is not None and link.joint.kind.nv == 1 and link.joint.name not in following:
            effort = link.joint.effort
            builder.actuator(link.joint.name, link.joint.name, force_range=(-effort, effort))
    builder.notes.extend(notes.sentences())
    builder.caveats.extend(notes.caveats())
    builder.faults.extend(notes.faults())
    try:
        return builder.build(self_collision=self_collision, armature=options.armature)
    except ModelError as e:
        raise FileError(f"{path}: {e}") from e


def _tree(robot: Element, notes: Notes, repair: bool) -> list[Link]:
    """All links, parents first. Raises FileError: repeated or unknown names, two roots, loops."""
    elements = _by_name(robot.all("link"))
    if not elements:
        raise robot.error("<robot> has no <link>.")
    parent_joint: dict[str, Joint] = {}
    children: dict[str, list[str]] = {name: [] for name in elements}
    for element in _by_name(robot.all("joint")).values():
        joint = read_joint(element, notes)
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in elements:
                raise element.error(
                    f"joint '{joint.name}' has the {role} link '{name}', which the file does not "
                    f"declare. {suggest(name, elements)}"
                )
        if joint.child in parent_joint:
            other = parent_joint[joint.child]
            raise element.error(
                f"link '{joint.child}' is the child of two joints, '{other.name}' (line "
                f"{other.element.line}) and '{joint.name}': a loop, which URDF cannot describe."
            )
        parent_joint[joint.child] = joint
        children[joint.parent].append(joint.child)
    roots = [name for name in elements if name not in parent_joint]
    if len(roots) > 1:
        listed = ", ".join(f"'{r}' (line {elements[r].line})" for r in roots)
        raise elements[roots[1]].error(
            f"the file has {len(roots)} root links, {listed}; a mechanism has one. Connect them by "
            "joints, a fixed one if they do not move."
        )
    order, waiting = [], roots[:]
    while waiting:
        name = waiting.pop()
        order.append(name)
        waiting.extend(reversed(children[name]))
    reached = set(order)
    for name in elements:
        if name not in reached:
            raise parent_joint[name].element.error(
                f"link '{name}' is carried by its own children through joint "
                f"'{parent_joint[name].name}': a loop, not connected to any root."
            )
    return [
        Link(elements[name], read_body(elements[name], notes, repair), parent_joint.get(name))
        for name in order
    ]


def _by_name(elements: list[Element]) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in elements:
        name = element.text("name")
        if name in found:
            raise element.error(
                f"{element.tag} '{name}' is declared twice, first in line {found[name].line}."
            )
        found[name] = element
    return found


def _is_world(root: Link, base: Base, notes: Notes) -> bool:
    """Whether the root link stands for the world itself."""
    if root.name != WORLD:
        return False
    if base == "free":
        raise root.element.error("the root link is the world; with base='free' it would float.")
    if root.body.mass:
        notes.add(f"line {root.element.line}: the mass of the root link 'world' is not used.")
    notes.add("base: the root link 'world' is the world itself; what hangs on it is fixed to it.")
    return True


def _floats(root: Link, base: Base, notes: Notes) -> bool:
    """Whether the root floats, with a note that says so and how to choose the other way."""
    heavy = root.body.mass > 0
    free = base == "free" or (base == "auto" and heavy)
    why = f"it has mass {root.body.mass:g} kg" if heavy else "it has no mass of its own"
    why = why if base == "auto" else f"base='{base}' was asked for"
    kind = "floats freely (joint 'root')" if free else "is fixed to the world"
    word = "fixed" if free else "free"
    other = "" if base != "auto" else f" --base {word} (base='{word}') changes that."
    notes.add(f"base: the root link '{root.name}' {kind}, because {why}.{other}")
    return free


def _require_mass(links: list[Link], moving: list[Link], notes: Notes, repair: bool) -> None:
    """Refuse, or repair, moving links that have no mass even with all that is fixed to them."""
    parent = {x.name: x.joint.parent if x.joint else None for x in links}
    loose = {x.name for x in moving}
    rigid = {x.name: x.body.mass for x in links}
    carried = dict(rigid)
    for link in reversed(links):
        above = parent[link.name]
        if above is not None:
            carried[above] += carried[link.name]
            if link.name not in loose:
                rigid[above] += rigid[link.name]
    masses = [x.body.mass for x in links if x.body.mass > 0]
    for link in moving:
        if rigid[link.name] > 0:
            continue
        where = f"line {link.element.line}: link '{link.name}'"
        # About a joint of several freedoms a massless link could turn against what it carries.
        several = link.joint is None or link.joint.kind.nv > 1
        if carried[link.name] > 0 and (repair or not several):
            notes.group(
                "moves without mass of its own; it carries mass, so it may.",
                "link",
                f"{link.name} (line {link.element.line})",
            )
        elif repair:
            link.body, sentence = small_sphere(link.body, min(masses, default=np.inf))
            notes.add(f"{where}: {sentence}", wrong="warning")
        else:
            raise _massless(link)


def _massless(link: Link) -> FileError:
    if link.body.fault is not None:
        return link.body.fault
    inertial = link.element.one("inertial")
    by = f"by joint '{link.joint.name}'" if link.joint else "as a floating base"
    remedy = (
        "or make its joint fixed; --repair-inertia (repair_inertia=True) gives it a small mass "
        "when it carries none."
    )
    if inertial is None:
        return link.element.error(
            f"link '{link.name}' moves {by} but has no <inertial>, and nothing fixed to it has "
            f"mass. Add <inertial> with <origin>, <mass> and <inertia>, {remedy}"
        )
    mass = inertial.all("mass")[0]
    return mass.error(
        f"link '{link.name}' moves {by} but has mass {mass.number('value'):g} kg, and nothing "
        f"fixed to it has mass. Give a positive mass, {remedy}"
    )


def _add_link(
    builder: Builder, link: Link, moves: bool, renamed: dict[str, str], joints: set[str]
) -> None:
    body = {"mass": link.body.mass, "com": link.body.com, "inertia": link.body.inertia}
    try:
        if link.joint is None:
            kind = FREE if moves else FIXED
            joint_name = f"{link.name}/root" if ROOT in joints else ROOT
            builder.link(link.name, WORLD, kind, joint_name=joint_name, **body)
            return
        joint = link.joint
        parent = renamed.get(joint.parent, joint.parent)
        builder.link(link.name, parent, joint.kind, joint_name=joint.name, **joint.numbers, **body)
    except ModelError as e:
        raise link.element.error(str(e)) from None


def _keep_apart(
    builder: Builder,
    links: list[Link],
    moving: list[Link],
    renamed: dict[str, str],
    self_collision: bool,
) -> None:
    """Exclude what a robot does not touch of itself though it is fixed to the world."""
    parent, kind, loose = {}, {}, {x.name for x in moving}
    for x in links:
        if x.name not in renamed:
            above = x.joint.parent if x.joint else WORLD
            parent[x.name] = renamed.get(above, above)
            base = FREE if x.name in loose else FIXED
            kind[x.name] = x.joint.kind if x.joint else base
    shaped = {x.name for x in links if x.element.all("collision")}
    for a, b in contact.keep_apart(parent, kind, shaped, self_collision):
        builder.exclude(a, b)
