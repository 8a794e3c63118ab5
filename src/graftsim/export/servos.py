"""Actuators in the terms of their joints, as programs for learning take them.

A position servo of gains kp, kd behind a gear g is a spring and a damper at its joint,

    tau = g kp (u + zero - g q) - g^2 kd qd,   stiffness g^2 kp, damping g^2 kd,

for a target u / g of the joint. A `voltage_servo` is one as well: with V its supply, k the motor
constant, R the resistance and m the largest duty, f = k/R (duty V - k rate) is

    stiffness k V kp / R, damping k (V kd + k) / R,

below the line from stall (k V m / R at rest) to no load (V m / k), since the clip of its duty moves
with the speed as that line does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from graftsim.export.fitted import Fitted, Known
from graftsim.model.catalogue import dofs_by_row, row_unit
from graftsim.model.model import Actuators

_LOAD = ("load_friction", "load_stribeck", "load_quadratic")


@dataclass(frozen=True)
class Servo:
    """An actuator on one joint, all at the joint (rad or m, N m or N, s).

    stall and no_load: ends of the line below which the effort lies, infinite without one.
    unsaid: what of it has no place here, one sentence each.
    """

    name: str
    joint: str
    stiffness: Known
    damping: Known
    armature: Known
    friction: Known
    breakaway: Known
    viscous: Known
    zero: Known
    delay: Known
    effort: float
    stall: float
    no_load: float
    unsaid: tuple[str, ...] = ()


def servos(fit: Fitted) -> tuple[tuple[Servo, ...], tuple[str, ...]]:
    """The servos of a robot, and sentences on actuators that are none."""
    a, found, left = fit.model.actuator, [], []
    for i, name in enumerate(a.names):
        if why := _no_servo(fit, i):
            left.append(f"{name}: left out, {why}.")
        else:
            found.append(_servo(fit, i))
    return tuple(found), tuple(left)


def _no_servo(fit: Fitted, i: int) -> str:
    """Why an actuator has no place among servos of joints; "" if it has one."""
    a, tree = fit.model.actuator, fit.model.tree
    if a.tendon[i] >= 0:
        return f"it pulls on the tendon {fit.model.tendon.names[a.tendon[i]]}, not on a joint"
    if a.dof[i] < 0:
        return "it pushes a site, not a joint"
    if any(a.dof[i] in dofs_by_row(fit.model, "tendon")[x.tendon] for x in fit.model.tendon.path):
        return "a tendon through space pulls at its joint"
    if not tree.joint_types[tree.link_of_dof[a.dof[i]]].one_by_one:
        return "its joint is no hinge or slide"
    if a.dof.count(a.dof[i]) > 1:
        return "its joint has more than one actuator"
    if a.kinds[i] not in ("position", "pid", "voltage_servo", "velocity", "torque"):
        return f"a drive of kind '{a.kinds[i]}' is no servo"
    return ""


def _servo(fit: Fitted, i: int) -> Servo:
    a = fit.model.actuator
    d = a.dof[i]
    gear = float(a.gear[i])
    joint = {k: fit.known(f"joint.{k}", d) for k in ("armature", "friction", "stribeck", "damping")}
    stiffness, damping, stall, no_load = _gains(fit, i)
    low, high = float(a.force_lower[i]), float(a.force_upper[i])
    return Servo(
        name=a.names[i],
        joint=fit.model.tree.dofs[d],
        stiffness=stiffness.times(gear**2),
        damping=damping.times(gear**2),
        armature=joint["armature"],
        friction=joint["friction"],
        breakaway=joint["friction"].plus(joint["stribeck"]),
        viscous=joint["damping"],
        zero=fit.known("actuator.zero", i).times(1 / gear),
        delay=fit.known("actuator.delay", i),
        effort=min(abs(low), abs(high)) * abs(gear),
        stall=stall * abs(gear),
        no_load=no_load / abs(gear),
        unsaid=_unsaid(fit, i, low, high),
    )


def _gains(fit: Fitted, i: int) -> tuple[Known, Known, float, float]:
    """kp and kd of a PD servo of the same force, and the ends of its line of speed."""
    a = fit.model.actuator
    kind = a.kinds[i]
    line = float(a.stall_force[i]), float(a.no_load_speed[i])
    if kind == "voltage_servo":
        V, k, R, m = (float(x[i]) for x in (a.supply, a.motor_constant, a.resistance, a.duty_limit))
        kp, kd = (fit.known(f"actuator.{x}", i).times(k * V / R) for x in ("kp", "kd"))
        kd = kd.plus(Known.exactly(k * k / R, kd.unit, "with back-EMF"))
        return kp, kd, min(k * V * m / R, line[0]), min(V * m / k, line[1])
    kp, kd = fit.known("actuator.kp", i), fit.known("actuator.kd", i)
    none = [Known.exactly(0.0, x.unit, "none") for x in (kp, kd)]
    if kind == "torque":
        return none[0], none[1], *line
    return (none[0] if kind == "velocity" else kp), kd, *line


def _unsaid(fit: Fitted, i: int, low: float, high: float) -> tuple[str, ...]:
    """What of an actuator and its joint a servo cannot say."""
    a, joint = fit.model.actuator, fit.model.joint
    d, name = a.dof[i], a.names[i]
    said, gear = [], float(a.gear[i])
    if a.kinds[i] == "torque" and (effort := gear * float(a.gain[i])) != 1:
        said.append(f"{name}: a command of 1 is an effort of {effort:.4g} (gear times gain).")
    elif a.kinds[i] != "torque" and gear != 1:
        said.append(f"{name}: a command is {gear:.4g} times the joint's target, by its gear.")
    if float(joint.stiffness[d]) != 0:
        at = fit.model.tree.dofs[d]
        said.append(
            f"{name}: the spring of {at}, {float(joint.stiffness[d]):.4g} "
            f"{row_unit(fit.model, 'joint.stiffness', d)}, is no part of an actuator."
        )
    if a.kinds[i] == "pid" and float(a.ki[i]) != 0:
        said.append(f"{name}: its integral gain {float(a.ki[i]):.4g} is left out.")
    if a.lagged[i]:
        lag = 1e3 * float(a.time_constant[i])
        said.append(f"{name}: its lag of {lag:.3g} ms is left out; an actuator net can have it.")
    if low != -high:
        said.append(f"{name}: limits of force {low:.4g} and {high:.4g}; the smaller counts.")
    if _clips(a, i):
        said.append(f"{name}: its limits of commands are left out.")
    if any(float(getattr(joint, k)[d]) != 0 for k in _LOAD):
        said.append(f"{name}: friction that grows with the load is left out.")
    return tuple(said)


def _clips(a: Actuators, i: int) -> bool:
    return bool(np.isfinite(a.control_lower[i]) or np.isfinite(a.control_upper[i]))


def lags(delay: Known, dt: float) -> tuple[int, int]:
    """Least and greatest delay in whole steps of dt that a range of delays lies between."""
    little = 1e-6
    return max(math.floor(delay.low / dt + little), 0), math.ceil(delay.high / dt - little)
