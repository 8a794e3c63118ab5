"""MuJoCo's actuators on one joint, a tendon or a site, with delay, lag and limits.

The force of the drive (`drives`) is clipped to forcerange, then times gear at the joint or tendon;
length = gear q and velocity = gear qd.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graftsim.errors import FileError
from graftsim.io.mjcf.checks import UNLIMITED, disabled
from graftsim.io.mjcf.drives import Law, law
from graftsim.io.mjcf.tendons import tendon_names
from graftsim.io.mjcf.transmissions import pulling
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.build import Builder
from graftsim.model.joints import FREE, SPHERICAL

ACCEPTED = (
    "Accepted: motor, position, velocity, pid without slewmax, dcmotor without current dynamics, "
    "heat, cogging, LuGre friction and limit of voltage, and general of these forms, on a joint, a "
    "tendon or a site, with dyntype none, filter or filterexact."
)


class Places(NamedTuple):
    """Of an actuator its controls and memory among MuJoCo's; -1: it has no lag, or no integral."""

    controls: tuple[int, ...]
    lag: int
    integral: int


def add(
    builder: Builder, mujoco: Any, mj: Any, names: Any, options: ReadOptions, path: Path,
    notes: Notes, absent_tendons: Collection[int],
) -> list[Places]:  # fmt: skip
    """Add every actuator of the file but those on absent tendons; where key frames have theirs.

    Raises FileError, by name, for one of another kind.
    """
    felt, places = pulling(mujoco, mj), []
    for a, name in enumerate(names.actuators):
        on_tendon = int(mj.actuator_trntype[a]) == int(mujoco.mjtTrn.mjTRN_TENDON)
        if on_tendon and int(mj.actuator_trnid[a, 0]) in absent_tendons:
            notes.group("left out with the tendon it pulls.", "actuator", name, moves=True)
            continue
        found, reason = _law(mujoco, mj, names, a)
        if found is None and options.leaves_out("actuators"):
            notes.group(f"left out, as asked for: {reason}.", "actuator", name, moves=True)
            continue
        if found is None:
            raise FileError(
                f"{path}: actuator '{name}': {reason} is not represented. {ACCEPTED} To go on "
                "without such actuators: --without actuators."
            )
        target, gear, j = _target(mujoco, mj, names, a)
        assert target is not None
        filters = (int(mujoco.mjtDyn.mjDYN_FILTER), int(mujoco.mjtDyn.mjDYN_FILTEREXACT))
        lag = int(mj.actuator_dyntype[a]) in filters
        if int(mj.actuator_dyntype[a]) == int(mujoco.mjtDyn.mjDYN_FILTER):
            notes.group(
                "dyntype filter is integrated by Euler's rule in MuJoCo; the lag here is exact.",
                "actuator",
                name,
            )
        builder.actuator(
            name,
            kind=found.kind,
            inputs=found.inputs,
            gear=gear,
            **target,
            **found.numbers,
            **_delay(mj, a),
            control_range=_control_range(mujoco, mj, a),
            force_range=_force_range(mj, a, j if j >= 0 and felt[j] == [a] else -1, gear),
            time_constant=max(float(mj.actuator_dynprm[a, 0]), 1e-15) if lag else None,
        )
        first, memory = int(mj.actuator_ctrladr[a]), int(mj.actuator_actadr[a])
        inputs = tuple(range(first, first + 1 + len(found.inputs)))
        places.append(Places(inputs, memory if lag else -1, memory if found.kind == "pid" else -1))
        if mj.actuator_delay[a] > 0:
            notes.group(
                "MuJoCo's delay begins with commands of zero; here the first command has been "
                "held before.",
                "actuator",
                name,
            )
    if disabled(mujoco, mj, "ACTUATION") and mj.nactuator:
        notes.add("actuators have gear 0, because the file switches actuation off.")
    return places


def _law(mujoco: Any, mj: Any, names: Any, a: int) -> tuple[Law | None, str]:
    """The law of an actuator, or None and what of it is not ours."""
    reason = _unlike_ours(mujoco, mj, a) or _no_target(mujoco, mj, names, a)
    found = None if reason else law(mujoco, mj, a)
    if found is None and not reason:
        reason = (
            f"its law (gainprm {_shown(mj.actuator_gainprm[a])}, biasprm "
            f"{_shown(mj.actuator_biasprm[a])}, dynprm {_shown(mj.actuator_dynprm[a])})"
        )
    return found, reason


def _no_target(mujoco: Any, mj: Any, names: Any, a: int) -> str:
    target, _, j = _target(mujoco, mj, names, a)
    if target is not None:
        return ""
    return (
        f"a pull on several degrees of freedom of joint '{names.joints[j]}' (gear "
        f"{_shown(mj.actuator_gear[a])}), or a servo on a ball or free joint,"
    )


def _shown(values: np.ndarray) -> str:
    """Numbers without the zeros behind them."""
    last = int(np.max(np.flatnonzero(values), initial=0))
    return " ".join(f"{x:g}" for x in values[: last + 1])


def _unlike_ours(mujoco: Any, mj: Any, a: int) -> str:
    """What an actuator has that ours do not, in words; empty when there is nothing."""
    trn, dyn, gain, bias = (
        mujoco.mjtTrn(int(mj.actuator_trntype[a])).name.removeprefix("mjTRN_").lower(),
        mujoco.mjtDyn(int(mj.actuator_dyntype[a])).name.removeprefix("mjDYN_").lower(),
        mujoco.mjtGain(int(mj.actuator_gaintype[a])).name.removeprefix("mjGAIN_").lower(),
        mujoco.mjtBias(int(mj.actuator_biastype[a])).name.removeprefix("mjBIAS_").lower(),
    )
    if trn not in ("joint", "jointinparent", "tendon", "site"):
        return f"transmission '{trn}'"
    on_joint = trn in ("joint", "jointinparent")
    checks = {
        f"dyntype '{dyn}'": dyn not in ("none", "filter", "filterexact", "pid", "dcmotor"),
        f"gaintype '{gain}'": gain not in ("fixed", "pid", "dcmotor"),
        f"biastype '{bias}'": bias not in ("none", "affine", "dcmotor"),
        "a plugin": mj.actuator_plugin[a] >= 0,
        "a limit of the activation (actrange)": bool(mj.actuator_actlimited[a]),
        # The DC motor sets it, and has no lag that it could hurry.
        "actearly": bool(mj.actuator_actearly[a]) and dyn != "dcmotor",
        "a delay with interpolation": mj.actuator_delay[a] > 0 and mj.actuator_history[a, 1] != 0,
        "armature or damping on a ball or free joint": on_joint
        and bool(
            (mj.actuator_armature[a] or mj.actuator_damping[a])
            and mj.jnt_type[mj.actuator_trnid[a, 0]] < int(mujoco.mjtJoint.mjJNT_SLIDE)
        ),
        "nonlinear damping": bool(np.any(mj.actuator_dampingpoly[a])),
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


def _target(mujoco: Any, mj: Any, names: Any, a: int) -> tuple[dict[str, Any] | None, float, int]:
    """`joint`, `tendon` or `site` as `Builder.actuator` takes it, gear, and the joint's number or
    -1.
    """
    off = disabled(mujoco, mj, "ACTUATION")
    if int(mj.actuator_trntype[a]) == int(mujoco.mjtTrn.mjTRN_TENDON):
        name = tendon_names(names, mj)[int(mj.actuator_trnid[a, 0])]
        return {"tendon": name}, 0.0 if off else float(mj.actuator_gear[a, 0]), -1
    if int(mj.actuator_trntype[a]) == int(mujoco.mjtTrn.mjTRN_SITE):
        site, other = (int(i) for i in mj.actuator_trnid[a])
        gears = mj.actuator_gear[a]
        target = {"site": names.frames[site], "site_force": gears[:3], "site_torque": gears[3:]}
        if other >= 0:
            target["reference"] = names.frames[other]
        return target, 0.0 if off else 1.0, -1
    j = int(mj.actuator_trnid[a, 0])
    label, gear = _degree_of_freedom(mujoco, mj, a, j, names.joints[j])
    return None if label is None else {"joint": label}, gear, j


def _delay(mj: Any, a: int) -> dict[str, Any]:
    delay = float(mj.actuator_delay[a])
    if delay <= 0:
        return {}
    return {
        "delay": delay,
        "longest_delay": max(delay, int(mj.actuator_history[a, 0]) * float(mj.opt.timestep)),
    }


def _control_range(mujoco: Any, mj: Any, a: int) -> tuple[float, float]:
    if not mj.actuator_ctrllimited[a] or disabled(mujoco, mj, "CLAMPCTRL"):
        return -np.inf, np.inf
    return _open(*mj.actuator_ctrlrange[a])


def _force_range(mj: Any, a: int, j: int, gear: float) -> tuple[float, float]:
    """Range of the actuator's force; j: the joint on which it is alone, whose range counts too."""
    low, high = (-np.inf, np.inf)
    if mj.actuator_forcelimited[a]:
        low, high = _open(*mj.actuator_forcerange[a])
    if j >= 0 and mj.jnt_actfrclimited[j] and gear:
        ends = sorted(float(x) / gear for x in mj.jnt_actfrcrange[j])
        low, high = max(low, ends[0]), min(high, ends[1])
    return low, high


def _open(low: float, high: float) -> tuple[float, float]:
    """A range in which numbers beyond MuJoCo's largest are infinite."""
    return (
        float(low) if low > -UNLIMITED else -np.inf,
        float(high) if high < UNLIMITED else np.inf,
    )
