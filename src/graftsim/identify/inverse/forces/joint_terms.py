"""Terms of joints and motors: rotors, viscous and Coulomb friction, springs, offsets."""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from graftsim.dynamics.passive import displacement
from graftsim.identify.inverse.forces.term import Columns, ForceTerm, Motion
from graftsim.model.catalogue import leaf, row_unit, with_leaf
from graftsim.model.model import Model
from graftsim.selectors import row_name


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
