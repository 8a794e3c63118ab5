"""Equalities of MJCF, as loops and couplings: connect, weld, joint, tendon; read and written.

MuJoCo's are soft (solref, solimp); here they hold exactly.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError
from graftsim.io.mjcf.checks import disabled
from graftsim.io.mjcf.tendons import tendon_names
from graftsim.io.mjcf.write_joints import Writer
from graftsim.io.robot import poses
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.numbers import floats, text
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.build import Builder
from graftsim.model.loops import POWERS

SOFT = "exact here; MuJoCo's equalities are soft (solref, solimp) and yield under load."
_IDENTITY = np.array([1.0, 0, 0, 0])


def add(
    builder: Builder,
    mujoco: Any,
    mj: Any,
    names: Any,
    anchors: dict[int, np.ndarray],
    options: ReadOptions,
    path: Path,
    notes: Notes,
    absent_tendons: set[int],
) -> None:
    """Add every active equality of the file; raises FileError, by name, for one of a flex."""
    kinds = mujoco.mjtEq
    for i in range(mj.neq):
        kind = int(mj.eq_type[i])
        name = names.of("EQUALITY", i) or f"equality{i}"
        label = f"{kinds(kind).name.removeprefix('mjEQ_').lower()} {name}"
        known = kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD, kinds.mjEQ_JOINT, kinds.mjEQ_TENDON)
        ends = {int(mj.eq_obj1id[i]), int(mj.eq_obj2id[i])}
        # A tendon is absent because it may be.
        lost = kind == kinds.mjEQ_TENDON and absent_tendons & ends
        if lost or (not known and options.leaves_out("equality")):
            notes.group("left out, as asked for.", "equality", label, moves=True)
            continue
        if not known:
            raise FileError(
                f"{path}: equality '{name}': of a flexible body, which is not represented, and the "
                "motion would differ without it. Accepted: connect, weld, joint, tendon. To go on "
                "without equalities: --without equality."
            )
        if disabled(mujoco, mj, "EQUALITY") or disabled(mujoco, mj, "CONSTRAINT"):
            notes.group("off: the file switches equalities off.", "constraint", label)
        elif not mj.eq_active0[i]:
            notes.group('off: it is not active at the start (active="false").', "constraint", label)
        else:
            notes.group(SOFT, "constraint", label)
            if kind in (kinds.mjEQ_CONNECT, kinds.mjEQ_WELD):
                _add_loop(builder, mujoco, mj, names, i, name, anchors)
            else:
                _add_coupling(builder, mujoco, mj, names, i, name)


def _add_loop(
    builder: Builder,
    mujoco: Any,
    mj: Any,
    names: Any,
    i: int,
    name: str,
    anchors: dict[int, np.ndarray],
) -> None:
    """A connect or weld between bodies or sites [mj_instantiateEqual]."""
    weld = int(mj.eq_type[i]) == int(mujoco.mjtEq.mjEQ_WELD)
    ends, data = (int(mj.eq_obj1id[i]), int(mj.eq_obj2id[i])), mj.eq_data[i]
    if int(mj.eq_objtype[i]) == int(mujoco.mjtObj.mjOBJ_SITE):
        bodies = [int(mj.site_bodyid[s]) for s in ends]
        points = [mj.site_pos[s] for s in ends]
        first, second = (mj.site_quat[s] for s in ends)
        rotation = poses.multiply(first, second * [1, -1, -1, -1])
    else:
        bodies = list(ends)
        points = [data[3:6], data[0:3]] if weld else [data[0:3], data[3:6]]
        rotation = data[6:10] if weld else _IDENTITY
    anchor, opposite = (p - anchors[b] for p, b in zip(points, bodies, strict=True))
    builder.loop(
        name,
        names.links[bodies[0]],
        names.links[bodies[1]],
        "weld" if weld else "connect",
        anchor=anchor,
        opposite=opposite,
        rotation=rotation if weld else _IDENTITY,
    )


def _add_coupling(builder: Builder, mujoco: Any, mj: Any, names: Any, i: int, name: str) -> None:
    """y - y_0 = polynomial of (x - x_0), of joint positions or lengths of tendons."""
    tendons = int(mj.eq_type[i]) == int(mujoco.mjtEq.mjEQ_TENDON)
    first, second = int(mj.eq_obj1id[i]), int(mj.eq_obj2id[i])
    labels = tendon_names(names, mj) if tendons else names.joints

    def zero(k: int) -> float:
        return float(mj.tendon_length0[k] if tendons else mj.qpos0[mj.jnt_qposadr[k]])

    numbers = {k: float(c) for k, c in zip(POWERS, mj.eq_data[i, :5], strict=True)}
    numbers["offset"] += zero(first)
    if second >= 0:
        numbers["reference"] = zero(second)
    else:
        numbers |= dict.fromkeys(POWERS[1:], 0.0)
    other = labels[second] if second >= 0 else None
    builder.couple(name, labels[first], other, tendons=tendons, **numbers)


def write_equalities(w: Writer, root: ET.Element) -> None:
    """The `<equality>` section.

    Loops stand between sites, since between bodies MuJoCo takes the drawn pose for closed.
    """
    section = ET.Element("equality")
    loop = w.model.loop
    for k, name in enumerate(loop.names):
        kind = loop.types[k].name
        if kind not in ("connect", "weld"):
            w.lost.append(f"loop {name}: a {kind}.")
            continue
        turn = floats(loop.rotation[k]) if loop.types[k].turns else _IDENTITY
        points = (floats(loop.anchor[k]), turn), (floats(loop.opposite[k]), _IDENTITY)
        sites = [
            _site(w, link, f"{name}/{end}", *place, turns=loop.types[k].turns)
            for link, place, end in zip(loop.links[k], points, ("first", "second"), strict=True)
        ]
        ET.SubElement(section, kind, name=name, site1=sites[0], site2=sites[1])
    _write_couplings(w, section)
    if len(section):
        root.append(section)


def _site(w: Writer, link: int, name: str, p: np.ndarray, quat: np.ndarray, turns: bool) -> str:
    """The site at that place of a link: a frame of the model, or a new one."""
    f = w.model.frame
    for k, own in enumerate(f.names):
        same = f.link[k] == link and np.array_equal(floats(f.position[k]), p)
        if same and (not turns or np.array_equal(floats(f.rotation[k]), quat)):
            return own
    while name in f.names:
        name += "'"
    ET.SubElement(w.bodies[link], "site", name=name, pos=text(p), quat=text(quat))
    return name


def _write_couplings(w: Writer, section: ET.Element) -> None:
    c, dofs = w.model.coupling, w.tree.dofs
    for k, name in enumerate(c.names):
        of_tendons = c.tendons[k][0] >= 0
        if of_tendons and w.lost_tendons & set(c.tendons[k]):
            w.lost.append(f"coupling {name}: its tendon is not in the file.")
            continue
        names = w.model.tendon.names if of_tendons else dofs
        ends = [names[i] for i in (c.tendons if of_tendons else c.dofs)[k] if i >= 0]
        kind = "tendon" if of_tendons else "joint"
        item = ET.SubElement(section, kind, name=name)
        for n, x in enumerate(ends, 1):
            item.set(f"{kind}{n}", x)
        # The file's zero positions are 0: the polynomial is written about them.
        powers = np.polynomial.Polynomial([float(getattr(c, p)[k]) for p in POWERS])
        shifted = powers(np.polynomial.Polynomial([-float(c.reference[k]), 1.0])).coef
        item.set("polycoef", text(np.pad(shifted, (0, 5 - len(shifted)))))
