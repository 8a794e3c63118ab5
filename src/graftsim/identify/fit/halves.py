"""The same fit to two disjoint halves of the data: do their intervals agree?

The plainest test of an interval: what two halves say of one number should differ by chance alone.
Every other recording makes a half, or of one recording its beginning and its end. With contact the
cost has minima side by side, and a covariance at one knows nothing of the others: there intervals
are those of refits to recordings drawn again, where a half has enough of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify import words
from graftsim.identify.evidence.bootstrap import FEW_BLOCKS, Bootstrap
from graftsim.identify.fit.fit import fit
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import QUANTILE, ParameterRow
from graftsim.recordings.recording import Recording

# So many refits tell a deviation to a tenth of it.
REPLICAS = 40


@dataclass(frozen=True)
class HalfRow:
    """A parameter from each half: values and deviations, alone and with what the file has wrong."""

    name: str
    unit: str
    values: tuple[float, float]
    stds: tuple[float, float]
    stds_with_file: tuple[float, float]

    @property
    def apart(self) -> float:
        """Difference of the values over the deviation of that difference."""
        return abs(self.values[0] - self.values[1]) / float(np.hypot(*self.stds))

    @property
    def agree(self) -> bool:
        """Is the difference what chance explains: within 95 % of it?"""
        return self.apart <= QUANTILE

    @property
    def overlap(self) -> bool:
        """Do the 95 % intervals with the file have a value in common?"""
        return abs(self.values[0] - self.values[1]) <= QUANTILE * sum(self.stds_with_file)

    @property
    def text(self) -> str:
        """What is to be said of it."""
        return words.halves(self.name, self.values, self.unit, self.apart, self.agree, self.overlap)


def halves(problem: Problem, **how: object) -> tuple[HalfRow, ...]:
    """Parameters that both halves determine, those farthest apart first.

    how: options of `fit`; without `bootstrap` there is one where contact is simulated and each half
    has `FEW_BLOCKS` recordings. Raises ProblemError: a half is too short for a window.
    """
    rows, parts = [], split(problem.given)
    how = resampling(problem, min(map(len, parts))) | how
    for train in parts:
        part = replace(problem, recordings=train, holdout=0.0)
        rows.append({r.name: r for r in fit(part, **how).parameters})  # type: ignore[arg-type]
    pairs = ((a, rows[1][name]) for name, a in rows[0].items() if name in rows[1])
    found = [_row(a, b) for a, b in pairs if np.isfinite(a.std) and np.isfinite(b.std)]
    return tuple(sorted(found, key=lambda r: -r.apart))


def resampling(problem: Problem, recordings: int) -> dict[str, object]:
    """The option of `fit` for intervals of a half with so many recordings."""
    rough = problem.simulator.contact is not None and recordings >= FEW_BLOCKS
    return {"bootstrap": Bootstrap(REPLICAS, by="recording")} if rough else {}


def split(recordings: Sequence[Recording]) -> tuple[list[Recording], list[Recording]]:
    """Every other recording; one is cut in the middle. Raises ProblemError: there is none."""
    if not recordings:
        raise ProblemError("There is no recording to halve.")
    if len(recordings) > 1:
        return list(recordings[::2]), list(recordings[1::2])
    start, end = recordings[0].overlap
    middle = (start + end) / 2
    return [recordings[0].trim(None, middle)], [recordings[0].trim(middle, None)]


def _row(a: ParameterRow, b: ParameterRow) -> HalfRow:
    wide = tuple(r.std_with_file if np.isfinite(r.std_with_file) else r.std for r in (a, b))
    return HalfRow(a.name, a.unit, (a.value, b.value), (a.std, b.std), (wide[0], wide[1]))
