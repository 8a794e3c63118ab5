"""Read recordings from log files and arrays, and write them.

A log is believed only as far as it can be checked: what is impossible is an error, what is
unlikely a warning, what was repaired or left out a note; each names file, row and column.
"""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from graftsim.errors import GraftsimWarning, LogError
from graftsim.io.logs.checks import mixed_rates, suspicions
from graftsim.io.logs.clean import Repairs, Samples, samples
from graftsim.io.logs.columns import (
    ColumnLike,
    ColumnSpec,
    clock_spec,
    example_mapping,
    from_header,
    left_out,
    mapped,
)
from graftsim.io.logs.formats import LOG_FORMATS, LogFormat, open_table
from graftsim.io.logs.tables import Table, array_table
from graftsim.io.logs.write import write_csv
from graftsim.recordings.recording import Channel, Recording

__all__ = [
    "ColumnSpec",
    "read_recording",
    "read_recordings",
    "recording_from_arrays",
    "write_csv",
]


def read_recording(
    path: str | Path,
    columns: Mapping[str, ColumnLike] | None = None,
    *,
    name: str | None = None,
    time: ColumnLike | float | None = None,
    missing: str = "error",
    duplicates: str = "error",
    sort: bool = False,
    suspicious: str = "warn",
    formats: Sequence[LogFormat] = LOG_FORMATS,
) -> Recording:
    """Read a log file: CSV (.csv, .tsv, .txt), Parquet, or NPZ.

    columns: channel name -> column, list of columns, `ColumnSpec`, or a table of its fields; the
        key "time" names the clock. Channel names are `joint.q[NAME]`, `joint.qd[NAME]`,
        `joint.tau[NAME]`, `control[NAME]`, `link.pose[NAME]` (x y z qw qx qy qz),
        `link.position[NAME]`, `link.heading[NAME]`, `link.angular_velocity[NAME]`,
        `link.linear_acceleration[NAME]`, `link.force[NAME]`, `signal[NAME]` for anything else.
        None takes the columns whose header is such a name.
    time: the clock's column, or a number: the constant sample interval in s. By default the
        column named time, t or timestamp.
    missing: "error", or "gap" to leave out samples without a finite number.
    duplicates: of time stamps: "error", "keep_first" or "average".
    sort: sort by time, where rows were written out of order.
    suspicious: "warn" of what can be read but looks wrong, or "note" it in the recording alone,
        where `check` will say so with more to go by.
    formats: what is read, by suffix; a user's own format is a `LogFormat` put beside `LOG_FORMATS`.

    Columns of a 2-D array `a` in an NPZ file are `a[0]`, `a[1]`, ...; `a` means all of them.

    Returns: channels in SI units. What was left out, repaired or looks wrong is in its notes.

    Raises: LogError, naming file, row and column. Warns: GraftsimWarning.
    """
    table = open_table(path, formats)
    repairs = Repairs(missing, duplicates, sort)
    if suspicious not in ("warn", "note"):
        raise LogError(f"suspicious={suspicious!r}: it is 'warn' or 'note'.")
    recording, found = _recording(
        table, columns, Path(path).stem if name is None else name, time, repairs
    )
    if suspicious == "warn":
        _warn(found)
    return recording


def recording_from_arrays(
    arrays: Mapping[str, ArrayLike],
    columns: Mapping[str, ColumnLike] | None = None,
    *,
    name: str = "arrays",
    time: ColumnLike | float | None = None,
    missing: str = "error",
    duplicates: str = "error",
    sort: bool = False,
) -> Recording:
    """The same for arrays by name, [n] or [n, d]; arguments as `read_recording`.

    Arrays of different lengths are fine where each channel's clock has its length.

    Raises: LogError, naming array and row (counted from 0). Warns: GraftsimWarning.
    """
    repairs = Repairs(missing, duplicates, sort)
    recording, found = _recording(array_table(arrays, name), columns, name, time, repairs)
    _warn(found)
    return recording


def read_recordings(
    paths: str | Path | Iterable[str | Path],
    columns: Mapping[str, ColumnLike] | None = None,
    **options: Any,
) -> list[Recording]:
    """Read several logs with one mapping. Each path may be a pattern such as `logs/*.csv`.

    options: as `read_recording`, but for `name`. Files of a pattern come in alphabetical order,
    and a file that was named twice comes once.

    Raises: LogError as `read_recording`, and for a pattern that matches no file.
    """
    found: dict[Path, None] = {}
    for given in [paths] if isinstance(paths, str | Path) else list(paths):
        matches = [given] if Path(given).exists() else sorted(glob.glob(str(given), recursive=True))
        if not matches:
            raise LogError(f"{given}: no file matches (looked from {Path.cwd()}).")
        found.update(dict.fromkeys(Path(match) for match in matches))
    if not found:
        raise LogError("no log was named; give at least one path or pattern.")
    stems = [path.stem for path in found]
    unique = len(set(stems)) == len(stems)
    return [
        read_recording(path, columns, name=path.stem if unique else str(path), **options)
        for path in found
    ]


def _recording(
    table: Table,
    columns: Mapping[str, ColumnLike] | None,
    name: str,
    time: ColumnLike | float | None,
    repairs: Repairs,
) -> tuple[Recording, list[str]]:
    """The recording, and what looks wrong in it, which is in its notes too."""
    if columns is not None and not isinstance(columns, Mapping):
        raise LogError(
            f"{table.source}: `columns` maps channels to columns, for example "
            f"{example_mapping(table)}; {columns!r} does not."
        )
    wanted = {} if columns is None else dict(columns)
    in_mapping = wanted.pop("time", None)
    if in_mapping is not None and time is not None and in_mapping != time:
        raise LogError(f"{table.source}: two clocks, columns['time'] and time={time!r}; give one.")
    plan = from_header(table) if columns is None else mapped(wanted, table)
    if not plan:
        raise LogError(
            f"{table.source}: no column was mapped to a channel. Columns: "
            f"{', '.join(table.names)}. Pass a mapping, for example {example_mapping(table)}."
        )
    clocks = _clocks(plan, time if in_mapping is None else in_mapping, table)
    used = {c for wanted in plan.values() for c in wanted.columns}
    used |= {c for clock in clocks.values() if isinstance(clock, ColumnSpec) for c in clock.columns}
    cells = table.load([name for name in table.names if name in used])
    cleaned = [
        samples(channel, wanted, clocks[channel], table, cells, repairs)
        for channel, wanted in plan.items()
    ]
    notes = left_out(table, used) + mixed_rates(cleaned)
    even = sorted({clock for clock in clocks.values() if not isinstance(clock, ColumnSpec)})
    notes += [f"no clock in the log: samples taken as {dt:g} s apart" for dt in even]
    found = suspicions(cleaned)
    channels = {s.channel: _channel(s) for s in cleaned}
    return Recording(channels, name, (*notes, *found)), found


def _warn(found: Sequence[str]) -> None:
    for message in found:
        warnings.warn(message, GraftsimWarning, stacklevel=3)


def _clocks(
    plan: Mapping[str, ColumnSpec], given: ColumnLike | float | None, table: Table
) -> dict[str, ColumnSpec | float]:
    """The clock of each channel: its own, else the recording's."""
    shared: ColumnSpec | float | None = None
    clocks = {}
    for channel, wanted in plan.items():
        if wanted.time is not None:
            clocks[channel] = clock_spec(wanted.time, table)
            continue
        if shared is None:
            shared = _interval(given, table) if _is_interval(given) else clock_spec(given, table)  # type: ignore[arg-type]
        clocks[channel] = shared
    return clocks


def _is_interval(given: object) -> bool:
    return isinstance(given, int | float)


def _interval(given: float, table: Table) -> float:
    if isinstance(given, bool) or not 0 < given < float("inf"):
        raise LogError(f"{table.source}: time={given!r}: a sample interval in s must be positive.")
    return float(given)


def _channel(s: Samples) -> Channel:
    symbols = list(dict.fromkeys(s.units))
    return Channel(
        s.channel, s.time, s.values, ", ".join(symbols), s.table.source, s.spec.columns, s.notes
    )
