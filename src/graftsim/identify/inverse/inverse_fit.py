"""Identification by inverse dynamics: one linear regression instead of simulated windows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import GraftsimWarning, ProblemError
from graftsim.identify import words
from graftsim.identify.inverse.base import BaseParameters, base_parameters
from graftsim.identify.inverse.consistent import Prior, consistent
from graftsim.identify.inverse.cutoff import BY_RULE, Cutoff, Filtering, choose_filter
from graftsim.identify.inverse.forces.term import ForceTerm
from graftsim.identify.inverse.forces.terms import FORCE_TERMS, Regressor
from graftsim.identify.inverse.forces.transmission import LinearTransmission
from graftsim.identify.inverse.gains import gains_of, in_newtons
from graftsim.identify.inverse.regression import Regression, regress
from graftsim.identify.inverse.result import (
    BaseRow,
    ForceError,
    InverseFit,
    NumberRow,
    rms,
    worst_ratio,
)
from graftsim.identify.inverse.signals import checked
from graftsim.identify.inverse.stretches import Stretch, check_model, measured, stretches
from graftsim.identify.problem.measurements import held_out, several
from graftsim.identify.results.information import interval
from graftsim.identify.results.result import QUANTILE
from graftsim.identify.results.verdicts import status_of
from graftsim.model.model import Model
from graftsim.optim.loss import Loss, choose_loss
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name

# A held-out error so many times that of the fitted samples is warned of.
CARRIES = 1.5


@one_blas_thread
def inverse_fit(
    simulator: Simulator | Model,
    recordings: Recording | Sequence[Recording],
    *,
    terms: Sequence[ForceTerm] = FORCE_TERMS,
    transmission: LinearTransmission | None = None,
    cutoff: Cutoff = BY_RULE,
    loss: str | Loss = "huber",
    holdout: float | Recording | Sequence[Recording] = 0.25,
    prior: float = 1.0,
    gains: Mapping[str, float] | str | None = None,
) -> InverseFit:
    """Inertias and friction from positions and forces of all joints: no simulation, no start.

    simulator: or a model: the file's numbers are the prior of what the forces do not tell, and its
    `joint.friction_velocity` smooths the sign of friction. recordings: channels `joint.q` and
    `joint.tau` of every degree of freedom (rad, N m); `joint.qd` is used where it is.
    terms: what forces are made of (`gs.FORCE_TERMS`). transmission: motors that move several
    joints. cutoff: of the filters, by a rule unless given (`Cutoff`). loss: of whitened residuals,
    as of a `Problem`. holdout: share of each recording at its end, or recordings, for judgement.
    prior: weight of the distance from the file's links (`consistent`); 0 is refused.
    gains: where `joint.tau` is a current: N m (N) per unit by degree of freedom, or "file": as
    `motor_gains` finds them by the inertias of the file.

    Raises ProblemError: a joint that is not an angle or a length, a missing channel, too few
    samples, float32. Warns GraftsimWarning: what is assumed or may not carry over.
    """
    began = time.perf_counter()
    model = simulator.model if isinstance(simulator, Simulator) else simulator
    check_model(model, transmission)
    if not 0 < prior < np.inf:
        raise ProblemError(
            f"prior={prior}: a positive weight is expected; what the forces do not tell of a link "
            "comes from its file."
        )
    criterion = choose_loss(loss)
    train, held = _split(several(recordings), holdout)
    checked(model, (*train, *held))
    factors = gains_of(gains, model, train, terms, transmission, cutoff, criterion)
    train, held = (in_newtons(model, part, factors) for part in (train, held))
    filtering = choose_filter(model, train, cutoff)
    fitted, layout = stretches(model, train, filtering, terms, transmission)
    judged = stretches(model, held, filtering, terms, transmission)[0] if held else ()
    base = base_parameters(model, terms, transmission)
    channels = [row_name("joint.tau", d) for d in model.tree.dofs]
    found = regress([s.piece(base.columns(s.X)) for s in fitted], criterion, channels)
    numbers = consistent(base.B, found.beta, found.info.covariance, _prior(layout), prior)
    result = _result(_Solved(model, filtering, fitted, judged, layout, base, found, numbers))
    for sentence in result.warnings:
        warnings.warn(sentence, GraftsimWarning, stacklevel=3)
    return replace(
        result,
        notes=_notes(layout, measured(model, train)),
        gains=factors,
        seconds=time.perf_counter() - began,
    )


class _Solved(NamedTuple):
    """Pieces fitted and held out, what their columns are, and the numbers that were found."""

    model: Model
    filtering: Filtering
    fitted: Sequence[Stretch]
    judged: Sequence[Stretch]
    layout: Regressor
    base: BaseParameters
    found: Regression
    numbers: np.ndarray


def _result(at: _Solved) -> InverseFit:
    """Rows, errors and verdicts."""
    layout, found = at.layout, at.found
    left = _errors(at.fitted, at.judged, [layout.start, at.base.spread(found.beta), at.numbers])
    errors = tuple(
        ForceError(row_name("joint.tau", dof), "N m" if unit == "rad" else "N", *row)
        for dof, unit, row in zip(at.model.tree.dofs, at.model.tree.dof_units, left, strict=True)
    )
    rows = _rows(at.base, layout, found, at.numbers)
    return InverseFit(
        base=rows,
        numbers=tuple(
            NumberRow(n, u, float(a), float(b))
            for n, u, a, b in zip(layout.names, layout.units, layout.start, at.numbers, strict=True)
        ),
        errors=errors,
        covariance=found.info.covariance,
        combinations=at.base,
        filtering=at.filtering,
        samples=sum(len(s.y) for s in at.fitted),
        method=found.info.method,
        lack=found.info.lack,
        set_aside=found.set_aside,
        warnings=(*_negative(rows, layout), *_warnings(errors)),
        start=at.model,
        model=layout.model(at.model, at.numbers),
    )


def _split(
    given: tuple[Recording, ...], holdout: float | Recording | Sequence[Recording]
) -> tuple[tuple[Recording, ...], tuple[Recording, ...]]:
    """Recordings to fit and to judge by."""
    if isinstance(holdout, float | int):
        return held_out(given, float(holdout))
    return given, several(holdout)


def _prior(layout: Regressor) -> Prior:
    """The file's numbers, with the columns of each link."""
    first = [k for k, name in enumerate(layout.names) if name.startswith("link.mass")]
    links = np.array([np.arange(k, k + 10) for k in first], int).reshape(-1, 10)
    return Prior(layout.start, links, layout.positive)


def _rows(
    base: BaseParameters, layout: Regressor, found: Regression, numbers: np.ndarray
) -> tuple[BaseRow, ...]:
    std = np.sqrt(np.diag(found.info.covariance))
    start, after = base.B @ layout.start, base.B @ numbers
    rows = []
    for k, (name, unit) in enumerate(zip(base.expressions(), base.units, strict=True)):
        value, spread = float(found.beta[k]), float(std[k])
        low, high = interval(value, spread)
        rows.append(
            BaseRow(
                name,
                unit,
                float(start[k]),
                value,
                spread,
                low,
                high,
                float(after[k]),
                status_of(value, spread),
            )
        )
    return tuple(rows)


def _errors(
    fitted: Sequence[Stretch], judged: Sequence[Stretch], numbers: Sequence[np.ndarray]
) -> list[list[float]]:
    """Of each joint: size of its force, and what some numbers leave of it, fitted and held out."""
    rows = [rms(np.concatenate([s.y for s in fitted]), centred=True)]
    for group in (fitted, judged):
        for z in numbers:
            left = [s.y - s.X @ z for s in group]
            rows.append(rms(np.concatenate(left)) if left else np.full(len(rows[0]), np.nan))
    return np.array(rows).T.tolist()


def _negative(rows: Sequence[BaseRow], layout: Regressor) -> tuple[str, ...]:
    """A sentence on numbers that are measured below zero beyond doubt, where none can be."""
    above = {n for n, positive in zip(layout.names, layout.positive, strict=True) if positive}
    below = [r for r in rows if r.name in above and r.high < 0]
    if not below:
        return ()
    worst = min(below, key=lambda r: r.value / r.std)
    said = f"{worst.name} = {worst.value:.3g} ± {QUANTILE * worst.std:.2g} {worst.unit}"
    return (words.negative([r.name for r in below], said),)


def _warnings(errors: Sequence[ForceError]) -> tuple[str, ...]:
    ratio = worst_ratio(errors)
    if not ratio > CARRIES:
        return ()
    worst = max(errors, key=lambda e: e.heldout_after / e.train_after)
    return (words.heldout_larger(worst.channel, ratio),)


def _notes(layout: Regressor, velocities: bool) -> tuple[str, ...]:
    """What was assumed, and what a model has no place for."""
    outside = [n for n in layout.names if n.startswith(("joint.offset", "motor."))]
    notes = ["Velocities are measured." if velocities else "Velocities are derivatives."]
    if outside:
        kinds = dict.fromkeys(n.split("[")[0] for n in outside)
        notes.append(f"Not in the model, which has no place for them: {', '.join(kinds)}.")
    return tuple(notes)
