"""MuJoCo's actuators that are a torque, a position servo or a velocity servo on one joint.

MuJoCo: force = gainprm[0] u + b_0 + b_1 length + b_2 velocity, clipped to forcerange, times gear at
the joint; length = gear q and velocity = gear qd. Ours are the cases b = (0, 0, 0), (0, -kp, -kd)
with gain kp, and (0, 0, -kd) with gain kd.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError
from graftsim.io.mjcf.checks import UNLIMITED, disabled
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.build import Builder
from graftsim.model.joints import FREE, SPHERICAL

ACCEPTED = (
    "Accepted: motor, position, velocity, and general of the same form, on a joint, with dyntype "
    "none, filter or filterexact."
)


def on_joint(mujoco: Any, mj: Any, j: int) -> list[int]:
    """Actuators that act on joint j."""
    trn = mujoco.mjtTrn
    types = (int(trn.mjTRN_JOINT), int(trn.mjTRN_JOINTINPARENT))
    return [
        a
        for a in range(mj.nactuator)
        if int(mj.actuator_trntype[a]) in types and int(mj.actuator_trnid[a, 0]) == j
    ]


def add(builder: Builder, mujoco: Any, mj: Any, names: Any, path: Path, notes: Notes) -> None:
    """Add every actuator of the file; raises FileError, by name, for one of another kind."""
    for a, name in enumerate(names.actuators):
        reason = _unlike_ours(mujoco, mj, a)
        if reason:
            raise FileError(f"{path}: actuator '{name}': {reason} is not represented. {ACCEPTED}")
        j = int(mj.actuator_trnid[a, 0])
        label, gear = _degree_of_freedom(mujoco, mj, a, j, names.joints[j])
        if label is None:
            raise FileError(
                f"{path}: actuator '{name}' pulls on several degrees of freedom of joint "
                f"'{names.joints[j]}' (gear {mj.actuator_gear[a]}), or is a servo on a ball or "
                f"free joint; neither is represented. {ACCEPTED}"
            )
        law = _law(mj, a)
        if law is None:
            raise FileError(
                f"{path}: actuator '{name}' has gainprm {mj.actuator_gainprm[a, :3]} and biasprm "
                f"{mj.actuator_biasprm[a, :3]}, which is neither a torque nor a servo. {ACCEPTED}"
            )
        lag = int(mj.actuator_dyntype[a]) != int(mujoco.mjtDyn.mjDYN_NONE)
        if int(mj.actuator_dyntype[a]) == int(mujoco.mjtDyn.mjDYN_FILTER):
            notes.group(
                "dyntype filter is integrated by Euler's rule in MuJoCo; the lag here is exact.",
                "actuator",
                name,
            )
        builder.actuator(
            name,
            label,
            gear=gear,
            **law,
            control_range=_control_range(mujoco, mj, a),
            force_range=_force_range(mujoco, mj, a, j, gear, name, path),
            time_constant=max(float(mj.actuator_dynprm[a, 0]), 1e-15) if lag else None,
        )
    if disabled(mujoco, mj, "ACTUATION") and mj.nactuator:
        notes.add("actuators have gear 0, because the file switches actuation off.")


def _unlike_ours(mujoco: Any, mj: Any, a: int) -> str:
    """What an actuator has that ours do not, in words; empty when there is nothing."""
    trn, dyn, gain, bias = (
        mujoco.mjtTrn(int(mj.actuator_trntype[a])).name.removeprefix("mjTRN_").lower(),
        mujoco.mjtDyn(int(mj.actuator_dyntype[a])).name.removeprefix("mjDYN_").lower(),
        mujoco.mjtGain(int(mj.actuator_gaintype[a])).name.removeprefix("mjGAIN_").lower(),
        mujoco.mjtBias(int(mj.actuator_biastype[a])).name.removeprefix("mjBIAS_").lower(),
    )
    if trn not in ("joint", "jointinparent"):
        return f"transmission '{trn}'"
    checks = {
        f"dyntype '{dyn}'": dyn not in ("none", "filter", "filterexact"),
        f"gaintype '{gain}'": gain != "fixed",
        f"biastype '{bias}'": bias not in ("none", "affine"),
        "a plugin": mj.actuator_plugin[a] >= 0,
        "a limit of the activation (actrange)": bool(mj.actuator_actlimited[a]),
        "actearly": bool(mj.actuator_actearly[a]),
        f"a delay of {mj.actuator_delay[a]:g} s": mj.actuator_delay[a] > 0,
        "armature or damping on a ball or free joint": bool(
            (mj.actuator_armature[a] or mj.actuator_damping[a])
            and mj.jnt_type[mj.actuator_trnid[a, 0]] < int(mujoco.mjtJoint.mjJNT_SLIDE)
        ),
        "nonlinear damping": bool(np.any(mj.actuator_dampingpoly[a])),
        "more than one control": mj.actuator_ctrlnum[a] != 1,
        "a disabled actuator group": 0 <= mj.actuator_group[a] < 31
        and bool(mj.opt.disableactuator >> int(mj.actuator_group[a]) & 1),
    }
    return next((what for what, wrong in checks.items() if wrong), "")


def _degree_of_freedom(
    mujoco: Any, mj: Any, a: int, j: int, joint: str
) -> tuple[str | None, float]:
    """Label and gear of the one degree of freedom that is driven; None when there are several."""
    gears = mj.actuator_gear[a]
    kind = int(mj.jnt_type[j])
    off = disabled(mujoco, mj, "ACTUATION")
    if kind in (int(mujoco.mjtJoint.mjJNT_HINGE), int(mujoco.mjtJoint.mjJNT_SLIDE)):
        return joint, 0.0 if off else float(gears[0])
    free = kind == int(mujoco.mjtJoint.mjJNT_FREE)
    labels = (FREE if free else SPHERICAL).dof_labels(joint)
    driven = np.flatnonzero(gears[: len(labels)])
    in_parent = int(mj.actuator_trntype[a]) == int(mujoco.mjtTrn.mjTRN_JOINTINPARENT)
    turned = in_parent and not (free and len(driven) and driven[0] < 3)  # axes of the parent
    if len(driven) != 1 or np.any(mj.actuator_biasprm[a, :3]) or turned:
        return None, 0.0
    return labels[driven[0]], 0.0 if off else float(gears[driven[0]])


def _law(mj: Any, a: int) -> dict[str, Any] | None:
    """Kind and gains as `Builder.actuator` takes them; None when it is another law."""
    gain = float(mj.actuator_gainprm[a, 0])
    b0, b1, b2 = (float(b) for b in mj.actuator_biasprm[a, :3])
    if int(mj.actuator_biastype[a]) == 0 or b0 == b1 == b2 == 0:
        return {"kind": "torque", "gain": gain}
    if b0 == 0 and b1 == -gain:
        return {"kind": "position", "kp": gain, "kd": -b2}
    if b0 == 0 and b1 == 0 and b2 == -gain:
        return {"kind": "velocity", "kd": gain}
    return None


def _control_range(mujoco: Any, mj: Any, a: int) -> tuple[float, float]:
    if not mj.actuator_ctrllimited[a] or disabled(mujoco, mj, "CLAMPCTRL"):
        return -np.inf, np.inf
    return _open(*mj.actuator_ctrlrange[a])


def _force_range(
    mujoco: Any, mj: Any, a: int, j: int, gear: float, name: str, path: Path
) -> tuple[float, float]:
    """Range of the actuator's force; a range of the joint's total force counts when it is alone."""
    low, high = (-np.inf, np.inf)
    if mj.actuator_forcelimited[a]:
        low, high = _open(*mj.actuator_forcerange[a])
    if mj.jnt_actfrclimited[j] and gear:
        if len(on_joint(mujoco, mj, j)) > 1:
            raise FileError(
                f"{path}: actuator '{name}': its joint has an actuatorfrcrange and several "
                "actuators; that limit of their sum is not represented. Use forcerange instead."
            )
        ends = sorted(float(x) / gear for x in mj.jnt_actfrcrange[j])
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


def _open(low: float, high: float) -> tuple[float, float]:
    """A range in which numbers beyond MuJoCo's largest are infinite."""
    return (
        float(low) if low > -UNLIMITED else -np.inf,
        float(high) if high < UNLIMITED else np.inf,
    )
