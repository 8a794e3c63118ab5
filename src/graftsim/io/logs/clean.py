"""From cells to samples: missing cells, the order of time; then SI units, unit vectors.

What is wrong is an error with its row and column; what is repaired leaves a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from graftsim.errors import LogError
from graftsim.io.logs.columns import ColumnSpec
from graftsim.io.logs.convert import Floats, to_si, unit_vectors, unwrapped
from graftsim.io.logs.epochs import unit_since_1970
from graftsim.io.logs.tables import Cells, Table
from graftsim.recordings.recording import seconds
from graftsim.recordings.units import unit


@dataclass(frozen=True)
class Repairs:
    """What may be repaired while reading. See `read_recording`.

    Raises: LogError for an unknown choice.
    """

    missing: str = "error"
    duplicates: str = "error"
    sort: bool = False

    def __post_init__(self) -> None:
        allowed = {"missing": ("error", "gap"), "duplicates": ("error", "keep_first", "average")}
        for name, choices in allowed.items():
            if getattr(self, name) not in choices:
                raise LogError(f"{name}={getattr(self, name)!r}: use one of {', '.join(choices)}.")


@dataclass(frozen=True, eq=False)
class Samples:
    """One channel of a log, cleaned: time [n] s, values [n, d] SI, rows [n] in the source."""

    channel: str
    spec: ColumnSpec
    clock: ColumnSpec | float
    table: Table
    time: Floats
    values: Floats
    rows: NDArray[np.int64]
    units: tuple[str, ...]
    notes: tuple[str, ...]

    def at(self, i: int | None = None) -> str:
        """Start of a message about sample `i` of this channel."""
        return self.table.at(None if i is None else int(self.rows[i]), *self.spec.columns)


def samples(
    channel: str,
    spec: ColumnSpec,
    clock: ColumnSpec | float,
    table: Table,
    cells: Mapping[str, Cells],
    repairs: Repairs,
) -> Samples:
    """Clean one channel. `clock` is a column, or the constant sample interval in s.

    Raises: LogError, with row and column, for whatever `repairs` does not allow to mend.
    """
    columns = [(name, cells[name]) for name in spec.columns]
    lengths = {name: len(cell.values) for name, cell in columns}
    if isinstance(clock, ColumnSpec):
        lengths[clock.columns[0]] = len(cells[clock.columns[0]].values)
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {n}" for name, n in lengths.items())
        raise LogError(
            f"{table.source}: {channel}: columns of different length ({listed}); name its "
            "own clock with ColumnSpec(..., time='COLUMN')."
        )
    all_rows = columns[0][1].rows
    if isinstance(clock, ColumnSpec):
        columns.insert(0, (clock.columns[0], cells[clock.columns[0]]))
    good, notes = _present(channel, columns, table, repairs)

    values = np.stack([cells[name].values[good] for name in spec.columns], axis=1)
    if isinstance(clock, ColumnSpec):
        time = _clock_seconds(clock, cells[clock.columns[0]].values[good], table, notes)
    else:
        time = clock * np.flatnonzero(good).astype(np.float64)
    rows = all_rows[good]
    time, values, rows = _ordered(time, values, rows, clock, table, repairs, notes)
    values, units = to_si(channel, spec, values, table)
    if spec.unwrap:
        values = unwrapped(channel, spec, values, units, table)
        notes.append("unwrapped")
    values = unit_vectors(channel, spec, values, rows, table, notes)
    return Samples(channel, spec, clock, table, time, values, rows, units, tuple(notes))


def _present(
    channel: str, columns: list[tuple[str, Cells]], table: Table, repairs: Repairs
) -> tuple[NDArray[np.bool_], list[str]]:
    """Which rows hold a number in every column."""
    finite = np.stack([np.isfinite(cell.values) for _, cell in columns])
    good = np.asarray(finite.all(axis=0))
    notes = []
    if not good.all() and repairs.missing == "error":
        i = int(np.flatnonzero(~good)[0])
        name, cell = next(c for c, ok in zip(columns, finite[:, i], strict=True) if not ok)
        raise LogError(
            f"{table.at(int(cell.rows[i]), name)}: {cell.complaint(i)} (channel {channel}; "
            f"{int((~good).sum())} such rows). Mend the log, or pass missing='gap' to leave "
            "those samples out."
        )
    for (name, cell), ok in zip(columns, finite, strict=True):
        bad = np.flatnonzero(~ok)
        if bad.size:
            rows = ", ".join(str(r) for r in cell.rows[bad[:5]]) + (", ..." if bad.size > 5 else "")
            notes.append(f"{bad.size} samples left out: no number in column {name!r} (rows {rows})")
    if good.sum() < 2:
        names = [name for name, _ in columns]
        raise LogError(
            f"{table.at(None, *names)}: {int(good.sum())} usable samples for channel {channel}; "
            "at least 2 are needed."
        )
    return good, notes


def _clock_seconds(clock: ColumnSpec, values: Floats, table: Table, notes: list[str]) -> Floats:
    given = clock.each("unit", 1)[0]
    if given is None and clock.scale == 1.0 and clock.offset == 0.0:
        given = unit_since_1970(float(values[0]))
        if given is not None:
            notes.append(f"its clock counts {given} from 1970, by the size of its numbers")
    try:
        known = unit(given or "s")
    except LogError as error:
        raise LogError(f"{table.at(None, *clock.columns)}: {error}") from None
    if known.dimension != "time":
        raise LogError(f"{table.at(None, *clock.columns)}: a clock cannot be in {given!r}; use s.")
    return (clock.each("scale", 1)[0] * values + clock.each("offset", 1)[0]) * known.factor


def _ordered(
    time: Floats,
    values: Floats,
    rows: NDArray[np.int64],
    clock: ColumnSpec | float,
    table: Table,
    repairs: Repairs,
    notes: list[str],
) -> tuple[Floats, Floats, NDArray[np.int64]]:
    """Strictly increasing time, or an error with the first row where it is not."""
    name = clock.columns if isinstance(clock, ColumnSpec) else ()
    back = np.flatnonzero(np.diff(time) < 0)
    if back.size:
        i = int(back[0]) + 1
        if not repairs.sort:
            raise LogError(
                f"{table.at(int(rows[i]), *name)}: time goes back from {seconds(time[i - 1])} s to "
                f"{seconds(time[i])} s ({back.size} times in all). If rows were written out of "
                "order, pass sort=True; if these are several runs, split the file."
            )
        order = np.argsort(time, kind="stable")
        where = int(rows[i])
        time, values, rows = time[order], values[order], rows[order]
        notes.append(f"sorted by time: it went back {back.size} times, first at row {where}")
    same = np.flatnonzero(np.diff(time) == 0)
    if not same.size:
        return time, values, rows
    if repairs.duplicates == "error":
        i = int(same[0]) + 1
        raise LogError(
            f"{table.at(int(rows[i]), *name)}: time {seconds(time[i])} s is there twice (also row "
            f"{int(rows[i - 1])}; {same.size} duplicates in all). Pass duplicates='keep_first' or "
            "'average'."
        )
    first = np.flatnonzero(np.concatenate([[True], np.diff(time) > 0]))
    if repairs.duplicates == "average":
        counts = np.diff(np.append(first, len(time)))
        values = np.add.reduceat(values, first, axis=0) / counts[:, None]
    else:
        values = values[first]
    done = "averaged" if repairs.duplicates == "average" else "left out, the first kept"
    notes.append(
        f"{same.size} duplicated time stamps {done} (first at row {int(rows[same[0] + 1])})"
    )
    return time[first], values, rows[first]
