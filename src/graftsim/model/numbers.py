"""Numbers that a builder takes by name, with their defaults and checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model import checks
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
    N/m; 0: not enforced) and limit_damping (s/rad, s/m).
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


class ActuatorNumbers(TypedDict, total=False):
    """Of an actuator: gear (1), gain (N m, N), kp (N m/rad, N/m) and kd (N m s/rad, N s/m).

    control_range and force_range: (low, high), without limits by default. time_constant (s): of a
    first-order lag of the command, whose state is in `State.act`; None: no lag.
    """

    gear: float
    gain: float
    kp: float
    kd: float
    control_range: tuple[float, float]
    force_range: tuple[float, float]
    time_constant: float | None


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
}
_OPEN = (-np.inf, np.inf)
_ACTUATOR = {
    "gear": 1.0,
    "gain": 1.0,
    "kp": 0.0,
    "kd": 0.0,
    "control_range": _OPEN,
    "force_range": _OPEN,
    "time_constant": None,
}


def link_numbers(kind: JointType, where: str, given: LinkNumbers) -> dict[str, Any]:
    """All numbers of a link, as arrays of their shapes; raises ModelError for an impossible one."""
    _check_names(where, given, LinkNumbers)
    rest = given.get("rest")
    numbers: dict[str, Any] = {
        "mass": float(given.get("mass", 0.0)),
        "com": checks.vector(given.get("com", (0.0, 0.0, 0.0)), 3, f"{where}: com"),
        "inertia": checks.inertia(given.get("inertia", 0.0), f"{where}: inertia"),
        "rest": np.array(kind.neutral)
        if rest is None
        else checks.vector(np.atleast_1d(rest), kind.nq, f"{where}: rest"),
    }
    for name, default in _PER_DOF.items():
        numbers[name] = checks.per_dof(given.get(name, default), kind.nv, f"{where}: {name}")
    checks.body(numbers["mass"], numbers["inertia"], where)
    return numbers


def actuator_numbers(name: str, given: ActuatorNumbers) -> dict[str, Any]:
    """All numbers of an actuator, ranges as their ends; raises ModelError for an empty range."""
    where = f"Actuator '{name}'"
    _check_names(where, given, ActuatorNumbers)
    numbers: dict[str, Any] = _ACTUATOR | given
    for what in ("control", "force"):
        low, high = numbers.pop(f"{what}_range")
        if not low < high:
            raise ModelError(f"{where}: {what}_range {low, high} is empty.")
        numbers |= {f"{what}_lower": low, f"{what}_upper": high}
    four = (numbers["gear"], numbers["gain"], numbers["kp"], numbers["kd"])
    checks.vector(four, 4, f"{where}: gear, gain, kp, kd")
    lag = numbers["time_constant"]
    if lag is not None and not 0 < lag < np.inf:
        raise ModelError(f"{where}: time_constant must be positive: {lag}")
    return numbers | {"lagged": lag is not None, "time_constant": 0.0 if lag is None else lag}


def _check_names(where: str, given: Any, known: Any) -> None:
    for name in given:
        if name not in known.__annotations__:
            raise ModelError(
                f"{where}: there is no number '{name}'. {suggest(name, known.__annotations__)}"
            )
