"""Motor constants: efforts that are currents, with torque = gain current.

Currents alone tell inertias over gains, so something must be known: here the file's inertias. Each
joint's current is regressed on the force that they need, beside friction, rotor and offset:

    i_j = tau_file,j / k_j + (J_j qdd_j + D_j qd_j + f_j tanh(qd_j / v0) + b_j) / k_j.

Where the file's masses are wrong by a share, so are the gains.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.identify.inverse.inverse_fit import BY_RULE, check_model, stretches
from graftsim.identify.inverse.regression import regress
from graftsim.identify.inverse.result import GainRow
from graftsim.identify.inverse.signals import Cutoff, checked, choose_filter
from graftsim.identify.inverse.terms import FORCE_TERMS, ForceTerm, Inertias
from graftsim.identify.inverse.transmission import LinearTransmission
from graftsim.identify.problem.loss import Loss, choose_loss
from graftsim.identify.problem.measurements import several
from graftsim.identify.results.information import interval
from graftsim.identify.results.verdicts import status_of
from graftsim.identify.words import Status
from graftsim.model.model import Model
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name


@one_blas_thread
def motor_gains(
    simulator: Simulator | Model,
    recordings: Recording | Sequence[Recording],
    *,
    terms: Sequence[ForceTerm] = FORCE_TERMS,
    transmission: LinearTransmission | None = None,
    cutoff: Cutoff = BY_RULE,
    loss: str | Loss = "huber",
) -> tuple[GainRow, ...]:
    """Force per unit of each joint's effort (N m, N), by the inertias of the model's file.

    recordings: `joint.q`, and in `joint.tau` what is proportional to the force. Options and errors
    as of `inverse_fit`. A joint that no inertia of the file loads is "without effect".
    """
    model = simulator.model if isinstance(simulator, Simulator) else simulator
    check_model(model, transmission)
    given = several(recordings)
    checked(model, given)
    band = choose_filter(model, given, cutoff)
    pieces, layout = stretches(model, given, band, terms, transmission)
    links = np.zeros(len(layout.names), bool)
    for term, part in layout.parts:
        links[part] = isinstance(term, Inertias)
    rows = []
    for j, dof in enumerate(model.tree.dofs):
        file = [s.X[:, j, links] @ layout.start[links] for s in pieces]
        size = np.sqrt(np.mean(np.concatenate(file) ** 2))
        name = row_name("joint.gain", dof)
        unit = "N m per unit" if model.tree.dof_units[j] == "rad" else "N per unit"
        if not size > 0:
            rows.append(GainRow(name, unit, nan, nan, nan, nan, Status.WITHOUT_EFFECT))
            continue
        own = [s.X[:, j, ~links] for s in pieces]
        acts = np.abs(np.concatenate(own)).max(0) > 0
        parts = [
            s._replace(y=s.y[:, j : j + 1]).piece(
                np.concatenate([f[:, None], x[:, acts]], 1)[:, None, :]
            )
            for s, f, x in zip(pieces, file, own, strict=True)
        ]
        found = regress(parts, choose_loss(loss), [row_name("joint.tau", dof)])
        inverse, spread = float(found.beta[0]), float(np.sqrt(found.info.covariance[0, 0]))
        gain, std = 1 / inverse, spread / inverse**2
        rows.append(GainRow(name, unit, gain, std, *interval(gain, std), status_of(gain, std)))
    return tuple(rows)


def in_newtons(
    model: Model, recordings: Recording | Sequence[Recording], gains: Sequence[GainRow]
) -> tuple[Recording, ...]:
    """Recordings whose `joint.tau` is effort times gain, in N m and N."""
    found = []
    for recording in several(recordings):
        for dof, row, kind in zip(model.tree.dofs, gains, model.tree.dof_units, strict=True):
            channel = recording[row_name("joint.tau", dof)]
            unit = "N m" if kind == "rad" else "N"
            note = f"effort times {row.value:.4g} {unit}"
            new = Channel(
                channel.name,
                channel.time,
                channel.values * row.value,
                unit,
                channel.source,
                notes=(*channel.notes, note),
            )
            recording = recording.with_channel(new)
        found.append(recording)
    return tuple(found)
