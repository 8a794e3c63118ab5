"""MuJoCo's actuator laws that are drives here, both ways.

force = gain u + b_0 + b_1 length + b_2 velocity (affine), the PID controller and the DC motor
without current dynamics. Controls of several inputs are in another order here: of all actuators
their own command first, then the further inputs.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any, NamedTuple

import numpy as np

from graftsim.io.robot.numbers import floats, text
from graftsim.model.model import Actuators

# Bits of MuJoCo's `actuator_ctrlspec`: position, velocity, feedforward, voltage.
POSITION, VELOCITY, FEEDFORWARD, VOLTAGE = 1, 2, 4, 8
INPUTS = {"velocity": "vel", "torque": "ff"}


class Law(NamedTuple):
    """Kind, numbers and inputs as `Builder.actuator` takes them."""

    kind: str
    numbers: dict[str, Any]
    inputs: tuple[str, ...] = ()


def law(mujoco: Any, mj: Any, a: int) -> Law | None:
    """The law of actuator a; None when it is another."""
    gain = int(mj.actuator_gaintype[a])
    if gain == int(mujoco.mjtGain.mjGAIN_PID):
        return _pid(mj, a)
    if gain == int(mujoco.mjtGain.mjGAIN_DCMOTOR):
        return _dc_motor(mj, a)
    return _affine(mj, a)


def _affine(mj: Any, a: int) -> Law | None:
    gain = float(mj.actuator_gainprm[a, 0])
    b0, b1, b2 = (float(b) for b in mj.actuator_biasprm[a, :3])
    if int(mj.actuator_biastype[a]) == 0 or b0 == b1 == b2 == 0:
        return Law("torque", {"gain": gain})
    if b1 == -gain and gain:
        return Law("position", {"kp": gain, "kd": -b2, "zero": b0 / gain})
    if b0 == 0 and b1 == 0 and b2 == -gain:
        return Law("velocity", {"kd": gain})
    return None


def _pid(mj: Any, a: int) -> Law | None:
    kp, kd = -float(mj.actuator_biasprm[a, 1]), -float(mj.actuator_biasprm[a, 2])
    ki, (limit, slew) = float(mj.actuator_gainprm[a, 0]), mj.actuator_dynprm[a, :2]
    return None if slew else _servo(int(mj.actuator_ctrlspec[a]), kp, ki, kd, float(limit))


def _dc_motor(mj: Any, a: int) -> Law | None:
    R, k, *_, = (float(x) for x in mj.actuator_gainprm[a, :2])  # fmt: skip
    kp, ki, kd, v_max = (float(x) for x in mj.actuator_gainprm[a, 4:8])
    dyn, spec = mj.actuator_dynprm[a].copy(), int(mj.actuator_ctrlspec[a])
    slew, limit = float(dyn[7]), float(dyn[8])
    dyn[7:9] = 0
    # Current dynamics, heat, cogging, LuGre friction.
    if np.any(dyn) or np.any(mj.actuator_gainprm[a, 2:4]) or np.any(mj.actuator_biasprm[a]):
        return None
    if spec == VOLTAGE and not (kp or ki or kd):
        return Law("voltage", {"motor_constant": k, "resistance": R})
    # Without a limit of voltage the controller's torque is delivered as it is.
    return None if v_max or slew or spec & VOLTAGE else _servo(spec, kp, ki, kd, limit)


def _servo(spec: int, kp: float, ki: float, kd: float, limit: float) -> Law | None:
    if not spec & POSITION:
        return None
    inputs = [name for name, bit in (("velocity", VELOCITY), ("torque", FEEDFORWARD)) if spec & bit]
    numbers: dict[str, Any] = {"kp": kp, "kd": kd}
    if ki:
        # MuJoCo stops the integral once it has passed imax, here it stops at it.
        numbers |= {"ki": ki, "integral_limit": limit or np.inf}
    return Law("pid" if ki else "position", numbers, tuple(inputs))


def write_law(section: ET.Element, a: Actuators, k: int, lost: list[str]) -> ET.Element | None:
    """The element of actuator k with its law; None, and a sentence in `lost`, if MJCF has none."""
    name, kind, inputs = a.names[k], a.kinds[k], a.inputs[k]
    n = {key: floats(getattr(a, key)[k]) for key in ("gain", "kp", "kd", "ki", "zero")}
    foreign = [x for x in inputs if x not in INPUTS]
    if kind not in WRITTEN or foreign:
        what = f"input {foreign[0]}" if kind in WRITTEN else f"drive {kind}"
        lost.append(f"actuator {name}: its {what}.")
        return None
    if kind == "voltage":
        constants = text([a.motor_constant[k], a.motor_constant[k]])
        return ET.SubElement(
            section, "dcmotor", name=name, resistance=text(a.resistance[k]), motorconst=constants
        )
    if kind == "pid" or inputs:
        item = ET.SubElement(section, "pid", name=name, kp=text(n["kp"]), kv=text(n["kd"]))
        item.set("input", " ".join(["pos", *(INPUTS[x] for x in INPUTS if x in inputs)]))
        if n["ki"]:
            item.set("ki", text(n["ki"]))
            if np.isfinite(floats(a.integral_limit[k])):
                item.set("imax", text(a.integral_limit[k]))
        if n["zero"]:
            lost.append(f"actuator {name}: the zero {n['zero']:g} of its encoder.")
        return item
    item = ET.SubElement(section, "general", name=name)
    gain = {"torque": n["gain"], "position": n["kp"], "velocity": n["kd"]}[kind]
    item.set("gainprm", text(gain))
    if kind != "torque":
        position = kind == "position"
        bias = [n["kp"] * n["zero"], -n["kp"], -n["kd"]] if position else [0.0, 0.0, -n["kd"]]
        item.set("biastype", "affine")
        item.set("biasprm", text(bias))
    return item


WRITTEN = ("torque", "position", "velocity", "pid", "voltage")
