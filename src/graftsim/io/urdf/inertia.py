"""Inertias of URDF links: turned exactly into link axes; the impossible refused, or repaired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from graftsim.errors import FileError, ModelError
from graftsim.io.robot import poses
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.io.urdf.schema import origin
from graftsim.model import checks

# Repaired links without mass get this share of the lightest real link, or a gram.
REPAIR_SHARE, REPAIR_MASS, REPAIR_DENSITY = 1e-3, 1e-3, 1000.0
_REMEDY = " --repair-inertia (repair_inertia=True) takes the nearest possible inertia."
_SPHERE = "it had no inertia and was given that of a sphere of density 1000 kg/m^3."


@dataclass(frozen=True)
class Body:
    """Mass (kg), centre of mass in the link (m), inertia about it in link axes (kg m^2).

    fault: why no body has this inertia.
    """

    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros(6))
    fault: FileError | None = None


def read_body(link: Element, notes: Notes, repair: bool) -> Body:
    """The `<inertial>` of a link, massless when there is none.

    An inertia that is missing, not positive, or breaks the triangle inequality is a `fault` of the
    body, unless `repair`: `rigid` decides whether it matters. Raises FileError: a negative mass, a
    number that is none.
    """
    inertial = link.one("inertial")
    if inertial is None:
        return Body()
    name = f"link '{link.attributes['name']}'"
    mass_element, inertia_element = inertial.one("mass"), inertial.one("inertia")
    if mass_element is None:
        if repair:
            notes.add(f"line {inertial.line}: {name} has an <inertial> without <mass>; not used.")
            return Body()
        missing = f'<inertial> of {name} needs <mass value="..."/>.{_REMEDY}'
        return Body(fault=inertial.error(missing))
    position, rotation = origin(inertial)
    mass = mass_element.number("value")
    if not np.isfinite(mass):
        raise mass_element.error(f"{name} has mass {mass} kg; a finite number is expected.")
    if mass < 0:
        if not repair:
            raise mass_element.error(
                f"{name} has mass {mass} kg; it must be positive. --repair-inertia "
                "(repair_inertia=True) replaces it."
            )
        notes.add(
            f"line {mass_element.line}: {name} had mass {mass} kg, taken as none given.",
            wrong="warning",
        )
        return Body()
    if inertia_element is None:
        if repair:
            notes.add(f"line {inertial.line}: {name}: {_SPHERE}", wrong="warning")
            return Body(mass, position, sphere(mass))
        missing = f'<inertial> of {name} needs <inertia ixx="..." .../>.{_REMEDY}'
        return Body(mass, position, fault=inertial.error(missing))
    diagonal = [inertia_element.number(k) for k in ("ixx", "iyy", "izz")]
    products = [inertia_element.number(k, 0.0) for k in ("ixy", "ixz", "iyz")]
    given, fault = np.array([*diagonal, *products]), None
    try:
        checks.body(mass, checks.inertia(given, f"{name}: inertia"), name)
    except ModelError as e:
        if not np.all(np.isfinite(given)):
            raise inertia_element.error(str(e)) from None
        if repair:
            given, sentence = nearest_possible(given)
            notes.add(f"line {inertia_element.line}: {name}: {sentence}", wrong="warning")
        else:
            fault = inertia_element.error(f"{e}{_REMEDY}")
    return Body(mass, position, poses.turn_inertia(given, rotation), fault)


def sphere(mass: float) -> np.ndarray:
    """Inertia of a solid sphere of that mass, as heavy as water (kg m^2)."""
    radius = (3 * mass / (4 * np.pi * REPAIR_DENSITY)) ** (1 / 3)
    return np.array([0.4 * mass * radius**2] * 3 + [0.0] * 3)


def nearest_possible(inertia: np.ndarray) -> tuple[np.ndarray, str]:
    """The possible inertia nearest to six numbers, and a sentence that says what was changed.

    Principal axes are kept. Principal values are p = (b + c, a + c, a + b) of second moments
    a, b, c >= 0; the nearest such p in the least-squares sense is a projection on that cone.
    """
    from scipy.optimize import nnls

    values, axes = np.linalg.eigh(poses.symmetric(inertia))
    moments, _ = nnls(np.ones((3, 3)) - np.eye(3), values)
    repaired = moments.sum() - moments
    sentence = (
        f"principal inertias {_listed(values)} kg m^2, which no body has, were replaced by the "
        f"nearest possible ones, {_listed(repaired)} kg m^2, about the same axes."
    )
    return poses.six(axes @ np.diag(repaired) @ axes.T), sentence


def small_sphere(body: Body, lightest: float) -> tuple[Body, str]:
    """A small solid sphere for a link that has no mass but must have some, and what was chosen."""
    mass = REPAIR_SHARE * lightest if np.isfinite(lightest) else REPAIR_MASS
    sentence = (
        f"it had no mass and was given {mass:.3g} kg, {REPAIR_SHARE:g} of the lightest link's (1 g "
        f"when there is none), and the inertia of a sphere of density {REPAIR_DENSITY:g} kg/m^3."
    )
    return replace(body, mass=mass, inertia=sphere(mass)), sentence


def _listed(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"
