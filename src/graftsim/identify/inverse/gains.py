"""Motor constants: efforts that are currents, with torque = gain current.

Currents alone tell inertias over gains, so something must be known: here the file's inertias. Each
joint's current is regressed on the force that they need, beside friction, rotor and offset:

    i_j = tau_file,j / k_j + (J_j qdd_j + D_j qd_j + f_j tanh(qd_j / v0) + b_j) / k_j.

Where the file's masses are wrong by a share, so are the gains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError, suggest
from graftsim.identify.inverse.cutoff import BY_RULE, Cutoff, choose_filter
from graftsim.identify.inverse.forces.term import ForceTerm
from graftsim.identify.inverse.forces.terms import FORCE_TERMS, Inertias
from graftsim.identify.inverse.forces.transmission import LinearTransmission
from graftsim.identify.inverse.regression import regress
from graftsim.identify.inverse.result import GainRow
from graftsim.identify.inverse.signals import checked
from graftsim.identify.inverse.stretches import check_model, stretches
from graftsim.identify.problem.measurements import several
from graftsim.identify.results.information import interval
from graftsim.identify.results.verdicts import status_of
from graftsim.model.model import Model
from graftsim.optim.loss import Loss, choose_loss
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name

# A word for the gains that the inertias of the file tell.
GAINS_OF_FILE = "file"


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
        if not size > 0:
            rows.append(_row(dof, model.tree.dof_units[j], nan, nan))
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
        rows.append(_row(dof, model.tree.dof_units[j], gain, std))
    return tuple(rows)


def gains_of(
    given: Mapping[str, float] | str | None,
    model: Model,
    recordings: Sequence[Recording],
    terms: Sequence[ForceTerm],
    transmission: LinearTransmission | None,
    cutoff: Cutoff,
    loss: Loss,
) -> tuple[GainRow, ...]:
    """Rows of gains that are given, or found by the file; none if efforts are forces.

    Raises ProblemError: a word or joint that is not known, a gain that is 0, missing or not told.
    """
    if given is None:
        return ()
    dofs = model.tree.dofs
    if isinstance(given, str):
        if given != GAINS_OF_FILE:
            raise ProblemError(
                f"gains '{given}': a number by degree of freedom, or '{GAINS_OF_FILE}'."
            )
        rows = motor_gains(
            model,
            recordings,
            terms=terms,
            transmission=transmission,
            cutoff=cutoff,
            loss=loss,
        )
        untold = [d for d, r in zip(dofs, rows, strict=True) if not np.isfinite(r.value)]
        if untold:
            raise ProblemError(
                f"gains: the file's inertias do not load {', '.join(untold)}, so they do not tell "
                "its gain; give all gains as numbers."
            )
        return rows
    for name in given:
        if name not in dofs:
            raise ProblemError(f"gains of '{name}'. {suggest(name, dofs)}")
    rows = []
    for dof, kind in zip(dofs, model.tree.dof_units, strict=True):
        value = given.get(dof, nan)
        if not (np.isfinite(value) and value):
            raise ProblemError(f"gains: '{dof}' needs a number that is not zero, got {value}.")
        rows.append(_row(dof, kind, float(value), 0.0))
    return tuple(rows)


def _row(dof: str, kind: str, gain: float, std: float) -> GainRow:
    unit = "N m per unit" if kind == "rad" else "N per unit"
    return GainRow(
        row_name("joint.gain", dof), unit, gain, std, *interval(gain, std), status_of(gain, std)
    )


def in_newtons(
    model: Model, recordings: Sequence[Recording], gains: Sequence[GainRow]
) -> tuple[Recording, ...]:
    """Recordings whose `joint.tau` is effort times gain (N m, N); as they are without gains."""
    if not gains:
        return tuple(recordings)
    found = []
    for recording in recordings:
        for dof, row, kind in zip(model.tree.dofs, gains, model.tree.dof_units, strict=True):
            channel = recording[row_name("joint.tau", dof)]
            unit = "N m" if kind == "rad" else "N"
            recording = recording.with_channel(
                channel.replace(
                    values=channel.values * row.value,
                    unit=unit,
                    notes=(*channel.notes, f"effort times {row.value:.4g} {unit}"),
                )
            )
        found.append(recording)
    return tuple(found)
