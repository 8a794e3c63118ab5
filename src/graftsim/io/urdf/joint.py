"""One URDF `<joint>`: type, placement, limits and passive properties."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.errors import suggest
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.io.urdf.schema import origin
from graftsim.model.joint_type import JointType
from graftsim.model.joints import FIXED, FREE, PLANAR, PRISMATIC, REVOLUTE, SPHERICAL

# Joint types by URDF's names for them (and Bullet's spherical); of two names the first is written.
KINDS: dict[str, JointType] = {
    "revolute": REVOLUTE,
    "continuous": REVOLUTE,
    "prismatic": PRISMATIC,
    "fixed": FIXED,
    "floating": FREE,
    "planar": PLANAR,
    "spherical": SPHERICAL,
}
# Limits at least this large (rad, m, N m, N, per s) stand for none.
UNLIMITED = 1e10


@dataclass(frozen=True)
class Joint:
    """A joint as the builder wants it. `effort` is the actuator's bound, infinite without one."""

    element: Element
    name: str
    kind: JointType
    parent: str
    child: str
    effort: float
    numbers: dict[str, Any]


def read_joint(element: Element, notes: Notes) -> Joint:
    """Read a `<joint>`; raises FileError for unknown types and impossible numbers."""
    name, urdf_type = element.text("name"), element.text("type")
    if urdf_type not in KINDS:
        raise element.error(
            f"joint '{name}' has the unknown type '{urdf_type}'. {suggest(urdf_type, KINDS)}"
        )
    kind = KINDS[urdf_type]
    position, rotation = origin(element)
    lower, upper, effort = _limits(element, name, urdf_type, notes)
    numbers: dict[str, Any] = {"origin": position, "rotation": rotation}
    if kind.axial:
        numbers["axis"] = _axis(element, name, notes)
    if kind.nv > 0:
        numbers |= _passive(element, name, kind, notes) | {"lower": lower, "upper": upper}
    return Joint(
        element, name, kind, _end(element, "parent"), _end(element, "child"), effort, numbers
    )


def _end(element: Element, role: str) -> str:
    found = element.one(role)
    if found is None:
        raise element.error(f"joint '{element.attributes['name']}' needs <{role} link=\"...\"/>.")
    return found.text("link")


def _axis(element: Element, name: str, notes: Notes) -> np.ndarray:
    found = element.one("axis")
    if found is None:
        notes.group("no <axis> is given; it is x (1 0 0), as the standard says.", "joint", name)
        return np.array([1.0, 0.0, 0.0])
    axis = found.numbers("xyz", 3)
    length = np.linalg.norm(axis)
    if not 1e-12 < length < np.inf:
        raise found.error(
            f"joint '{name}' has the axis \"{found.attributes['xyz']}\", no direction."
        )
    if abs(length - 1) > 1e-6:
        notes.add(
            f"line {found.line}: the axis of joint '{name}' has length {length:g}; normalised.",
            wrong="warning",
        )
    return axis / length


def _passive(element: Element, name: str, kind: JointType, notes: Notes) -> dict[str, Any]:
    """Damping, Coulomb friction, spring: the `<dynamics>` of a joint."""
    dynamics = element.one("dynamics")
    if dynamics is None:
        return {}
    numbers: dict[str, Any] = {}
    for ours, names in {
        "damping": ("damping",),
        "friction": ("friction",),
        "stiffness": ("stiffness", "spring_stiffness"),
    }.items():
        given = [k for k in names if k in dynamics.attributes]
        if len(given) > 1:
            raise dynamics.error(f"joint '{name}' has both {given[0]} and {given[1]}; keep one.")
        value = dynamics.number(given[0]) if given else 0.0
        if not 0 <= value < np.inf:
            raise dynamics.error(
                f"joint '{name}' has {given[0]}=\"{value:g}\"; not negative, finite."
            )
        numbers[ours] = value
    if numbers["friction"]:
        notes.group(
            "Coulomb friction is smoothed around zero velocity (joint.friction_velocity).",
            "joint",
            name,
        )
    if numbers["stiffness"]:
        notes.group("the spring of <dynamics> is an extension of URDF.", "joint", name)
    reference = dynamics.number("spring_reference", 0.0)
    if reference and kind.nv != 1:
        raise dynamics.error(f"joint '{name}' of type {kind.name} cannot have a spring_reference.")
    return numbers | ({"rest": reference} if reference else {})


def _limits(
    element: Element, name: str, urdf_type: str, notes: Notes
) -> tuple[float, float, float]:
    """Lower and upper limit (infinite: none) and the largest effort (infinite: not given)."""
    free = (-np.inf, np.inf, np.inf)
    found = element.one("limit")
    if found is None:
        if urdf_type in ("revolute", "prismatic"):
            notes.group(
                "no <limit>, which the standard asks for; taken as unlimited.", "joint", name
            )
        return free
    numbers = {
        k: found.number(k)
        for k in ("lower", "upper", "effort", "velocity")
        if k in found.attributes
    }
    if numbers.get("velocity", np.inf) < UNLIMITED:
        notes.group("the velocity limit is not enforced.", "joint", name)
    if urdf_type not in ("revolute", "prismatic", "continuous"):
        if numbers.keys() - {"velocity"}:
            notes.group(f"<limit> has no meaning for a {urdf_type} joint; not used.", "joint", name)
        return free
    effort = _effort(found, name, numbers.get("effort", np.inf), notes)
    if urdf_type == "continuous":
        if numbers.keys() & {"lower", "upper"}:
            notes.group(
                "lower and upper have no meaning for a continuous joint; not used.", "joint", name
            )
        return -np.inf, np.inf, effort
    if not numbers.keys() & {"lower", "upper"}:
        notes.group("<limit> has neither lower nor upper; taken as unlimited.", "joint", name)
        return -np.inf, np.inf, effort
    lower, upper = numbers.get("lower", 0.0), numbers.get("upper", 0.0)
    if not lower <= upper:
        notes.add(
            f"line {found.line}: joint '{name}' has lower={lower:g} above upper={upper:g}; taken "
            "as unlimited.",
            wrong="error",
        )
        return -np.inf, np.inf, effort
    if "lower" not in numbers or "upper" not in numbers:
        missing = "lower" if "lower" not in numbers else "upper"
        notes.group(f"{missing} limit not given; it is 0, as the standard says.", "joint", name)
    lower = lower if lower > -UNLIMITED else -np.inf
    upper = upper if upper < UNLIMITED else np.inf
    if np.isfinite(lower) or np.isfinite(upper):
        notes.group(
            "limits of travel are stored but not enforced; a positive joint.limit_stiffness "
            "switches them on.",
            "joint",
            name,
            moves=True,
        )
    return lower, upper, effort


def _effort(found: Element, name: str, effort: float, notes: Notes) -> float:
    """The largest effort, infinite where the file's number stands for none."""
    if effort < 0:
        raise found.error(f"joint '{name}' has effort=\"{effort:g}\"; it cannot be negative.")
    if effort == 0:
        notes.group('effort="0" is taken as no limit of effort.', "joint", name)
    return effort if 0 < effort < UNLIMITED else np.inf
