"""A payload by difference: the same arm recorded without it and with it.

Both recordings share the arm's base parameters; those with the payload have ten columns more, the
inertia that is added to a link (Khalil, Gautier & Lemoine 2007). What a model of the arm lacks is
in both, so it does not go into the payload.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError, suggest
from graftsim.identify.inverse.base import base_parameters
from graftsim.identify.inverse.consistent import Prior, consistent
from graftsim.identify.inverse.cutoff import BY_RULE, Cutoff, choose_filter
from graftsim.identify.inverse.forces.regressor import (
    body_of,
    moment_names,
    moments_of,
    ten_numbers,
    with_moments,
)
from graftsim.identify.inverse.forces.term import ForceTerm
from graftsim.identify.inverse.forces.terms import FORCE_TERMS, inertial_links
from graftsim.identify.inverse.forces.transmission import LinearTransmission
from graftsim.identify.inverse.regression import regress
from graftsim.identify.inverse.signals import checked
from graftsim.identify.inverse.stretches import check_model, stretches
from graftsim.identify.problem.measurements import several
from graftsim.identify.results.result import QUANTILE
from graftsim.model.model import Model
from graftsim.optim.loss import Loss, choose_loss
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name

# Of what no force tells: the payload is a ball of its mass with this radius of gyration (m).
SIZE = 0.05
# Columns of a motion whose share that others cannot do is less tell nothing.
FELT = 1e-6


@dataclass(frozen=True)
class Payload:
    """What a link carries: mass (kg), com (m) and inertia about it (kg m^2, xx yy zz xy xz yz) in
    the link's axes, of a body that can exist.

    ten, std: the ten numbers about the link's origin as measured, before that, and their standard
    deviations (infinite: no force tells it); mass_std, com_std: of mass and centre of mass.
    """

    link: str
    mass: float
    com: np.ndarray
    inertia: np.ndarray
    mass_std: float
    com_std: np.ndarray
    ten: np.ndarray
    std: np.ndarray

    def __str__(self) -> str:
        com = ", ".join(
            f"{x:.4g} +- {QUANTILE * s:.2g}" for x, s in zip(self.com, self.com_std, strict=True)
        )
        return (
            f"payload of '{self.link}': {self.mass:.4g} +- {QUANTILE * self.mass_std:.2g} kg, "
            f"centre of mass {com} m"
        )

    def onto(self, model: Model) -> Model:
        """The model with the payload added to the link's inertia."""
        i = model.tree.links.index(self.link)
        added = ten_numbers(np.array(self.mass), self.com, self.inertia)
        return with_moments(model, np.array([i]), (moments_of(model)[i] + added)[None])


@one_blas_thread
def payload_fit(
    simulator: Simulator | Model,
    without: Recording | Sequence[Recording],
    loaded: Recording | Sequence[Recording],
    link: str,
    *,
    terms: Sequence[ForceTerm] = FORCE_TERMS,
    transmission: LinearTransmission | None = None,
    cutoff: Cutoff = BY_RULE,
    loss: str | Loss = "huber",
) -> Payload:
    """The payload on a link, from recordings of the same arm without it and with it.

    Options and errors as of `inverse_fit`. Raises ProblemError too: an unknown link, or one whose
    motion does not tell the payload's mass and centre of mass.
    """
    model = simulator.model if isinstance(simulator, Simulator) else simulator
    check_model(model, transmission)
    if link not in model.tree.links:
        raise ProblemError(f"payload on '{link}'. {suggest(link, model.tree.links)}")
    place = np.flatnonzero(inertial_links(model) == model.tree.links.index(link))
    if not len(place):
        raise ProblemError(f"payload on '{link}': it does not move, or has no mass in the file.")
    empty, full = several(without), several(loaded)
    checked(model, (*empty, *full))
    band = choose_filter(model, (*empty, *full), cutoff)
    base = base_parameters(model, terms, transmission)
    names = moment_names(link)
    pieces, extra = [], []
    for recordings, carries in ((empty, 0.0), (full, 1.0)):
        found, layout = stretches(model, recordings, band, terms, transmission)
        own = [layout.names.index(n) for n in names]
        for s in found:
            extra.append(carries * s.X[..., own])
            pieces.append(s.piece(base.columns(s.X)))
    told = _told(np.concatenate(extra))
    if not {0, 1, 2, 3} <= set(told.tolist()):
        raise ProblemError(
            f"payload on '{link}': in these motions its mass and centre of mass cannot be told "
            "apart. Move more joints, so that the link turns against gravity in two directions."
        )
    joined = [
        p._replace(X=np.concatenate([p.X, x[..., told]], -1))
        for p, x in zip(pieces, extra, strict=True)
    ]
    channels = [row_name("joint.tau", d) for d in model.tree.dofs]
    fit = regress(joined, choose_loss(loss), channels)
    k = len(told)
    return _payload(link, told, fit.beta[-k:], fit.info.covariance[-k:, -k:])


def _told(extra: np.ndarray) -> np.ndarray:
    """Which of the ten columns [n, nv, 10] are no combination of the others: mass and first
    moments are preferred.
    """
    A = extra.reshape(-1, 10)
    size = np.linalg.norm(A, axis=0)
    A = A / np.where(size > 0, size, 1.0)
    kept, Q = [], np.zeros((len(A), 0))
    for k in np.flatnonzero(size > FELT * size.max(initial=0.0)).tolist():
        left = A[:, k] - Q @ (Q.T @ A[:, k])
        left = left - Q @ (Q.T @ left)
        if np.linalg.norm(left) > FELT:
            kept.append(k)
            Q = np.concatenate([Q, left[:, None] / np.linalg.norm(left)], 1)
    return np.array(kept, int)


def _payload(link: str, told: np.ndarray, beta: np.ndarray, C: np.ndarray) -> Payload:
    """The nearest body to what was measured, and how well its mass and centre are known."""
    ten, std = np.zeros(10), np.full(10, np.inf)
    ten[told], std[told] = beta, np.sqrt(np.diag(C))
    m = max(ten[0], std[0])
    about = np.array([1.0, 1.0, 1.0, 0.0, 0.0, 0.0]) * m * SIZE**2
    ball = ten_numbers(np.array(m), ten[1:4] / m, about)
    prior = Prior(ball, np.arange(10)[None], np.zeros(10, bool))
    mass, com, inertia = body_of(consistent(np.eye(10)[told], beta, C, prior))
    # Of c = h / m: dc = (dh - c dm) / m.
    at = [told.tolist().index(k) for k in range(4)]
    D = np.concatenate([-com[:, None], np.eye(3)], 1) / mass
    com_std = np.sqrt(np.diag(D @ C[np.ix_(at, at)] @ D.T))
    return Payload(link, float(mass), com, inertia, float(std[0]), com_std, ten, std)
