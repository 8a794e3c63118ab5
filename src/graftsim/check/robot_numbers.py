"""Which numbers of a robot file look wrong, before any recording is there.

Errors make the motion meaningless, warnings are most often a unit or a frame that was mixed up. The
bounds are laws, not statistics: a body within a radius R of its centre of mass has no inertia above
m R^2, and its centre of mass lies within its hull.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import jax
import numpy as np

from graftsim.check.finding import Finding, Level
from graftsim.io.robot import poses
from graftsim.model.model import Model
from graftsim.selectors import row_name

# Shapes are taken as balls around their middles, which is generous; beyond it by this share.
MARGIN = 0.1
# Of m R^2, below which an inertia is that of hardly any machine part (a rod's is 0.33 along it).
LEAST = 1e-3
# Travel that is none (rad, m).
NO_TRAVEL = 1e-12


def check_robot(model: Model) -> list[Finding]:
    """What looks wrong in a robot file: errors first.

    Each finding names the parameter (`channel`), the number that made it, and what mends it.
    """
    # Rows are taken from NumPy arrays: each slice of a JAX array is a program to compile.
    model = jax.tree.map(np.asarray, model)
    found = [f for look in LOOKS for f in look(model)]
    return sorted(found, key=lambda f: list(Level).index(f.level))


def _said_by_reader(model: Model) -> Iterator[Finding]:
    """What the reader mended or passed over, with its line."""
    for level, sentence in model.faults:
        remedy = "correct the file; what is read is said here"
        yield Finding(Level(level), sentence, 1.0, remedy, check="file")


def _massless(model: Model) -> Iterator[Finding]:
    """Moving links without mass: they may be, where they carry some."""
    tree = model.tree
    rigid = _rigid_mass(model)
    for i, link in enumerate(tree.links):
        if tree.moving[i] and rigid[i] == 0:
            yield Finding(
                Level.NOTE,
                "moves without mass of its own, and carries mass",
                0.0,
                "give its <inertial>, if it has one",
                row_name("link.mass", link),
                check="mass",
            )


def _rigid_mass(model: Model) -> np.ndarray:
    """Mass of each link with all that is fixed to it [nl]."""
    tree, mass = model.tree, np.array(model.link.mass, float)
    for i in reversed(range(tree.nl)):
        if not tree.moving[i] and tree.parent[i] >= 0:
            mass[tree.parent[i]] += mass[i]
    return mass


def _centre_outside(model: Model) -> Iterator[Finding]:
    """Centres of mass outside the shapes of their link."""
    for i, link, com, middles, reach in _with_shapes(model):
        beyond = np.linalg.norm(middles - com, axis=1) - reach
        if float(model.link.mass[i]) > 0 and np.all(beyond > MARGIN * reach):
            depth = float(beyond.min())
            yield Finding(
                Level.WARNING,
                f"the centre of mass ({_listed(com)}) m lies {depth:.3g} m outside the shapes",
                depth,
                "give the centre in the link's own frame, in metres",
                row_name("link.com", link),
                check="centre of mass",
            )


def _inertia_for_shapes(model: Model) -> Iterator[Finding]:
    """Inertias that no body within the shapes has, or hardly any."""
    for i, link, com, middles, reach in _with_shapes(model):
        mass = float(model.link.mass[i])
        radius = float(np.max(np.linalg.norm(middles - com, axis=1) + reach))
        principal = np.linalg.eigvalsh(poses.symmetric(np.asarray(model.link.inertia[i], float)))
        most = mass * radius**2
        if mass <= 0 or not model.tree.moving[i]:
            continue
        if principal[2] > (1 + MARGIN) * most:
            yield Finding(
                Level.WARNING,
                f"the inertia {principal[2]:.3g} kg m^2 is above m R^2 = {most:.3g}, the most that "
                f"{mass:.3g} kg within {radius:.3g} m can have",
                float(principal[2] / most),
                "give inertias about the centre of mass, in kg m^2",
                row_name("link.inertia", link),
                check="inertia",
            )
            continue
        middle = middles.mean(0)  # wherever the centre of mass is said to be
        own = mass * float(np.max(np.linalg.norm(middles - middle, axis=1) + reach)) ** 2
        if principal[2] < LEAST * own:
            yield Finding(
                Level.WARNING,
                f"the inertia {principal[2]:.3g} kg m^2 is {principal[2] / own:.1g} of m R^2 = "
                f"{own:.3g}: a point of {mass:.3g} kg",
                float(principal[2] / own),
                "give inertias in kg m^2",
                row_name("link.inertia", link),
                check="inertia",
            )


def _with_shapes(
    model: Model,
) -> Iterator[tuple[int, str, np.ndarray, np.ndarray, np.ndarray]]:
    """Of links with shapes: number, name, centre of mass, middles [n, 3] and reaches [n]."""
    geom = model.geom
    for i, link in enumerate(model.tree.links):
        own = [k for k, carrier in enumerate(geom.link) if carrier == i]
        middles, reach = np.zeros((len(own), 3)), np.zeros(len(own))
        for n, k in enumerate(own):
            middles[n] = np.asarray(geom.position[k], float)
            reach[n] = np.abs(np.asarray(geom.size[k], float)).sum()
            corners = np.asarray(geom.vertices[k], float)
            if len(corners):
                centre = (corners.min(0) + corners.max(0)) / 2
                turn = poses.matrix(np.asarray(geom.rotation[k], float))
                middles[n] = middles[n] + turn @ np.pad(centre, (0, 3 - len(centre)))
                reach[n] = np.linalg.norm(corners - centre, axis=1).max()
        if own and np.all(reach > 0):
            yield i, link, np.asarray(model.link.com[i], float), middles, reach


def _travel(model: Model) -> Iterator[Finding]:
    """Limits that leave no travel, or leave the position at the start outside."""
    tree, joint = model.tree, model.joint
    lower, upper = (np.asarray(x, float) for x in (joint.lower, joint.upper))
    start = np.array(model.starts.drawn or tree.neutral)
    for i, kind in enumerate(tree.joint_types):
        if not kind.one_by_one:
            continue
        for q_row, v_row in zip(tree.q_index[i], tree.v_index[i], strict=True):
            low, high, name = lower[v_row], upper[v_row], tree.dofs[v_row]
            unit, at = tree.dof_units[v_row], start[q_row]
            if high - low < NO_TRAVEL:
                yield Finding(
                    Level.WARNING,
                    f"the travel from {low:g} to {high:g} {unit} is none",
                    float(high - low),
                    "make the joint fixed, or give its limits",
                    row_name("joint.lower", name),
                    check="limits",
                )
            elif not low <= at <= high:
                yield Finding(
                    Level.NOTE,
                    f"starts at {at:g} {unit}, outside its limits {low:g} to {high:g} {unit}",
                    float(max(low - at, at - high)),
                    f"--q {name}={np.clip(at, low, high):g}",
                    row_name("joint.lower", name),
                    check="limits",
                )


def _listed(values: np.ndarray) -> str:
    return " ".join(f"{v:.4g}" for v in values)


LOOKS: tuple[Callable[[Model], Iterator[Finding]], ...] = (
    _said_by_reader,
    _massless,
    _centre_outside,
    _inertia_for_shapes,
    _travel,
)
