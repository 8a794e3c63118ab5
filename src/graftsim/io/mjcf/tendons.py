"""Tendons of MJCF, fixed ones and those through space along straight lines, read and written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError
from graftsim.io.mjcf.write_joints import UNLIMITED, Writer
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.numbers import floats, text
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.build import Builder
from graftsim.model.numbers import FRICTION_VELOCITY
from graftsim.model.path_type import STRAIGHT, Stretch


def tendon_names(names: Any, mj: Any) -> list[str]:
    """A name for every tendon, made up where the file has none."""
    return [names.of("TENDON", t) or f"tendon{t}" for t in range(mj.ntendon)]


def add(
    builder: Builder, mujoco: Any, mj: Any, names: Any, options: ReadOptions, path: Path,
    notes: Notes,
) -> set[int]:  # fmt: skip
    """Add every tendon that acts on something; returns those that are left out.

    Raises FileError, by name, for one that is otherwise.
    """
    off = {k: mj.opt.disableflags & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{k}"))
           for k in ("SPRING", "DAMPER", "FRICTIONLOSS", "LIMIT", "CONSTRAINT")}  # fmt: skip
    absent: set[int] = set()
    for t, name in enumerate(tendon_names(names, mj)):
        wraps = range(int(mj.tendon_adr[t]), int(mj.tendon_adr[t] + mj.tendon_num[t]))
        reason = _unlike_ours(mujoco, mj, t, wraps)
        if (reason or _through_space(mujoco, mj, wraps)) and _idle(mujoco, mj, t):
            notes.group("left out: nothing pulls on it.", "tendon", name)
            absent.add(t)
            continue
        if reason and options.leaves_out("tendons"):
            notes.group(f"left out, as asked for: {reason}.", "tendon", name, moves=True)
            absent.add(t)
            continue
        if reason:
            raise FileError(
                f"{path}: tendon '{name}': {reason} is not represented, and the motion would "
                "differ without it. Accepted: tendons over hinges and slides or through sites and "
                "pulleys, with stiffness, damping, springlength, frictionloss and range. To go on "
                "without such tendons and what pulls on them: --without tendons."
            )
        joints, along = _length(mujoco, mj, names, wraps)
        friction = 0.0 if off["FRICTIONLOSS"] or off["CONSTRAINT"] else mj.tendon_frictionloss[t]
        low, high = mj.tendon_lengthspring[t]
        builder.tendon(
            name,
            joints,
            path=along,
            stiffness=0.0 if off["SPRING"] else float(mj.tendon_stiffness[t]),
            damping=0.0
            if off["DAMPER"]
            else float(mj.tendon_damping[t]) + _damping_of_actuators(mujoco, mj, t),
            slack=(float(low), float(high)),
            rounding=0.0,
            friction=float(friction),
            limits=_limits(mj, t) if not (off["LIMIT"] or off["CONSTRAINT"]) else (-np.inf, np.inf),
        )
        _say(mj, t, name, bool(friction), notes)
    return absent


def _length(
    mujoco: Any, mj: Any, names: Any, wraps: range
) -> tuple[dict[str, float], list[str | float]]:
    """Coefficients of joints, and sites and pulleys of a path, as `Builder.tendon` takes them."""
    joints: dict[str, float] = {}
    path: list[str | float] = []
    for w in wraps:
        kind, i, number = int(mj.wrap_type[w]), int(mj.wrap_objid[w]), float(mj.wrap_prm[w])
        if kind == int(mujoco.mjtWrap.mjWRAP_JOINT):
            joints[names.joints[i]] = joints.get(names.joints[i], 0.0) + number
        else:
            path.append(names.frames[i] if kind == int(mujoco.mjtWrap.mjWRAP_SITE) else number)
    return joints, path


def _say(mj: Any, t: int, name: str, friction: bool, notes: Notes) -> None:
    """Note what of a tendon is otherwise than in MuJoCo."""
    if mj.tendon_limited[t]:
        notes.group(
            "limits are stored but not enforced; a positive tendon.limit_stiffness switches "
            "them on (MuJoCo's are soft constraints).",
            "tendon",
            name,
            moves=True,
        )
    if friction:
        notes.group(
            "frictionloss is Coulomb friction, smoothed around zero velocity here "
            "(tendon.friction_velocity); MuJoCo's is a soft constraint.",
            "tendon",
            name,
        )


def _limits(mj: Any, t: int) -> tuple[float, float]:
    if not mj.tendon_limited[t]:
        return -np.inf, np.inf
    low, high = (float(x) for x in mj.tendon_range[t])
    return (low if low > -UNLIMITED else -np.inf), (high if high < UNLIMITED else np.inf)


def on_tendon(mujoco: Any, mj: Any, t: int) -> list[int]:
    """Actuators that act on a tendon."""
    kind = int(mujoco.mjtTrn.mjTRN_TENDON)
    return [
        a for a in range(mj.nactuator)
        if int(mj.actuator_trntype[a]) == kind and int(mj.actuator_trnid[a, 0]) == t
    ]  # fmt: skip


def _damping_of_actuators(mujoco: Any, mj: Any, t: int) -> float:
    own = on_tendon(mujoco, mj, t)
    return float(sum(mj.actuator_damping[a] * mj.actuator_gear[a, 0] ** 2 for a in own))


def _through_space(mujoco: Any, mj: Any, wraps: range) -> bool:
    return any(int(mj.wrap_type[w]) != int(mujoco.mjtWrap.mjWRAP_JOINT) for w in wraps)


def _idle(mujoco: Any, mj: Any, t: int) -> bool:
    """Whether a tendon exerts no force, whatever its path."""
    equalities = int(mujoco.mjtEq.mjEQ_TENDON)
    tied = any(
        int(mj.eq_type[e]) == equalities and t in (int(mj.eq_obj1id[e]), int(mj.eq_obj2id[e]))
        for e in range(mj.neq)
    )
    numbers = (mj.tendon_stiffness, mj.tendon_damping, mj.tendon_frictionloss, mj.tendon_armature)
    forces = any(float(x[t]) for x in numbers) or mj.tendon_limited[t] or mj.tendon_actfrclimited[t]
    poly = np.any(mj.tendon_stiffnesspoly[t]) or np.any(mj.tendon_dampingpoly[t])
    return not (tied or forces or poly or on_tendon(mujoco, mj, t) or mj.tendon_plasticadr[t] >= 0)


def _unlike_ours(mujoco: Any, mj: Any, t: int, wraps: range) -> str:
    """What a tendon has that ours do not, in words; empty when there is nothing."""
    hinge, slide = (int(getattr(mujoco.mjtJoint, f"mjJNT_{k}")) for k in ("HINGE", "SLIDE"))
    joint, *around = (
        int(getattr(mujoco.mjtWrap, f"mjWRAP_{k}")) for k in ("JOINT", "SPHERE", "CYLINDER")
    )
    geoms = [int(mj.wrap_objid[w]) for w in wraps if int(mj.wrap_type[w]) in around]
    if geoms:
        shown = ", ".join(f"'{_geom(mujoco, mj, g)}'" for g in dict.fromkeys(geoms))
        return f"a path that wraps around shapes ({shown})"
    own = on_tendon(mujoco, mj, t)
    checks = {
        "a ball or free joint on it": any(
            int(mj.jnt_type[mj.wrap_objid[w]]) not in (hinge, slide)
            for w in wraps
            if int(mj.wrap_type[w]) == joint
        ),
        "a limit of its force": bool(mj.tendon_actfrclimited[t]),
        "armature": bool(mj.tendon_armature[t]) or any(mj.actuator_armature[a] for a in own),
        "nonlinear stiffness": bool(np.any(mj.tendon_stiffnesspoly[t])),
        "nonlinear damping": bool(np.any(mj.tendon_dampingpoly[t])),
        "plastic yield": mj.tendon_plasticadr[t] >= 0,
    }
    return next((what for what, wrong in checks.items() if wrong), "")


def _geom(mujoco: Any, mj: Any, g: int) -> str:
    return mujoco.mj_id2name(mj, mujoco.mjtObj.mjOBJ_GEOM, g) or f"geom {g}"


def write_tendons(w: Writer, root: ET.Element) -> None:
    """The `<tendon>` section; what MuJoCo has otherwise is named as lost."""
    t, section = w.model.tendon, ET.Element("tendon")
    coefficients = floats(t.coefficient)
    for k, name in enumerate(t.names):
        path = [x for x in t.path if x.tendon == k]
        entries = zip(t.entries, coefficients, strict=True)
        parts = {w.tree.dofs[dof]: c for (i, dof), c in entries if i == k}
        axes = [dof for dof in parts if w.dof_place[dof][0] != dof]
        w.lost += [f"tendon {name}: its part over {dof}." for dof in axes]
        strange = [x.kind.name for x in path if x.kind != STRAIGHT]
        if strange or (path and parts):
            what = f"a {strange[0]} stretch" if strange else "a path beside its joints"
            w.lost.append(f"tendon {name}: {what}.")
        if strange or (parts and (path or len(axes) == len(parts))):
            w.lost_tendons.add(k)
            continue
        item = ET.SubElement(section, "spatial" if path else "fixed", name=name)
        _write_path(w, item, path)
        for dof, c in parts.items():
            if dof not in axes:
                ET.SubElement(item, "joint", joint=dof, coef=text(c))
        resistance = {"stiffness": t.stiffness, "damping": t.damping, "frictionloss": t.friction}
        for xml, values in resistance.items():
            if float(values[k]):
                item.set(xml, text(values[k]))
        ends = floats([t.lower[k], t.upper[k]])
        if np.any(np.isfinite(ends)):
            item.set("range", text(np.clip(ends, -UNLIMITED, UNLIMITED)))
        if float(t.limit_stiffness[k]):
            w.lost.append(
                f"tendon {name}: limit stiffness {float(t.limit_stiffness[k]):g} and dissipation "
                f"{float(t.limit_damping[k]):g}; MuJoCo's limits are soft constraints."
            )
        slack = floats([t.slack_lower[k], t.slack_upper[k]])
        if float(t.stiffness[k]):
            item.set("springlength", text(slack))
            if float(t.rounding[k]) and slack[0] != slack[1]:
                w.lost.append(
                    f"tendon {name}: the ends of its slack, rounded over {float(t.rounding[k]):g}."
                )
        width = float(t.friction_velocity[k])
        if float(t.friction[k]) and abs(width / FRICTION_VELOCITY - 1) > 1e-6:
            w.lost.append(
                f"tendon {name}: friction smoothed over {width:g}; MuJoCo's frictionloss is a "
                "constraint."
            )
    if len(section):
        root.append(section)


def _write_path(w: Writer, item: ET.Element, path: list[Stretch]) -> None:
    """Sites one after the other; a pulley where a branch begins."""
    last, share = -1, 1.0
    for x in path:
        if x.frames[0] != last or x.share != share:
            if last >= 0 or x.share != 1.0:
                ET.SubElement(item, "pulley", divisor=text(1 / x.share))
            ET.SubElement(item, "site", site=w.model.frame.names[x.frames[0]])
        ET.SubElement(item, "site", site=w.model.frame.names[x.frames[1]])
        last, share = x.frames[1], x.share
