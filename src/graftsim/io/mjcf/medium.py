"""Fluid forces and gravity compensation of MJCF, read and written."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError
from graftsim.io.mjcf.checks import no_passive
from graftsim.io.mjcf.write_joints import Writer
from graftsim.io.robot import poses
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.numbers import floats, text
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.build import Builder

# Smallest product that MuJoCo takes for a box (mjMINVAL).
_MINVAL = 1e-15


def add(
    builder: Builder,
    mujoco: Any,
    mj: Any,
    names: Any,
    anchors: dict[int, np.ndarray],
    options: ReadOptions,
    notes: Notes,
    path: Path,
) -> None:
    """Boxes of the simple fluid model on bodies that move, and what gravcomp lifts.

    Raises FileError: wind, or ellipsoids (fluidshape).
    """
    if no_passive(mujoco, mj):
        if np.any(mj.body_gravcomp) or mj.opt.density or mj.opt.viscosity:
            notes.add(
                "fluid forces and gravity compensation are off: MuJoCo computes no passive forces "
                "where springs and dampers are both switched off."
            )
        return
    fluid = bool(mj.opt.density or mj.opt.viscosity)
    if fluid and (other := _other_fluid(mj)):
        if not options.leaves_out("fluid"):
            raise FileError(
                f"{path}: {other} is not represented, and the motion would differ without. Go on "
                "without forces of the fluid: --without fluid."
            )
        notes.add(f"fluid forces, with {other}: left out, as asked for.", moves=True)
        fluid = False
    if fluid:
        builder.density, builder.viscosity = float(mj.opt.density), float(mj.opt.viscosity)
    for body in range(1, mj.nbody):
        mass, lift = float(mj.body_mass[body]), float(mj.body_gravcomp[body])
        box = np.zeros(3)
        if fluid and mass >= _MINVAL:
            box = sides(mass, mj.body_inertia[body])
        if mj.body_weldid[body] and (np.any(box) or lift):
            builder.surround(
                names.links[body],
                mj.body_ipos[body] - anchors[body],
                mj.body_iquat[body],
                box=box,
                lift=lift * mass,
            )


def _other_fluid(mj: Any) -> str:
    """What of the fluid is not MuJoCo's simple model at rest; empty: nothing."""
    if np.any(mj.opt.wind):
        return f"wind {text(mj.opt.wind)}"
    if np.any(mj.geom_fluid[:, 0] > 0):
        return "the ellipsoid model of fluid forces (fluidshape)"
    return ""


def sides(mass: float, principal: np.ndarray) -> np.ndarray:
    """Sides (m) of the box with that mass (kg) and principal inertias [3] (kg m^2)."""
    total = float(np.sum(principal))
    return np.sqrt(np.maximum(_MINVAL, total - 2 * np.asarray(principal)) / mass * 6)


def write(w: Writer, option: ET.Element, bodies: dict[int, ET.Element]) -> None:
    """Numbers of the fluid, and gravcomp of bodies (by link)."""
    model, medium = w.model, w.model.medium
    for name in ("density", "viscosity"):
        value = float(getattr(model.world, name)[0])
        if value:
            option.set(name, text(value))
    for k, link in enumerate(medium.link):
        mass, label = float(model.link.mass[link]), model.tree.links[link]
        centre = floats(medium.position[k]) - floats(model.link.com[link])
        lift = float(medium.lift[k])
        if lift and mass and np.abs(centre).max() < 1e-9:
            bodies[link].set("gravcomp", text(lift / mass))
        elif lift:
            w.lost.append(f"link {label}: a lift of {lift:g} kg beside its centre of mass.")
        box = np.sort(floats(medium.box[k]))
        if np.any(box) and not _same_box(box, mass, floats(model.link.inertia[link])):
            w.lost.append(f"link {label}: its box in the fluid; MuJoCo takes the inertia's.")


def _same_box(box: np.ndarray, mass: float, six: np.ndarray) -> bool:
    if not mass:
        return False
    own = sides(mass, np.linalg.eigvalsh(poses.symmetric(six)))
    return bool(np.allclose(np.sort(own), box, rtol=1e-6, atol=1e-9))
