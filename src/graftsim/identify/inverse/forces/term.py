"""What a term of the joint forces is: columns that are linear in numbers of its own."""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.identify.inverse.forces.transmission import LinearTransmission
from graftsim.model.model import Model


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
