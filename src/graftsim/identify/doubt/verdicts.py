"""Parameters with what the file may have wrong: intervals, causes, verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from graftsim.identify.doubt.analysis import FIRST, Doubt
from graftsim.identify.doubt.standard import Nuisance
from graftsim.identify.results.result import ParameterRow, Withheld
from graftsim.identify.results.verdicts import interval
from graftsim.identify.words import Status

# A number is conditional if what is withheld could move it by so many of its standard deviations
# and by this share of its size.
MOVED, SHARE = 2.0, 0.05
# Causes of at least this share of a parameter's doubt are named, and so many at most.
NAMED, MOST = 0.1, 4
# The integrator's step, among them.
STEP = "simulator.dt"


def with_file(rows: tuple[ParameterRow, ...], doubt: Doubt | None) -> tuple[ParameterRow, ...]:
    """Rows with their intervals if what was not free may be wrong.

    A number that is moved by more than its own deviation is no longer "identified".
    """
    if doubt is None:
        return rows
    place = {name: i for i, name in enumerate(doubt.parameters)}
    added = doubt.variance() + doubt.step**2
    parts = np.concatenate([doubt.moves * doubt.off(), doubt.step[:, None]], 1) ** 2
    parts = np.concatenate([parts, doubt.torques.variance], 1)
    torques = [n.name for n in doubt.torques.nuisances]
    names = [*(n.name for n in doubt.nuisances), STEP, *torques]
    # Effects are measured by nobody.
    relief = doubt.relief() * [not n.name.startswith("effect.") for n in doubt.nuisances]
    out = []
    for row in rows:
        if row.name not in place or not np.isfinite(row.std):
            out.append(row)
            continue
        i = place[row.name]
        std = float(np.hypot(row.std, np.sqrt(added[i])))
        low, high = interval(row.value, std)
        shares = parts[i] / max(float(parts[i].sum()), 1e-300)
        order = np.argsort(-shares)[:MOST]
        causes = {names[j]: float(shares[j]) for j in order if shares[j] >= NAMED}
        best = int(np.argmax(relief[i]))
        left = float(np.sqrt(max(std**2 - relief[i, best], row.std**2)))
        matters = np.sqrt(added[i]) > max(MOVED * row.std, SHARE * abs(row.value))
        status = row.status
        if matters and status == Status.IDENTIFIED:
            status = Status.CONDITIONAL
        out.append(
            replace(
                row, status=status, std_with_file=std, low_with_file=low, high_with_file=high,
                causes=causes, step=float(doubt.step[i]),
                measure=doubt.nuisances[best].name if relief[i, best] > 0 else "",
                std_if_measured=left,
            )
        )  # fmt: skip
    return tuple(out)


def withheld(rows: tuple[ParameterRow, ...], doubt: Doubt | None) -> tuple[Withheld, ...]:
    """Each nuisance by itself, the one that moves a parameter most first."""
    if doubt is None:
        return ()
    std = {row.name: row.std for row in rows}
    own = np.array([std[name] for name in doubt.parameters])
    changes = doubt.moves * doubt.off()
    found = []
    for j, n in enumerate(doubt.nuisances):
        tried = (doubt.alone_std[j], doubt.alone_asked[j], doubt.gain[j])
        found.append(_row(doubt, n, changes[:, j], own, tried, doubt.order[j]))
    spread = np.sqrt(doubt.torques.variance)
    for j, n in enumerate(doubt.torques.nuisances):
        found.append(_row(doubt, n, spread[:, j], own, (np.inf, 0.0, 0.0), FIRST))
    return tuple(sorted(found, key=lambda w: -w.worst))


def _row(
    doubt: Doubt,
    n: Nuisance,
    moved: np.ndarray,
    own: np.ndarray,
    tried: tuple[float, float, float],
    order: str,
) -> Withheld:
    """A nuisance that moves parameters of deviations `own` [p]; tried: std, asked and gain."""
    std, asked, gain = map(float, tried)
    moves = dict(zip(doubt.parameters, moved.tolist(), strict=True))
    worst = float(np.max(np.abs(moved) / own))
    return Withheld(n.name, n.unit, n.size, n.source, std, asked, gain, moves, worst, order)


def most_moved(rows: Sequence[ParameterRow]) -> tuple[ParameterRow, float] | None:
    """The parameter that the integrator's step moves most, and by how many of its deviations."""
    known = [row for row in rows if np.isfinite(row.std) and row.std > 0]
    if not known:
        return None
    row = max(known, key=lambda r: abs(r.step) / r.std)
    return row, abs(row.step) / row.std
