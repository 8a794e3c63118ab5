"""What a robot file may have wrong and standard effects that it lacks: names, plausible sizes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from graftsim.errors import VariableError
from graftsim.identify.doubt.effects import EFFECTS, RIPPLES, Shapes
from graftsim.identify.problem.inertial_parameters import COMPOUND
from graftsim.identify.problem.parameters import parsed
from graftsim.identify.problem.problem import Problem
from graftsim.model.catalogue import PARAMETERS, dofs_by_row, labels, row_unit
from graftsim.model.model import Model
from graftsim.selectors import row_name
from graftsim.spatial.components import INERTIA, VECTOR

# A file's numbers: share of the value, or what is larger in the unit.
MASS, INERTIA_SHARE, CENTRE, CENTRE_SHARE = 0.05, 0.2, 3e-3, 0.03
LENGTH, AXIS = 5e-4, float(np.deg2rad(0.5))
# What the model lacks: share of the torque that moves the joint in the recordings.
SPRING = DAMPING = FRICTION = ROTOR = 0.1
DRAG, RIPPLE, TORQUE = 0.05, 0.03, 0.03
# Friction of a gear as a share of the torque through it; by how much a log's clock is fast.
LOAD, CLOCK = 0.05, 1e-3
# Share of the speed over which friction changes its sign, which is mostly a guess.
WIDTH = 0.5
# With more numbers than this, those of the least important kinds are not tried.
MOST = 320
# With contact, links are tried of robots of up to so many degrees of freedom.
SMALL = 8


@dataclass(frozen=True)
class Nuisance:
    """A number that is not free, and how wrong it may plausibly be.

    name: a number of the model, `link.com[arm].x`, or an effect that it lacks, `effect.drag[knee]`.
    size: one standard deviation, in the number's unit. source: where it comes from.
    """

    name: str
    size: float
    source: str
    unit: str = ""


class Number(NamedTuple):
    """A number of the model, or of an effect: quantity, label of its row, component."""

    quantity: str
    label: str
    component: str = ""

    @property
    def name(self) -> str:
        """As it is typed."""
        tail = f".{self.component}" if self.component else ""
        return (row_name(self.quantity, self.label) if self.label else self.quantity) + tail

    @property
    def needs_motion(self) -> bool:
        """Does its plausible size depend on how the robot moves?"""
        return self.quantity in SHARES

    @property
    def acts_on_joint(self) -> bool:
        """Does it make a torque of a joint?"""
        return self.quantity in SHARES or self.quantity in EFFECTS

    def named_by(self, text: str) -> bool:
        """Does a selector name it, or something that it is part of?"""
        _, selector, component = parsed(text)
        quantities = (self.quantity, *_PART_OF.get(self.quantity, ()))
        if selector.name not in quantities or (self.label and not selector.rows((self.label,))):
            return False
        if not component or not self.component or selector.name != self.quantity:
            return True
        return self.component in component.split(",")


# What else sets a number of a link.
_PART_OF = {
    "link.mass": ("link.inertial",),
    "link.com": ("link.inertial", "link.length"),
    "link.inertia": ("link.inertial",),
}
# Of torques: what multiplies the number, of displacement, rate, acceleration [.., nv].
TORQUES: dict[str, Callable[[Any, Any, Any], Any]] = {
    "joint.stiffness": lambda q, qd, qdd: q - q.mean(0),
    "joint.damping": lambda q, qd, qdd: qd,
    "joint.friction": lambda q, qd, qdd: np.ones_like(q),
    "joint.armature": lambda q, qd, qdd: qdd,
}
# Shares of the torque that moves a joint.
SHARES = {"joint.stiffness": SPRING, "joint.damping": DAMPING, "joint.friction": FRICTION,
          "joint.armature": ROTOR, "effect.drag": DRAG, "effect.torque": TORQUE}  # fmt: skip
SHARES |= dict.fromkeys(RIPPLES, RIPPLE)
# Sizes that are the same for all, and where they come from.
FIXED = {
    "joint.origin": (LENGTH, "a robot file"),
    "joint.axis": (AXIS, "a robot file"),
    "joint.load_friction": (LOAD, "what models leave out"),
    "effect.load_friction": (LOAD, "what models leave out"),
    "effect.clock": (CLOCK, "clocks of logs"),
}


def candidates(problem: Problem) -> list[Number]:
    """What may be wrong and is not free, the kinds that matter most first.

    Only numbers of the actuators where grafts are simulated or much may touch, whose programs are
    large, and on closed loops, where no joint's torque is a matter of its own.
    """
    model, simulator = problem.simulator.model, problem.simulator
    own = [Number(*n.row) for n in problem.withheld]
    if simulator.grafts is not None or model.closed:
        return own
    if simulator.contact is not None and model.nv > SMALL:
        return own
    free = [n for n in problem.parameters.names if _is_of_the_model(n)]
    # A length moves the joint at its end.
    lengths = any(n.startswith("link.length[") for n in free)
    out = list(own)
    kinds = (_clock, _passive, _masses, _geometry, _inertias, _effects, _ripple)
    if simulator.contact is not None:
        kinds = (_masses, _inertias)
    for kind in kinds:
        numbers = [n for n in kind(model) if not any(map(n.named_by, free))]
        numbers = [n for n in numbers if not (lengths and n.quantity == "joint.origin")]
        if len(out) + len(numbers) <= MOST:
            out += numbers
    return out


def torque_numbers(problem: Problem) -> dict[int, Number]:
    """Torques with memory, by degree of freedom, where those of joints are candidates at all."""
    model, simulator = problem.simulator.model, problem.simulator
    if simulator.contact is not None or simulator.grafts is not None or model.closed:
        return {}
    return {model.tree.dofs.index(d): Number("effect.torque", d) for d in _plain(model)}


def _is_of_the_model(name: str) -> bool:
    """Is it a number of the model, and not a user's own parameter or a weight of a graft?"""
    try:
        return parsed(name)[1].name in (*PARAMETERS, *COMPOUND)
    except VariableError:
        return False


def _passive(model: Model) -> list[Number]:
    """Springs, damping, friction and its width, rotors of joints that turn or slide."""
    return [
        Number(kind, d) for kind in (*TORQUES, "joint.friction_velocity") for d in _plain(model)
    ]


def _masses(model: Model) -> list[Number]:
    links = _moving(model)
    centres = [Number("link.com", n, c) for n in links for c in VECTOR]
    return [Number("link.mass", n) for n in links] + centres


def _inertias(model: Model) -> list[Number]:
    return [Number("link.inertia", n, c) for n in _moving(model) for c in INERTIA[:3]]


def _clock(model: Model) -> list[Number]:
    return [Number("effect.clock", "")]


def _geometry(model: Model) -> list[Number]:
    """Where joints sit in links that move, and directions of all axes."""
    tree = model.tree
    at = [tree.joints[i] for i, parent in enumerate(tree.parent)
          if parent >= 0 and len(tree.v_index[i])]  # fmt: skip
    lengths = [Number("joint.origin", n, c) for n in at for c in VECTOR]
    axes = np.asarray(model.joint.axis)
    # Only the direction of an axis counts: along itself there is nothing to be off by.
    return lengths + [
        Number("joint.axis", tree.joints[i], c)
        for i, kind in enumerate(tree.joint_types)
        for k, c in enumerate(VECTOR)
        if kind.axial and abs(axes[i, k]) < np.linalg.norm(axes[i])
    ]


def _effects(model: Model) -> list[Number]:
    """Drag of all joints, friction under load of those that are driven."""
    kind = "joint.load_friction" if model.joint.load_dependent else "effect.load_friction"
    driven = {d for own in dofs_by_row(model, "actuator") for d in own}
    loaded = [d for d in _plain(model) if model.tree.dofs.index(d) in driven]
    drags = [Number("effect.drag", d) for d in _plain(model)]
    return drags + [Number(kind, d) for d in loaded]


def _ripple(model: Model) -> list[Number]:
    units = dict(zip(model.tree.dofs, model.tree.dof_units, strict=True))
    return [Number(kind, d) for kind in RIPPLES for d in _plain(model) if units[d] == "rad"]


def _plain(model: Model) -> list[str]:
    """Degrees of freedom of joints that turn about an axis or slide along one."""
    tree = model.tree
    return [tree.dofs[int(v[0])] for v, kind in zip(tree.v_index, tree.joint_types, strict=True)
            if len(v) == 1 and kind.one_by_one]  # fmt: skip


def _moving(model: Model) -> list[str]:
    """Links with mass that some joint moves."""
    tree, mass = model.tree, np.asarray(model.link.mass)
    moves = np.zeros(tree.nl, bool)
    for i, parent in enumerate(tree.parent):
        moves[i] = len(tree.v_index[i]) > 0 or (parent >= 0 and moves[parent])
    return [n for i, n in enumerate(tree.links) if moves[i] and mass[i] > 0]


class Motion(NamedTuple):
    """Displacement, rate, acceleration [n, nv] as simulated; what moves each joint, RMS [nv]."""

    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    torque: np.ndarray


def nuisances(problem: Problem, numbers: Sequence[Number], motion: Motion | None) -> list[Nuisance]:
    """Numbers with their sizes: the user's, else standard ones; size zero: the number is exact.

    motion: None if there are numbers of links and actuators alone.
    """
    model, given = problem.simulator.model, problem.nuisances or {}
    own = {n.name: n.size for n in problem.withheld}
    out = []
    for n in numbers:
        said = [float(size) for text, size in given.items() if n.named_by(text)]
        if said:
            found = Nuisance(n.name, said[-1], "given")
        elif n.name in own:
            found = Nuisance(n.name, own[n.name], "actuators that nobody has measured")
        elif n.quantity.startswith("link."):
            found = Nuisance(n.name, _of_link(model, n), "a robot file")
        elif n.quantity == "joint.friction_velocity":
            width = np.asarray(model.joint.friction_velocity)[model.tree.dofs.index(n.label)]
            found = Nuisance(n.name, WIDTH * float(width), "a guess")
        elif n.quantity in FIXED:
            found = Nuisance(n.name, *FIXED[n.quantity])
        else:
            assert motion is not None
            found = Nuisance(n.name, _of_torque(model, n, motion), "what models leave out")
        out.append(replace(found, unit=unit_of(model, n)))
    return out


def unit_of(model: Model, n: Number) -> str:
    """Of a number, the turning or the sliding form, as its joint has it."""
    if n.quantity in PARAMETERS:
        return row_unit(
            model, n.quantity, labels(model, PARAMETERS[n.quantity].rows).index(n.label)
        )
    if n.quantity in ("effect.clock", "effect.load_friction"):
        return "1"
    turns = model.tree.dof_units[model.tree.dofs.index(n.label)] == "rad"
    if n.quantity == "effect.drag":
        return "N m s^2/rad^2" if turns else "N s^2/m^2"
    return "N m" if turns else "N"


def _of_link(model: Model, n: Number) -> float:
    i = model.tree.links.index(n.label)
    if n.quantity == "link.mass":
        return MASS * float(np.asarray(model.link.mass)[i])
    if n.quantity == "link.com":
        return max(CENTRE, CENTRE_SHARE * float(np.linalg.norm(np.asarray(model.link.com)[i])))
    return INERTIA_SHARE * abs(float(np.asarray(model.link.inertia)[i, INERTIA.index(n.component)]))


def _of_torque(model: Model, n: Number, motion: Motion) -> float:
    """So large that its torque is a share of what moves the joint."""
    dof = model.tree.dofs.index(n.label)
    q, qd, qdd = motion.q[:, dof], motion.qd[:, dof], motion.qdd[:, dof]
    if n.quantity in TORQUES:
        basis = TORQUES[n.quantity](q, qd, qdd)
    elif n.quantity == "effect.torque":
        basis = np.ones_like(q)
    else:
        basis = EFFECTS[n.quantity](Shapes.of(q, qd))
    rms = float(np.sqrt(np.mean(np.square(basis))))
    return SHARES[n.quantity] * float(motion.torque[dof]) / rms if rms > 0 else 0.0
