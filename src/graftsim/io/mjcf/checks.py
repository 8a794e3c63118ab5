"""What of MuJoCo's model is refused because it would change the motion, and what is only noted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError
from graftsim.io.mjcf.transmissions import below, pulling, through_joint
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.xml_lines import Notes

# Parts of the passive dynamics that a file can switch off (mjtDisableBit).
SWITCHES = ("DAMPER", "SPRING", "FRICTIONLOSS", "LIMIT", "CONSTRAINT")
# MuJoCo's largest number (mjMAXVAL): a range this wide is none.
UNLIMITED = 1e10
# Counts of `MjModel`, with mjtObj kinds: things that change the motion and have no counterpart.
REFUSED = {
    "nflex": ("FLEX", "flexible body", "flexes"),
    "nplugin": ("PLUGIN", "plugin", "plugins"),
}
NOTED = {
    "nsensor": ("SENSOR", "sensor", "not read: sensors are chosen with the recording."),
    "ncam": ("CAMERA", "camera", "not read: for display."),
    "nlight": ("LIGHT", "light", "not read: for display."),
    "nskin": ("SKIN", "skin", "not read: for display."),
    "nnumeric": ("NUMERIC", "custom number", "not read."),
    "ntext": ("TEXT", "custom text", "not read."),
    "ntuple": ("TUPLE", "custom tuple", "not read."),
}


def disabled(mujoco: Any, mj: Any, flag: str) -> bool:
    """Whether `<option><flag .../>` switches that part of the engine off."""
    return bool(mj.opt.disableflags & int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}")))


def no_passive(mujoco: Any, mj: Any) -> bool:
    """Whether MuJoCo computes no passive forces at all, of a fluid and of gravcomp neither."""
    return disabled(mujoco, mj, "SPRING") and disabled(mujoco, mj, "DAMPER")


def refuse(
    mujoco: Any, mj: Any, names: Any, options: ReadOptions, notes: Notes, path: Path
) -> None:
    """Raise FileError that names everything that changes the motion and is not represented.

    What `options.without` leaves out is noted instead.
    """
    found = [
        *_counted(mj, names), *_of_joints(mj, names), *_of_limits(mujoco, mj, names),
        *_of_surfaces(mj, names),
    ]  # fmt: skip
    kept = [(kind, what) for kind, what in found if not options.leaves_out(kind)]
    for kind, what in found:
        if options.leaves_out(kind):
            notes.group("left out, as asked for.", "not represented", what, moves=True)
    if kept:
        kinds = " ".join(sorted({kind for kind, _ in kept}))
        raise FileError(
            f"{path}: not represented here, and the motion would differ without: "
            f"{'; '.join(what for _, what in kept)}. Remove them from the file, or go on without: "
            f"--without {kinds}."
        )


def _counted(mj: Any, names: Any) -> Iterator[tuple[str, str]]:
    for count, (kind, word, group) in REFUSED.items():
        for i in range(int(getattr(mj, count))):
            name = names.of(kind, i)
            yield group, f"{word} '{name}'" if name else f"{word} number {i} (unnamed)"


def _of_joints(mj: Any, names: Any) -> Iterator[tuple[str, str]]:
    for j, name in enumerate(names.joints):
        dofs = slice(int(mj.jnt_dofadr[j]), int(mj.jnt_dofadr[j]) + 1)
        if np.any(mj.jnt_stiffnesspoly[j]):
            yield "springs", f"nonlinear stiffness of joint '{name}'"
        if np.any(mj.dof_dampingpoly[dofs]):
            yield "springs", f"nonlinear damping of joint '{name}'"
        if mj.jnt_plasticadr[j] >= 0:
            yield "springs", f"plastic yield (springyield) of joint '{name}'"


def _of_limits(mujoco: Any, mj: Any, names: Any) -> Iterator[tuple[str, str]]:
    """Of a joint's actuatorfrcrange, which is kept as the range of the one actuator on it.

    MuJoCo limits all that actuators exert on the joint, what they compensate of gravity included.
    """
    for j, felt in enumerate(pulling(mujoco, mj)):
        limited, joint = bool(mj.jnt_actfrclimited[j]), f"joint '{names.joints[j]}'"
        alone = len(felt) == 1 and through_joint(mujoco, mj, felt[0])
        if limited and felt and not alone:
            pulls = ", ".join(f"'{names.actuators[a]}'" for a in felt)
            what = f"the actuatorfrcrange of {joint}, which limits the sum of what pulls on it"
            yield "actuators", f"{what} ({pulls}; a forcerange of each is read)"
        lifts = mj.jnt_actgravcomp[j] and np.any(mj.body_gravcomp[below(mj, j)])
        if not lifts or disabled(mujoco, mj, "GRAVITY") or no_passive(mujoco, mj):
            continue
        carried = "gravity compensation by actuators (actuatorgravcomp)"
        if disabled(mujoco, mj, "ACTUATION") or not mj.nactuator:
            yield "actuators", f"{carried} of {joint}, which the file has not, or switches off"
        elif limited:
            yield "actuators", f"the actuatorfrcrange of {joint} over {carried}"


def _of_surfaces(mj: Any, names: Any) -> Iterator[tuple[str, str]]:
    for g in range(mj.ngeom):
        label = names.of("GEOM", g) or f"number {g} of body {names.links[mj.geom_bodyid[g]]}"
        if mj.geom_adhesion[g]:
            yield "surfaces", f"adhesion of geom '{label}'"
        if np.any(mj.geom_surfacevel[g]):
            yield "surfaces", f"surface velocity of geom '{label}'"
    for k in range(mj.npair):
        if mj.pair_adhesion[k]:
            yield "surfaces", f"adhesion of pair '{names.of('PAIR', k) or f'number {k}'}'"


def explain(mujoco: Any, mj: Any, names: Any, notes: Notes) -> None:
    """Note what was not read and what means something else here."""
    for count, (kind, word, sentence) in NOTED.items():
        for i in range(int(getattr(mj, count))):
            notes.group(sentence, word, names.of(kind, i) or f"number {i}")
    for i in range(1, mj.nbody):
        if mj.body_mocapid[i] >= 0:
            notes.group("a mocap body, fixed to the world here.", "body", names.links[i])
    for j, name in enumerate(names.joints):
        _explain_joint(mujoco, mj, j, name, notes)
    opt = mj.opt
    integrator = mujoco.mjtIntegrator(opt.integrator).name.removeprefix("mjINT_")
    notes.add(
        f"option timestep {opt.timestep:g} s and integrator {integrator} are not part of a model; "
        "give them to the simulator."
    )
    for flag in ("GRAVITY", "ACTUATION", "CLAMPCTRL", *SWITCHES):
        if disabled(mujoco, mj, flag):
            notes.add(f"option flag {flag.lower()} is switched off in the file, and so here.")


def _explain_joint(mujoco: Any, mj: Any, j: int, name: str, notes: Notes) -> None:
    dof = int(mj.jnt_dofadr[j])
    if mj.dof_frictionloss[dof]:
        notes.group(
            "frictionloss is Coulomb friction, smoothed around zero velocity here "
            "(joint.friction_velocity); MuJoCo's is a soft constraint.",
            "joint",
            name,
        )
    if not mj.jnt_limited[j]:
        return
    if int(mj.jnt_type[j]) == int(mujoco.mjtJoint.mjJNT_BALL):
        notes.group(
            "the limit of a ball joint's angle is not represented.", "joint", name, moves=True
        )
    else:
        notes.group(
            "limits are stored but not enforced; a positive joint.limit_stiffness switches them on "
            "(MuJoCo's are soft constraints).",
            "joint",
            name,
            moves=True,
        )
