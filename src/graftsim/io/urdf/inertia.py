"""Inertias of URDF links: turned exactly into link axes; the impossible refused, or repaired."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from graftsim.errors import ModelError
from graftsim.io.robot import poses
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.io.urdf.schema import origin
from graftsim.model import checks

# Repaired links without mass get this share of the lightest real link, or a gram.
REPAIR_SHARE, REPAIR_MASS, REPAIR_DENSITY = 1e-3, 1e-3, 1000.0


@dataclass(frozen=True)
class Body:
    """Mass (kg), centre of mass in the link (m), inertia about it in link axes (kg m^2)."""

    mass: float = 0.0
    com: np.ndarray = field(default_factory=lambda: np.zeros(3))
    inertia: np.ndarray = field(default_factory=lambda: np.zeros(6))


def read_body(link: Element, notes: Notes, repair: bool) -> Body:
    """The `<inertial>` of a link, massless when there is none.

    Raises FileError: mass or inertia missing in it, a negative mass, an inertia that is not
    positive or breaks the triangle inequality (unless `repair`).
    """
    inertial = link.one("inertial")
    if inertial is None:
        return Body()
    mass_element, inertia_element = inertial.one("mass"), inertial.one("inertia")
    if mass_element is None or inertia_element is None:
        missing = '<mass value="..."/>' if mass_element is None else '<inertia ixx="..." .../>'
        raise inertial.error(f"<inertial> of link '{link.attributes['name']}' needs {missing}.")
    position, rotation = origin(inertial)
    mass = mass_element.number("value")
    diagonal = [inertia_element.number(k) for k in ("ixx", "iyy", "izz")]
    products = [inertia_element.number(k, 0.0) for k in ("ixy", "ixz", "iyz")]
    given = np.array([*diagonal, *products])
    name = f"link '{link.attributes['name']}'"
    if not np.isfinite(mass):
        raise mass_element.error(f"{name} has mass {mass} kg; a finite number is expected.")
    if mass < 0:
        if not repair:
            raise mass_element.error(
                f"{name} has mass {mass} kg; it must be positive. repair_inertia=True replaces it."
            )
        notes.add(f"line {mass_element.line}: {name} had mass {mass} kg, taken as none given.")
        return Body()
    try:
        checks.body(mass, checks.inertia(given, f"{name}: inertia"), name)
    except ModelError as e:
        if not repair or not np.all(np.isfinite([mass, *given])):
            hint = "" if repair else " repair_inertia=True takes the nearest possible inertia."
            raise inertia_element.error(f"{e}{hint}") from None
        given, sentence = nearest_possible(given)
        notes.add(f"line {inertia_element.line}: {name}: {sentence}")
    return Body(mass, position, poses.turn_inertia(given, rotation))


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
    radius = (3 * mass / (4 * np.pi * REPAIR_DENSITY)) ** (1 / 3)
    inertia = np.array([0.4 * mass * radius**2] * 3 + [0.0] * 3)
    sentence = (
        f"it had no mass and was given {mass:.3g} kg, {REPAIR_SHARE:g} of the lightest link's (1 g "
        f"when there is none), and the inertia of a sphere of density {REPAIR_DENSITY:g} kg/m^3."
    )
    return replace(body, mass=mass, inertia=inertia), sentence


def _listed(values: np.ndarray) -> str:
    return "(" + ", ".join(f"{v:.6g}" for v in values) + ")"
