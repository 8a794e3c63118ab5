"""Kinds of closed loops: which relative motion of two links is not possible.

A loop fastens a point of a second link to a point of a first. Everything is seen from the first
link, in its axes, so that whatever carries both has no part in it: the second link's velocity
against the first is the spatial vector (w; v), v taken at the first's point, and p is the place of
the second's point from there. A kind has rows; their velocities are L(p) (w; v).
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.components import VECTOR
from graftsim.spatial.rotation import cross, skew

Place = Float[Array, "k 3"]
Turn = Float[Array, "k 3 3"]


class LoopType(abc.ABC):
    """A kind of loop: a frozen dataclass, equal to any other with the same fields.

    rows: label of each row after the loop's name. units: of their position errors, "m" or "rad".
    turns: whether the links' relative orientation matters. Functions are batched over k loops.
    """

    name: ClassVar[str]
    rows: ClassVar[tuple[str, ...]]
    units: ClassVar[tuple[str, ...]]
    turns: ClassVar[bool]

    @abc.abstractmethod
    def error(self, R: Turn, p: Place) -> Float[Array, "k m"]:
        """How far open the loops are; R: turn of the second link since closed, in the first."""

    @abc.abstractmethod
    def directions(self, p: Place) -> Float[Array, "k m 6"]:
        """L: which parts of (w; v) the rows are."""

    @abc.abstractmethod
    def drift(self, w: Place, p_dot: Place) -> Float[Array, "k m"]:
        """(dL/dt) (w; v), with dp/dt = v + w x p."""


@dataclass(frozen=True)
class Connect(LoopType):
    """The two points coincide: a ball joint, or in a plane mechanism a hinge."""

    name = "connect"
    rows = VECTOR
    units = ("m",) * 3
    turns = False

    def error(self, R: Turn, p: Place) -> Float[Array, "k 3"]:
        """The distance, by axis."""
        return p

    def directions(self, p: Place) -> Float[Array, "k 3 6"]:
        """v + w x p."""
        eye = jnp.broadcast_to(jnp.eye(3, dtype=p.dtype), (*p.shape, 3))
        return jnp.concatenate([-skew(p), eye], -1)

    def drift(self, w: Place, p_dot: Place) -> Float[Array, "k 3"]:
        """w x dp/dt."""
        return cross(w, p_dot)


@dataclass(frozen=True)
class Weld(LoopType):
    """The points coincide and the links do not turn against each other."""

    name = "weld"
    rows = (*VECTOR, *(f"r{c}" for c in VECTOR))
    units = ("m",) * 3 + ("rad",) * 3
    turns = True

    def error(self, R: Turn, p: Place) -> Float[Array, "k 6"]:
        """The distance, and 2 sin(angle/2) about the axis of the turn."""
        odd = R - jnp.swapaxes(R, -1, -2)
        axis = jnp.stack([odd[:, 2, 1], odd[:, 0, 2], odd[:, 1, 0]], -1) / 2
        cosine = (1 + jnp.trace(R, axis1=-2, axis2=-1)) / 4  # cos(angle/2)^2
        half = jnp.sqrt(jnp.where(cosine > _LEAST, cosine, _LEAST))
        return jnp.concatenate([p, axis / half[:, None]], -1)

    def directions(self, p: Place) -> Float[Array, "k 6 6"]:
        """v + w x p, and w."""
        eye = jnp.broadcast_to(jnp.eye(3, dtype=p.dtype), (*p.shape, 3))
        linear = jnp.concatenate([-skew(p), eye], -1)
        return jnp.concatenate([linear, jnp.concatenate([eye, jnp.zeros_like(eye)], -1)], -2)

    def drift(self, w: Place, p_dot: Place) -> Float[Array, "k 6"]:
        """w x dp/dt, and nothing."""
        return jnp.concatenate([cross(w, p_dot), jnp.zeros_like(w)], -1)


# At half a turn the axis of 2 sin(angle/2) is not known; nothing is divided by less.
_LEAST = 1e-12
LOOP_TYPES: dict[str, LoopType] = {x.name: x for x in (Connect(), Weld())}
