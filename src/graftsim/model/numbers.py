"""Numbers that a builder takes by name, with their defaults and checks."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypedDict

import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model import checks
from graftsim.model.drive_type import DriveType
from graftsim.model.joint_type import JointType

Vector = Sequence[float] | np.ndarray

# Dimensionless defaults of regularised friction; both speeds are rad/s or m/s.
FRICTION_VELOCITY = 0.01
STRIBECK_VELOCITY = 0.1


class LinkNumbers(TypedDict, total=False):
    """Of a link and the joint that moves it.

    mass (kg), com (m) and inertia (kg m^2) about it, in the link's axes: one number (isotropic),
    three (principal) or six (xx yy zz xy xz yz). The others are properties of the joint, one number
    for all its degrees of freedom or one each, except rest, which has its position coordinates:
    armature (kg m^2, kg), damping (N m s/rad, N s/m), stiffness (N m/rad, N/m) towards rest (the
    joint's zero), friction and stribeck above it (N m, N) with stribeck_velocity and
    friction_velocity (rad/s, m/s), lower and upper limit (rad, m) with limit_stiffness (N m/rad,
    N/m; 0: not enforced) and limit_damping (s/rad, s/m), and load_friction (1), load_stribeck (1),
    load_asymmetry (1), load_quadratic (1/(N m), 1/N) of `dynamics.friction`.
    """

    mass: float
    com: Vector
    inertia: float | Vector
    armature: float | Vector
    damping: float | Vector
    stiffness: float | Vector
    rest: float | Vector
    friction: float | Vector
    stribeck: float | Vector
    stribeck_velocity: float | Vector
    friction_velocity: float | Vector
    lower: float | Vector
    upper: float | Vector
    limit_stiffness: float | Vector
    limit_damping: float | Vector
    load_friction: float | Vector
    load_stribeck: float | Vector
    load_asymmetry: float | Vector
    load_quadratic: float | Vector


class ActuatorNumbers(TypedDict, total=False):
    """Of an actuator, behind its gear where nothing else is said.

    gear (1), gain (N m, N), kp (N m/rad, N/m; of `voltage_servo` duty/rad), kd, ki, zero (rad, m:
    what the servo's encoder reads too much), integral_limit (rad s). motor_constant (N m/A),
    resistance (ohm), supply (V), duty_limit (1). delay (s) of the command, up to longest_delay,
    by default 20 ms or twice the delay; None for both: no delay. time_constant (s): of a
    first-order lag of the command, whose state is in `State.act`; None: no lag. control_range and
    force_range: (low, high), without limits by default. stall_force (N m, N) and no_load_speed
    (rad/s, m/s): the force is at most stall_force (1 - speed/no_load_speed), and not below zero.
    site_force (1) and site_torque (m): what a site feels of a unit of force; default: along z.
    """

    gear: float
    gain: float
    kp: float
    kd: float
    ki: float
    integral_limit: float
    zero: float
    motor_constant: float
    resistance: float
    supply: float
    duty_limit: float
    delay: float | None
    longest_delay: float | None
    time_constant: float | None
    control_range: tuple[float, float]
    force_range: tuple[float, float]
    stall_force: float
    no_load_speed: float
    site_force: Vector
    site_torque: Vector


class TendonNumbers(TypedDict, total=False):
    """Of a tendon: stiffness (N m/rad, N/m) outside its slack (lower, upper) (rad, m).

    damping (N m s/rad, N s/m), friction (N m, N) with friction_velocity (rad/s, m/s); rounding
    (rad, m): over which the spring sets in at the ends of the slack. limits (lower, upper) of its
    length (rad, m) with limit_stiffness (N m/rad, N/m; 0: not enforced) and limit_damping (s/rad,
    s/m), as joints have them.
    """

    stiffness: float
    damping: float
    slack: tuple[float, float]
    rounding: float
    friction: float
    friction_velocity: float
    limits: tuple[float, float]
    limit_stiffness: float
    limit_damping: float


_PER_DOF = {
    "armature": 0.0,
    "damping": 0.0,
    "stiffness": 0.0,
    "friction": 0.0,
    "stribeck": 0.0,
    "stribeck_velocity": STRIBECK_VELOCITY,
    "friction_velocity": FRICTION_VELOCITY,
    "lower": -np.inf,
    "upper": np.inf,
    "limit_stiffness": 0.0,
    "limit_damping": 0.0,
    "load_friction": 0.0,
    "load_stribeck": 0.0,
    "load_asymmetry": 0.0,
    "load_quadratic": 0.0,
}
# If one of these is not zero, friction is computed from the load.
LOAD_DEPENDENT = ("load_friction", "load_stribeck", "load_quadratic")
_OPEN = (-np.inf, np.inf)
TENDON = {
    "stiffness": 0.0,
    "damping": 0.0,
    "rounding": 1e-4,
    "friction": 0.0,
    "friction_velocity": FRICTION_VELOCITY,
    "limit_stiffness": 0.0,
    "limit_damping": 0.0,
}
# The longest delay that is provided for, if the user does not say.
LONGEST_DELAY = 0.02
# One number each.
ACTUATOR = {
    "gear": 1.0,
    "gain": 1.0,
    "kp": 0.0,
    "kd": 0.0,
    "ki": 0.0,
    "integral_limit": np.inf,
    "zero": 0.0,
    "motor_constant": 1.0,
    "resistance": 1.0,
    "supply": 1.0,
    "duty_limit": 1.0,
    "stall_force": np.inf,
    "no_load_speed": np.inf,
}
_POSITIVE = ("integral_limit", "resistance", "duty_limit", "stall_force", "no_load_speed")


@lru_cache
def _defaults(nv: int) -> dict[str, np.ndarray]:
    """Numbers of nv degrees of freedom of which nothing is said."""
    return {name: np.full(nv, default) for name, default in _PER_DOF.items()}


def link_numbers(kind: JointType, where: str, given: LinkNumbers) -> dict[str, Any]:
    """All numbers of a link, as arrays of their shapes; raises ModelError for an impossible one."""
    _check_names(where, given, LinkNumbers.__annotations__)
    rest = given.get("rest")
    numbers: dict[str, Any] = {
        "mass": float(given.get("mass", 0.0)),
        "com": checks.vector(given["com"], 3, f"{where}: com") if "com" in given else np.zeros(3),
        "inertia": checks.inertia(given["inertia"], f"{where}: inertia")
        if "inertia" in given
        else np.zeros(6),
        "rest": np.array(kind.neutral)
        if rest is None
        else checks.vector(np.atleast_1d(rest), kind.nq, f"{where}: rest"),
    }
    numbers |= _defaults(kind.nv)
    for name in given.keys() & _PER_DOF.keys():
        numbers[name] = checks.per_dof(given[name], kind.nv, f"{where}: {name}")
    checks.body(numbers["mass"], numbers["inertia"], where)
    return numbers


def actuator_numbers(name: str, drive: DriveType, given: ActuatorNumbers) -> dict[str, Any]:
    """All numbers of an actuator, ranges as their ends; raises ModelError for an impossible one."""
    where = f"Actuator '{name}'"
    own = {k: n.default for k, n in drive.numbers.items()}
    _check_names(where, given, {*ActuatorNumbers.__annotations__, *own})
    numbers: dict[str, Any] = {
        k: _one(given.get(k, default), f"{where}: {k}") for k, default in (ACTUATOR | own).items()
    }
    for k, value in numbers.items():
        if k in _POSITIVE and not value > 0:
            raise ModelError(f"{where}: {k} must be positive: {value}")
        if k not in _POSITIVE and not np.isfinite(value):
            raise ModelError(f"{where}: {k} must be finite: {value}")
    for what in ("control", "force"):
        low, high = given.get(f"{what}_range", (-np.inf, np.inf))
        if not low < high:
            raise ModelError(f"{where}: {what}_range {low, high} is empty.")
        numbers |= {f"{what}_lower": low, f"{what}_upper": high}
    lag = given.get("time_constant")
    if lag is not None and not 0 < lag < np.inf:
        raise ModelError(f"{where}: time_constant must be positive: {lag}")
    if (numbers["stall_force"] < np.inf) != (numbers["no_load_speed"] < np.inf):
        raise ModelError(f"{where}: stall_force and no_load_speed belong together; give both.")
    push = given.get("site_force", (0.0, 0.0, 1.0 - ("site_torque" in given)))
    return (
        numbers
        | {"site_force": checks.vector(push, 3, f"{where}: site_force")}
        | {"site_torque": checks.vector(given.get("site_torque", (0, 0, 0)), 3, where)}
        | _delay(where, given.get("delay"), given.get("longest_delay"))
        | {"lagged": lag is not None, "time_constant": 0.0 if lag is None else lag}
        | {"speed_limited": numbers["stall_force"] < np.inf}
    )


def tendon_numbers(name: str, given: TendonNumbers) -> dict[str, Any]:
    """All numbers of a tendon; raises ModelError for an impossible one."""
    where = f"Tendon '{name}'"
    _check_names(where, given, TendonNumbers.__annotations__)
    numbers = {k: _one(given.get(k, default), f"{where}: {k}") for k, default in TENDON.items()}
    for k, value in numbers.items():
        if not 0 <= value < np.inf:
            raise ModelError(f"{where}: {k} must be zero or positive, and finite: {value}")
    low, high = given.get("slack", (0.0, 0.0))
    if not -np.inf < low <= high < np.inf:
        raise ModelError(f"{where}: slack {low, high} is not a range.")
    lower, upper = given.get("limits", _OPEN)
    if not lower < upper:
        raise ModelError(f"{where}: limits {lower, upper} are not a range.")
    ends = {"slack_lower": low, "slack_upper": high, "lower": lower, "upper": upper}
    return numbers | {k: float(x) for k, x in ends.items()}


def _delay(where: str, delay: float | None, longest: float | None) -> dict[str, float]:
    if delay is None and longest is None:
        return {"delay": 0.0, "longest_delay": 0.0}
    delay = 0.0 if delay is None else float(delay)
    longest = max(LONGEST_DELAY, 2 * delay) if longest is None else float(longest)
    if not 0 <= delay <= longest < np.inf or not longest > 0:
        raise ModelError(f"{where}: a delay of {delay} s; it lies between 0 and {longest} s.")
    return {"delay": delay, "longest_delay": longest}


def _one(value: Any, what: str) -> float:
    if np.ndim(value) or not np.isreal(value) or np.isnan(float(value)):
        raise ModelError(f"{what} must be one number, got {value!r}.")
    return float(value)


def _check_names(where: str, given: Any, known: Any) -> None:
    for name in given:
        if name not in known:
            raise ModelError(f"{where}: there is no number '{name}'. {suggest(name, known)}")
