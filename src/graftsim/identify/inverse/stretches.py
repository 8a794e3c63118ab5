"""Recordings made ready for a regression: filtered columns and forces, piece by piece."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.inverse.cutoff import Filtering
from graftsim.identify.inverse.forces.term import ForceTerm, Motion
from graftsim.identify.inverse.forces.terms import Regressor, regressor
from graftsim.identify.inverse.forces.transmission import LinearTransmission
from graftsim.identify.inverse.regression import Piece
from graftsim.identify.inverse.signals import (
    decimation,
    independent,
    parallel,
    samples,
)
from graftsim.model.model import Model
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name


class Stretch(NamedTuple):
    """A piece after all filters: columns X [n, nv, p] of all numbers, forces y [n, nv], time
    between samples (s), and the share of them that is independent.
    """

    X: np.ndarray
    y: np.ndarray
    interval: float
    share: float

    def piece(self, X: np.ndarray) -> Piece:
        """Rows for a regression on columns X [n, nv, b]."""
        return Piece(X, self.y, self.interval, self.share)


def check_model(model: Model, transmission: LinearTransmission | None) -> None:
    """Raises ProblemError: a model in float32 or with loops, a transmission of another robot."""
    if model.closed:
        names = (*model.loop.names, *model.coupling.names)
        raise ProblemError(
            f"Inverse dynamics does not know the forces that hold {', '.join(names[:4])}: torques "
            "of joints alone do not explain the motion of closed loops. Fit by simulation "
            "(--method rollout), which does."
        )
    if model.link.mass.dtype != np.float64:
        raise ProblemError(
            "Inverse dynamics decides what is a combination of what to nine digits, and this model "
            "is in float32. Set JAX_ENABLE_X64=1, or jax.config.update('jax_enable_x64', True) "
            "before the model is loaded."
        )
    if transmission is not None:
        transmission.check(model)


def measured(model: Model, recordings: Sequence[Recording]) -> bool:
    """Do all recordings have the velocity of every joint?"""
    names = [row_name("joint.qd", d) for d in model.tree.dofs]
    return all(n in r for r in recordings for n in names)


def stretches(
    model: Model,
    recordings: Sequence[Recording],
    filtering: Filtering,
    terms: Sequence[ForceTerm],
    transmission: LinearTransmission | None,
) -> tuple[tuple[Stretch, ...], Regressor]:
    """Filtered columns and forces of recordings, and what the columns are."""
    found, last = [], None
    for piece in samples(model, tuple(recordings), filtering):
        motion = Motion(model, piece.q, piece.qd, piece.qdd, transmission)
        last = regressor(motion, tuple(terms))
        n, nv, p = last.X.shape
        low = parallel(piece.t, last.X.reshape(n, nv * p), filtering)
        tau = parallel(piece.t, piece.tau, filtering)
        step = (piece.t[-1] - piece.t[0]) / (n - 1)
        interval = decimation(step, filtering) * step
        share = independent(interval, filtering)
        found.append(Stretch(low.reshape(len(low), nv, p), tau, interval, share))
    assert last is not None
    return tuple(found), last
