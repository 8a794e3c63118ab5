"""A model as an MJCF file, with every digit of its numbers.

Joints of massless links in a row are written as several joints of one body, since MuJoCo wants mass
in each moving body. With A = [R, p] the pose of the next link in such a link, a motion about axis a
through the link's origin is, seen from the next link, one about R^T a through -R^T p.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import numpy as np

from graftsim.io.mjcf import medium, starts
from graftsim.io.mjcf.drives import write_law
from graftsim.io.mjcf.equality import write_equalities
from graftsim.io.mjcf.shapes import SHAPES
from graftsim.io.mjcf.tendons import write_tendons
from graftsim.io.mjcf.write_contact import MASKS, write_pairs
from graftsim.io.mjcf.write_joints import UNLIMITED, WRITE, Writer, write_joint
from graftsim.io.robot import poses
from graftsim.io.robot.feasible_inertia import raised, with_margin
from graftsim.io.robot.known_joints import check_joints
from graftsim.io.robot.numbers import floats, text
from graftsim.model.model import Model
from graftsim.model.numbers import FRICTION_VELOCITY
from graftsim.model.shapes import MESH, PLANE

# A body of MuJoCo has no more degrees of freedom than this.
MOST_DOFS = 6
# A moving body of MuJoCo must have mass and inertia above 1e-15.
SMALLEST = 1e-12


# MuJoCo's step if the file does not say: its history of commands is counted in steps.
TIMESTEP = 0.002


def mjcf_element(model: Model) -> tuple[ET.Element, list[str]]:
    """The `<mujoco>` of a model, and what of it MJCF could not express.

    Raises FileError: a joint of a type that MJCF has not.
    """
    check_joints(model, WRITE, "MJCF")
    w = Writer(model)
    root = ET.Element("mujoco", model=model.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", inertiafromgeom="false")
    option = ET.SubElement(root, "option", gravity=text(model.world.gravity))
    world = ET.Element("worldbody")
    w.bodies[-1] = world
    _attach(w, world, -1, {})
    for i, parent in enumerate(w.tree.parent):
        if parent < 0:
            _body(w, world, i)
    if w.meshes:
        asset = ET.SubElement(root, "asset")
        for name, vertices in w.meshes.items():
            ET.SubElement(asset, "mesh", name=name, vertex=text(vertices.ravel()))
    root.append(world)
    write_pairs(w, root)
    write_tendons(w, root)
    write_equalities(w, root)
    _actuators(w, root)
    starts.write(w, root)
    medium.write(w, option, w.bodies)
    _laws(w)
    return root, w.lost


def _body(w: Writer, above: ET.Element, first: int) -> None:
    """Write the body that starts with link `first`, and all that it carries."""
    chain = _chain(w, first)
    last = chain[-1]
    j = w.model.joint
    # Pose of each link of the chain in the last one, all joints at zero.
    R, p = np.eye(3), np.zeros(3)
    places = {last: (R, p)}
    for link, after in zip(chain[-2::-1], chain[:0:-1], strict=True):
        turn, origin = poses.matrix(floats(j.rotation[after])), floats(j.origin[after])
        R, p = R @ turn.T, p - R @ turn.T @ origin
        places[link] = (R, p)
    R_first, p_first = places[first]
    top = poses.matrix(floats(j.rotation[first]))
    position = floats(j.origin[first]) - top @ R_first.T @ p_first
    rotation = floats(j.rotation[first])
    if last != first:
        rotation = poses.quaternion(top @ R_first.T)
    body = ET.SubElement(
        above, "body", name=w.tree.links[last], pos=text(position), quat=text(rotation)
    )
    w.bodies[last] = body
    _inertial(w, body, last)
    for link in chain:
        write_joint(w, body, link, *places[link])
    _attach(w, body, last, places)
    for child in np.flatnonzero(np.array(w.tree.parent) == last):
        _body(w, body, int(child))


def _chain(w: Writer, link: int) -> list[int]:
    """Links that make one body: massless ones with one axis and nothing on them, then the next."""
    m, chain = w.model, [link]
    while True:
        children = [i for i, p in enumerate(w.tree.parent) if p == link]
        bare = (
            w.tree.joint_types[link].axial
            and float(m.link.mass[link]) == 0
            and link
            not in (*m.geom.link, *m.frame.link, *(end for ends in m.loop.links for end in ends))
            and len(children) == 1
            and w.tree.moving[children[0]]
            and not w.tree.joint_types[children[0]].is_pose
            and sum(len(w.tree.v_index[i]) for i in (*chain, children[0])) <= MOST_DOFS
        )
        if not bare:
            return chain
        link = children[0]
        chain.append(link)


def _inertial(w: Writer, body: ET.Element, i: int) -> None:
    mass, com = floats(w.model.link.mass[i]), floats(w.model.link.com[i])
    six = raised(w.tree.links[i], float(mass), floats(w.model.link.inertia[i]), w.lost)
    quat = np.array([1.0, 0, 0, 0])
    diagonal = six[:3]
    if np.any(six[3:]):
        diagonal, axes = np.linalg.eigh(poses.symmetric(six))
        axes[:, 2] *= np.sign(np.linalg.det(axes))
        quat = poses.quaternion(axes)
    if w.tree.moving[i]:
        name = w.tree.links[i]
        if mass < SMALLEST:
            w.lost.append(f"link {name}: its mass {mass:g} kg is written as {SMALLEST:g} kg.")
        if np.any(diagonal < SMALLEST):
            w.lost.append(f"link {name}: principal inertias below {SMALLEST:g} are raised to that.")
        mass, diagonal = np.maximum(mass, SMALLEST), np.maximum(diagonal, SMALLEST)
    diagonal = with_margin(diagonal)
    values = {"pos": com, "quat": quat, "mass": mass, "diaginertia": diagonal}
    ET.SubElement(body, "inertial", {k: text(v) for k, v in values.items()})


def _attach(w: Writer, body: ET.Element, link: int, places: dict) -> None:
    """Shapes and frames of a link (-1: the world)."""
    g, f = w.model.geom, w.model.frame
    for k in np.flatnonzero(np.array(g.link, int) == link):
        name, kind = g.names[k], g.types[k]
        moves = link >= 0 and w.tree.moving[link]
        if kind not in SHAPES.values() or (kind == PLANE and moves):
            where = " on a moving link" if kind == PLANE else ""
            w.lost.append(f"shape {name}: a {kind.name}{where}.")
            w.missing.add(int(k))
            continue
        item = ET.SubElement(body, "geom", {"name": name, "type": kind.name} | MASKS)
        if kind == MESH:
            w.meshes[name] = floats(g.vertices[k])
            item.set("mesh", name)
        else:
            item.set("size", "0 0 1" if kind == PLANE else text(g.size[k][: len(kind.sizes)]))
        item.set("pos", text(g.position[k]))
        item.set("quat", text(g.rotation[k]))
    for k in np.flatnonzero(np.array(f.link, int) == link):
        pose = {"pos": text(f.position[k]), "quat": text(f.rotation[k])}
        ET.SubElement(body, "site", {"name": f.names[k]} | pose)


def _actuators(w: Writer, root: ET.Element) -> None:
    a = w.model.actuator
    section = ET.Element("actuator")
    for k, name in enumerate(a.names):
        if a.tendon[k] in w.lost_tendons:
            w.lost.append(f"actuator {name}: what it pulls is not in the file.")
            continue
        on_joint = a.dof[k] >= 0
        joint, component = w.dof_place[w.tree.dofs[a.dof[k]]] if on_joint else ("", 0)
        if on_joint and w.tree.dofs[a.dof[k]] != joint and a.kinds[k] != "torque":
            w.lost.append(f"actuator {name}: a {a.kinds[k]} servo on one axis of joint {joint}.")
            continue
        item = write_law(section, a, k, w.lost)
        if item is None:
            continue
        gear = np.zeros(6)
        gear[component] = float(a.gear[k])
        item.set("gear", text(gear))
        if on_joint:
            item.set("joint", joint)
        elif a.tendon[k] >= 0:
            item.set("tendon", w.model.tendon.names[a.tendon[k]])
        else:
            _on_site(w, item, a.on_sites.index(name), float(a.gear[k]))
        if a.longest_delay[k]:
            item.set("delay", text(a.delay[k]))
            item.set("nsample", str(math.ceil(a.longest_delay[k] / TIMESTEP - 1e-9)))
        if a.speed_limited[k]:
            w.lost.append(f"actuator {name}: that its force falls with speed.")
        if a.lagged[k]:
            item.set("dyntype", "filterexact")
            item.set("dynprm", text(a.time_constant[k]))
        for xml, low, high in (
            ("ctrlrange", a.control_lower[k], a.control_upper[k]),
            ("forcerange", a.force_lower[k], a.force_upper[k]),
        ):
            ends = np.array([floats(low), floats(high)])
            if not np.any(np.isfinite(ends)):
                continue
            if xml == "ctrlrange" or item.tag != "dcmotor":
                item.set(xml, text(np.clip(ends, -UNLIMITED, UNLIMITED)))
            elif ends[0] == -ends[1]:
                item.set("saturation", text([ends[1], 0.0, 0.0]))
            else:
                w.lost.append(f"actuator {name}: its limits of force {ends} are not symmetric.")
    if len(section):
        root.append(section)


def _on_site(w: Writer, item: ET.Element, i: int, gear: float) -> None:
    """The site that an actuator pushes, the one against which, and how."""
    a, frames = w.model.actuator, w.model.frame.names
    site, other = a.sites[i]
    item.set("site", frames[site])
    if other >= 0:
        item.set("refsite", frames[other])
    wrench = [*floats(a.site_force[i]), *floats(a.site_torque[i])]
    item.set("gear", text(gear * np.array(wrench)))


def _laws(w: Writer) -> None:
    """Name the laws that MuJoCo has in another form or not at all."""
    j, dofs = w.model.joint, w.tree.dofs
    for row, name in enumerate(dofs):
        if float(j.stribeck[row]):
            w.lost.append(
                f"joint {name}: Stribeck friction {float(j.stribeck[row]):g} (decays at "
                f"{float(j.stribeck_velocity[row]):g})."
            )
        if (
            float(j.friction[row])
            and abs(float(j.friction_velocity[row]) / FRICTION_VELOCITY - 1) > 1e-6
        ):
            w.lost.append(
                f"joint {name}: friction smoothed over {float(j.friction_velocity[row]):g}; "
                "MuJoCo's frictionloss is a constraint."
            )
        if float(j.limit_stiffness[row]):
            w.lost.append(
                f"joint {name}: limit stiffness {float(j.limit_stiffness[row]):g} and dissipation "
                f"{float(j.limit_damping[row]):g}; MuJoCo's limits are soft constraints."
            )
