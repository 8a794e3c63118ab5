"""MJCF files into models, through MuJoCo's compiler: defaults, includes, meshes are resolved.

Only the arrays of the compiled `MjModel` are read, in double precision. Degrees of freedom come in
MuJoCo's order and mean the same, so recordings and controls need no conversion.

MuJoCo turns a body about an anchor anywhere in it, and may give it several joints; here a link's
frame is its joint's. With anchors p_1 ... p_k in the body's axes, the body's pose in its parent is
T_0 Tr(p_1) J_1 Tr(p_2 - p_1) J_2 ... J_k Tr(-p_k): a chain of links whose last one carries the
body, which lies at -p_k in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.errors import FileError, ModelError
from graftsim.io.mjcf import (
    actuators,
    checks,
    contact,
    equality,
    medium,
    starts,
    tendons,
    transmissions,
)
from graftsim.io.mjcf.compiled import compiled
from graftsim.io.mjcf.shapes import SHAPES
from graftsim.io.robot import poses
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.ground import GROUND_ONLY, add_ground
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.model.build import WORLD, Builder
from graftsim.model.joint_type import JointType
from graftsim.model.joints import FIXED, FREE, PRISMATIC, REVOLUTE, SPHERICAL
from graftsim.model.model import Model
from graftsim.model.shape_type import ShapeType
from graftsim.model.shapes import MESH

KINDS = (FREE, SPHERICAL, PRISMATIC, REVOLUTE)  # by mjtJoint


def read_mjcf(root: Element, options: ReadOptions) -> Model:
    """The model of a `<mujoco>`; options and errors as `graftsim.load`.

    A body becomes the link of its name; further joints of it move massless links `body/joint`. When
    a joint's anchor is off the body's origin, the frame `body/body` marks that origin. Sites become
    frames. Unnamed elements get names from their body and a number.

    Shapes that MuJoCo lets touch are pairs (`model.pair`), with its friction.

    Raises FileError: MuJoCo refuses the file (its words, with the line), or the file has what a
    `Model` cannot represent and what changes the motion (spatial tendons, muscles,
    ...), by name.
    """
    path = root.path
    self_collision = True if options.self_collision is None else options.self_collision
    import mujoco

    notes, absent = Notes(), []
    mj = compiled(path, options, notes, absent)
    names = Names(mujoco, mj)
    checks.refuse(mujoco, mj, names, options, notes, path)
    builder = Builder(root.attributes.get("model", path.stem), gravity=mj.opt.gravity)
    builder.absent.extend(absent)
    if checks.disabled(mujoco, mj, "GRAVITY"):
        builder.gravity = (0.0, 0.0, 0.0)
    try:
        anchors = {0: np.zeros(3)}
        for body in range(1, mj.nbody):
            anchors[body] = _add_body(builder, mujoco, mj, names, body, anchors, notes)
        shapes = _add_shapes(builder, mujoco, mj, names, anchors, notes)
        medium.add(builder, mujoco, mj, names, anchors, options, notes, path)
        contact.add_pairs(builder, mujoco, mj, shapes, self_collision, notes)
        add_ground(builder, options.ground, [name for _, name in shapes.values()], path)
        for site in range(mj.nsite):
            body = int(mj.site_bodyid[site])
            name = names.frame(names.sites[site], names.links[body])
            names.frames.append(name)
            position = mj.site_pos[site] - anchors[body]
            builder.frame(name, names.links[body], position, mj.site_quat[site])
        absent_tendons = tendons.add(builder, mujoco, mj, names, options, path, notes)
        equality.add(builder, mujoco, mj, names, anchors, options, path, notes, absent_tendons)
        places = actuators.add(builder, mujoco, mj, names, options, path, notes, absent_tendons)
        builder.starts = starts.read(mj, names, places)
        checks.explain(mujoco, mj, names, notes)
        builder.notes.extend(notes.sentences())
        builder.caveats.extend(notes.caveats())
        builder.faults.extend(notes.faults())
        return builder.build(armature=options.armature)
    except ModelError as e:
        raise FileError(f"{path}: {e}") from e


class Names:
    """A name for every body, joint, site and actuator, made up where the file has none."""

    def __init__(self, mujoco: Any, mj: Any) -> None:
        def of(kind: str, i: int) -> str:
            return mujoco.mj_id2name(mj, getattr(mujoco.mjtObj, f"mjOBJ_{kind}"), i) or ""

        self.of = of
        self.links = [WORLD]
        for i in range(1, mj.nbody):
            self.links.append(of("BODY", i) or f"body{i}")
        self.joints: list[str] = []
        for i in range(mj.njnt):
            body = int(mj.jnt_bodyid[i])
            local = i - int(mj.body_jntadr[body])
            self.joints.append(of("JOINT", i) or f"{self.links[body]}/joint{local}")
        self.sites = [
            of("SITE", i) or f"{self.links[mj.site_bodyid[i]]}/site{i}" for i in range(mj.nsite)
        ]
        self.actuators = [of("ACTUATOR", i) or f"actuator{i}" for i in range(mj.nactuator)]
        self._taken = set(self.links)
        # Of each site, once it is added.
        self.frames: list[str] = []

    def frame(self, name: str, link: str) -> str:
        """A name for a frame that no link and no other frame has."""
        if name in self._taken:
            name = f"{link}/{name}"
        self._taken.add(name)
        return name

    def fixed_joint(self, link: str) -> str:
        """A name for the joint of a body that has none."""
        return f"{link}/fixed" if link in self.joints else link


def _add_body(
    builder: Builder,
    mujoco: Any,
    mj: Any,
    names: Names,
    body: int,
    anchors: dict[int, np.ndarray],
    notes: Notes,
) -> np.ndarray:
    """Add the links of one body; returns the anchor of its last joint in the body, [3] (m)."""
    parent = int(mj.body_parentid[body])
    above, name = names.links[parent], names.links[body]
    origin, rotation = mj.body_pos[body] - anchors[parent], mj.body_quat[body].copy()
    first, count = int(mj.body_jntadr[body]), int(mj.body_jntnum[body])
    joints = range(first, first + count)
    anchor = mj.jnt_pos[joints[-1]].copy() if count else np.zeros(3)
    inertia = np.array([*mj.body_inertia[body], 0, 0, 0])
    inertial: dict[str, Any] = {
        "mass": mj.body_mass[body],
        "com": mj.body_ipos[body] - anchor,
        "inertia": poses.turn_inertia(inertia, mj.body_iquat[body]),
    }
    if not count:
        fixed = names.fixed_joint(name)
        builder.link(
            name, above, FIXED, joint_name=fixed, origin=origin, rotation=rotation, **inertial
        )
    previous = np.zeros(3)
    for j in joints:
        here = mj.jnt_pos[j].copy()
        kind = KINDS[int(mj.jnt_type[j])]
        if kind.is_pose:  # its coordinates are the pose in the world, wherever the body stands
            origin, rotation = np.zeros(3), np.array([1.0, 0, 0, 0])
        origin = origin + poses.matrix(rotation) @ (here - previous)
        zero = mj.qpos0[mj.jnt_qposadr[j]] if kind.nv == 1 else 0.0
        # The coordinate is `zero`, not 0, in the pose that the file draws.
        if kind == PRISMATIC:
            origin -= poses.matrix(rotation) @ (zero * mj.jnt_axis[j])
        elif zero:
            rotation = poses.multiply(rotation, poses.about_axis(mj.jnt_axis[j], -zero))
        last = j == joints[-1]
        link = name if last else f"{name}/{names.joints[j]}"
        numbers = _passive(mujoco, mj, j, kind) | (inertial if last else {})
        builder.link(
            link,
            above,
            kind,
            joint_name=names.joints[j],
            origin=origin,
            rotation=rotation,
            axis=mj.jnt_axis[j] if kind.axial else (0, 0, 1),
            **numbers,
        )
        above, previous = link, here
        origin, rotation = np.zeros(3), np.array([1.0, 0, 0, 0])
    if np.any(anchor):
        builder.frame(names.frame(f"{name}/body", name), name, 0.0 - anchor)
    return anchor


def _passive(mujoco: Any, mj: Any, j: int, kind: JointType) -> dict[str, Any]:
    """Numbers of joint j as `Builder.link` takes them; what the file switches off is zero."""
    on = {flag: not checks.disabled(mujoco, mj, flag) for flag in checks.SWITCHES}
    dofs = slice(int(mj.jnt_dofadr[j]), int(mj.jnt_dofadr[j]) + kind.nv)
    position = slice(int(mj.jnt_qposadr[j]), int(mj.jnt_qposadr[j]) + kind.nq)
    armature, damping = mj.dof_armature[dofs].copy(), mj.dof_damping[dofs].copy()
    for a in transmissions.on_joint(mujoco, mj, j):
        gear = mj.actuator_gear[a, : len(armature)]
        armature += mj.actuator_armature[a] * gear**2
        damping += mj.actuator_damping[a] * gear**2
    numbers = {
        "armature": armature,
        "damping": damping * on["DAMPER"],
        "stiffness": mj.jnt_stiffness[j] * on["SPRING"],
        "rest": mj.qpos_spring[position].copy(),
        "friction": mj.dof_frictionloss[dofs] * (on["FRICTIONLOSS"] and on["CONSTRAINT"]),
    }
    limited = mj.jnt_limited[j] and on["LIMIT"] and on["CONSTRAINT"]
    if limited and kind.nv == 1:
        low, high = mj.jnt_range[j]
        bound = checks.UNLIMITED
        numbers["lower"] = low if low > -bound else -np.inf
        numbers["upper"] = high if high < bound else np.inf
    return numbers


def _add_shapes(
    builder: Builder,
    mujoco: Any,
    mj: Any,
    names: Names,
    anchors: dict[int, np.ndarray],
    notes: Notes,
) -> dict[int, tuple[ShapeType, str]]:
    """Add the geoms that can touch something; returns type and name of each."""
    shapes: dict[int, tuple[ShapeType, str]] = {}
    kinds = {int(getattr(mujoco.mjtGeom, f"mjGEOM_{k.upper()}")): t for k, t in SHAPES.items()}
    paired = {int(g) for g in (*mj.pair_geom1, *mj.pair_geom2)}
    for g in range(mj.ngeom):
        link = names.links[mj.geom_bodyid[g]]
        name = names.of("GEOM", g)
        label = name or f"{g} (of body {link})"
        kind = kinds.get(int(mj.geom_type[g]))
        if not (mj.geom_contype[g] or mj.geom_conaffinity[g] or g in paired):
            notes.group("skipped: it is for display, since it touches nothing.", "geom", label)
        elif kind is None:
            what = mujoco.mjtGeom(int(mj.geom_type[g])).name.removeprefix("mjGEOM_").lower()
            why = f"skipped: a shape of kind {what} is not represented."
            notes.group(why, "geom", label, moves=True)
        else:
            vertices = _hull(mj, names, int(mj.geom_dataid[g])) if kind == MESH else None
            position = mj.geom_pos[g] - anchors[int(mj.geom_bodyid[g])]
            shapes[g] = kind, name or f"{link}/{kind.name}{len(shapes)}"
            builder.geom(
                kind,
                mj.geom_size[g],
                link,
                position,
                mj.geom_quat[g],
                name=shapes[g][1],
                vertices=vertices,
                mask=GROUND_ONLY,
                friction=contact.own_friction(mujoco, mj, g),
            )
    return shapes


def _hull(mj: Any, names: Names, mesh: int) -> np.ndarray:
    """Corners of a mesh's convex hull, [n, 3] (m), in the frame that MuJoCo gave its geom."""
    from graftsim.io.robot.meshes import hull

    start, count = int(mj.mesh_vertadr[mesh]), int(mj.mesh_vertnum[mesh])
    return hull(np.array(mj.mesh_vert[start : start + count], float), names.of("MESH", mesh))
