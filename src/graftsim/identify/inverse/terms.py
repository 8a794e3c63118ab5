"""What a joint force is made of: each term linear in numbers of its own, which have names.

tau = Y phi + D qd + f tanh(qd / v0) + J qdd + k (q - rest) + b. A term is one class; a user's own
goes beside `FORCE_TERMS` in `inverse_fit(..., terms=(*gs.FORCE_TERMS, Mine()))`.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from graftsim.dynamics.passive import displacement
from graftsim.identify.inverse.regressor import (
    UNITS,
    inertial_regressor,
    moment_names,
    moments_of,
    with_moments,
)
from graftsim.identify.inverse.transmission import LinearTransmission
from graftsim.model.catalogue import leaf, row_unit, with_leaf
from graftsim.model.model import Model
from graftsim.selectors import row_name


class Motion(NamedTuple):
    """Samples of a motion: q [n, nq], qd and qdd [n, nv], and how motors move its joints."""

    model: Model
    q: np.ndarray
    qd: np.ndarray
    qdd: np.ndarray
    transmission: LinearTransmission | None = None


class Columns(NamedTuple):
    """A term of a motion: names and units [k] of its numbers, joint forces [n, nv, k] of a unit of
    each, values [k] in the model, and which [k] cannot be negative.
    """

    names: tuple[str, ...]
    units: tuple[str, ...]
    forces: np.ndarray
    start: np.ndarray
    positive: np.ndarray


class ForceTerm(abc.ABC):
    """A part of the joint forces that is linear in numbers of its own.

    name: of the quantity. A subclass says what its columns are, and puts its numbers into a model
    if that has a place for them.
    """

    name: ClassVar[str]

    @abc.abstractmethod
    def columns(self, motion: Motion) -> Columns:
        """Names, units, joint forces, starting values and signs."""

    def into(self, model: Model, values: Float[np.ndarray, " k"]) -> Model:
        """The model with these numbers, in the order of `columns`; as it is if it has none such."""
        return model


def inertial_links(model: Model) -> np.ndarray:
    """Links whose inertia a regression looks for: those with mass that some joint moves."""
    tree = model.tree
    moved = tree.ancestor[np.array(tree.moving)].any(0)
    return np.flatnonzero(moved & (np.asarray(model.link.mass) > 0))


@dataclass(frozen=True)
class Inertias(ForceTerm):
    """The ten numbers of each link, see `regressor`."""

    name: ClassVar[str] = "link"

    def columns(self, motion: Motion) -> Columns:
        """Ten columns a link, of those that move."""
        model = motion.model
        rows = inertial_links(model)
        names = tuple(n for i in rows for n in moment_names(model.tree.links[i]))
        Y = inertial_regressor(model, motion.q, motion.qd, motion.qdd)[:, :, rows]
        start = moments_of(model)[rows].reshape(-1)
        forces = Y.reshape(len(motion.q), model.nv, -1)
        return Columns(names, UNITS * len(rows), forces, start, np.zeros(len(names), bool))

    def into(self, model: Model, values: Float[np.ndarray, " k"]) -> Model:
        """Mass, centre of mass and inertia of the links."""
        return with_moments(model, inertial_links(model), values.reshape(-1, 10))


class _OfJoint(ForceTerm):
    """One number of the model for each degree of freedom, which acts on it alone."""

    positive: ClassVar[bool] = True

    @abc.abstractmethod
    def force(self, motion: Motion) -> Float[np.ndarray, "n nv"]:
        """Joint force of a unit of it."""

    def columns(self, motion: Motion) -> Columns:
        """One column a degree of freedom."""
        model, nv = motion.model, motion.model.nv
        return Columns(
            tuple(row_name(self.name, d) for d in model.tree.dofs),
            tuple(row_unit(model, self.name, i) for i in range(nv)),
            self.force(motion)[:, :, None] * np.eye(nv),
            np.asarray(leaf(model, self.name), float),
            np.full(nv, self.positive),
        )

    def into(self, model: Model, values: Float[np.ndarray, " k"]) -> Model:
        """The model with these numbers."""
        old = leaf(model, self.name)
        return with_leaf(model, self.name, jnp.asarray(values, old.dtype))


@dataclass(frozen=True)
class Armature(_OfJoint):
    """Inertia of the rotor, seen at the joint: J qdd."""

    name: ClassVar[str] = "joint.armature"

    def force(self, motion: Motion) -> Float[np.ndarray, "n nv"]:
        """qdd."""
        return motion.qdd


@dataclass(frozen=True)
class Damping(_OfJoint):
    """Viscous friction: D qd."""

    name: ClassVar[str] = "joint.damping"

    def force(self, motion: Motion) -> Float[np.ndarray, "n nv"]:
        """qd."""
        return motion.qd


@dataclass(frozen=True)
class Friction(_OfJoint):
    """Coulomb friction: f tanh(qd / v0), smoothed by the model's `joint.friction_velocity`."""

    name: ClassVar[str] = "joint.friction"

    def force(self, motion: Motion) -> Float[np.ndarray, "n nv"]:
        """tanh(qd / v0)."""
        return np.tanh(motion.qd / np.asarray(motion.model.joint.friction_velocity))


@dataclass(frozen=True)
class SpringTerm(_OfJoint):
    """A spring towards the model's `joint.rest`: k (q - rest)."""

    name: ClassVar[str] = "joint.stiffness"

    def force(self, motion: Motion) -> Float[np.ndarray, "n nv"]:
        """q - rest, of each degree of freedom."""
        model = motion.model
        rest = jnp.asarray(model.joint.rest)
        stretch = jax.vmap(lambda q: displacement(model.tree, rest, q))(jnp.asarray(motion.q))
        return np.asarray(stretch)


@dataclass(frozen=True)
class Offset(ForceTerm):
    """A constant added to the measured force, of the sensor or a one-sided friction: b.

    A model has no place for it: it stays in the result.
    """

    name: ClassVar[str] = "joint.offset"

    def columns(self, motion: Motion) -> Columns:
        """One column of ones a degree of freedom."""
        model, nv = motion.model, motion.model.nv
        return Columns(
            tuple(row_name(self.name, d) for d in model.tree.dofs),
            tuple(row_unit(model, "joint.friction", i) for i in range(nv)),
            np.broadcast_to(np.eye(nv), (len(motion.q), nv, nv)),
            np.zeros(nv),
            np.zeros(nv, bool),
        )


@dataclass(frozen=True)
class CoupledMotors(ForceTerm):
    """Rotor, viscous and Coulomb friction of motors that move several joints, in joint units.

    With w = s qd the motor's speed seen at its joint (`LinearTransmission.speeds`), each force
    acts along s: s^T (J w' + D w + f tanh(w / v0)). None without a transmission that couples.
    """

    name: ClassVar[str] = "motor"

    def columns(self, motion: Motion) -> Columns:
        """Three columns a coupled motor."""
        model, gears = motion.model, motion.transmission
        if gears is None or not gears.coupled:
            empty = np.zeros((len(motion.q), model.nv, 0))
            return Columns((), (), empty, np.zeros(0), np.zeros(0, bool))
        names, units, forces = [], [], []
        for motor, s in zip(gears.coupled, gears.speeds, strict=True):
            own = int(np.argmax(np.abs(s)))
            w, v0 = motion.qd @ s, float(model.joint.friction_velocity[own])
            for kind, x in (
                ("armature", motion.qdd @ s),
                ("damping", w),
                ("friction", np.tanh(w / v0)),
            ):
                names.append(row_name(f"motor.{kind}", gears.motors[motor]))
                units.append(row_unit(model, f"joint.{kind}", own))
                forces.append(x[:, None] * s)
        k = len(names)
        return Columns(
            tuple(names), tuple(units), np.stack(forces, -1), np.zeros(k), np.ones(k, bool)
        )


FORCE_TERMS: tuple[ForceTerm, ...] = (
    Damping(),
    Friction(),
    Offset(),
    CoupledMotors(),
    Inertias(),
    Armature(),
)
"""What `inverse_fit` explains joint forces by unless told otherwise, without `SpringTerm()`."""


class Regressor(NamedTuple):
    """All terms of a motion side by side: joint forces X [n, nv, p] of a unit of each number, with
    names, units, starting values and signs [p], and the terms with their numbers of columns.
    """

    X: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]
    start: np.ndarray
    positive: np.ndarray
    parts: tuple[tuple[ForceTerm, slice], ...]

    def model(self, model: Model, values: Float[np.ndarray, " p"]) -> Model:
        """The model with all numbers that it has a place for."""
        for term, part in self.parts:
            model = term.into(model, values[part])
        return model


def regressor(motion: Motion, terms: tuple[ForceTerm, ...] = FORCE_TERMS) -> Regressor:
    """The columns of all terms, in the order in which they are preferred as base parameters."""
    found = [t.columns(motion) for t in terms]
    ends = np.cumsum([len(c.names) for c in found]).tolist()
    parts = [
        (term, slice(end - len(c.names), end))
        for term, c, end in zip(terms, found, ends, strict=True)
    ]
    return Regressor(
        np.concatenate([c.forces for c in found], -1),
        tuple(n for c in found for n in c.names),
        tuple(u for c in found for u in c.units),
        np.concatenate([c.start for c in found]),
        np.concatenate([c.positive for c in found]),
        tuple(parts),
    )
