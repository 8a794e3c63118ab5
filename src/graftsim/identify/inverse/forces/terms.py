"""What a joint force is made of: each term linear in numbers of its own, which have names.

tau = Y phi + D qd + f tanh(qd / v0) + J qdd + k (q - rest) + b. A term is one class; a user's own
goes beside `FORCE_TERMS` in `inverse_fit(..., terms=(*gs.FORCE_TERMS, Mine()))`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.identify.inverse.forces.joint_terms import (
    Armature,
    CoupledMotors,
    Damping,
    Friction,
    Offset,
)
from graftsim.identify.inverse.forces.regressor import (
    UNITS,
    inertial_regressor,
    moment_names,
    moments_of,
    with_moments,
)
from graftsim.identify.inverse.forces.term import Columns, ForceTerm, Motion
from graftsim.model.model import Model


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
