"""Read recordings from log files and arrays, and write them.

A log is believed only as far as it can be checked: what is impossible is an error, what is
unlikely a warning, what was repaired or left out a note; each names file, row and column.
"""

from __future__ import annotations

import glob
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from graftsim.errors import LogError, SuspiciousLogWarning
from graftsim.io.logs.checks import mixed_rates, suspicions
from graftsim.io.logs.clean import Repairs, Samples, samples
from graftsim.io.logs.clocks import timings
from graftsim.io.logs.columns import ColumnLike, ColumnSpec, example_mapping, left_out
from graftsim.io.logs.epochs import since_epoch
from graftsim.io.logs.format import LogFormat
from graftsim.io.logs.formats import LOG_FORMATS, open_table, open_tables
from graftsim.io.logs.mapping import parts_of, plan_of
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.tables import Table, array_table
from graftsim.io.logs.write import write_csv
from graftsim.recordings.recording import Channel, Recording

if TYPE_CHECKING:
    from graftsim.model.model import Model

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
    formats: Sequence[LogFormat] = LOG_FORMATS,
    robot: Model | None = None,
) -> Recording:
    """Read a log of one run: a file, or the folder of a bag or a data set, of any of `formats`.

    columns: channel name -> column, list of columns, `ColumnSpec`, or a table of its fields; the
        key "time" names the clock. Channel names are `joint.q[NAME]`, `joint.qd[NAME]`,
        `joint.tau[NAME]`, `control[NAME]`, `link.pose[NAME]` (x y z qw qx qy qz),
        `link.position[NAME]`, `link.heading[NAME]`, `link.angular_velocity[NAME]`,
        `link.linear_acceleration[NAME]`, `link.force[NAME]`, `signal[NAME]` for anything else.
        Blanks in braces, `{"joint.q[joint{n}]": "q_{n}"}`, stand for all that fits. None takes
        the columns whose header is such a name, else what a preset recognises (JointState, ...).
    time: the clock's column, or a number: the constant sample interval in s; of messages
        "header.stamp" or "log_time". By default what the format has, or the column named time, t
        or timestamp.
    missing: "error", or "gap" to leave out samples without a finite number.
    duplicates: of time stamps: "error", "keep_first" or "average".
    sort: sort by time, where rows were written out of order.
    formats: what is read; a user's own format is a `LogFormat` put beside `LOG_FORMATS`.
    robot: whose joints and actuators a log without channel names is about.

    Columns of a 2-D array `a` in an NPZ file are `a[0]`, `a[1]`, ...; `a` means all of them.

    Returns: channels in SI units. What was left out, repaired or looks wrong is in its notes.

    Raises: LogError, naming file, row and column. Warns: SuspiciousLogWarning.
    """
    return read_table(
        open_table(path, formats),
        columns,
        Path(path).stem if name is None else name,
        time=time,
        missing=missing,
        duplicates=duplicates,
        sort=sort,
        names=robot and RobotNames.of(robot),
    )


def recording_from_arrays(
    arrays: Mapping[str, ArrayLike],
    columns: Mapping[str, ColumnLike] | None = None,
    *,
    name: str = "arrays",
    time: ColumnLike | float | None = None,
    missing: str = "error",
    duplicates: str = "error",
    sort: bool = False,
    robot: Model | None = None,
) -> Recording:
    """The same for arrays by name, [n] or [n, d]; arguments as `read_recording`.

    Arrays of different lengths are fine where each channel's clock has its length.

    Raises: LogError, naming array and row (counted from 0). Warns: SuspiciousLogWarning.
    """
    return read_table(
        array_table(arrays, name),
        columns,
        name,
        time=time,
        missing=missing,
        duplicates=duplicates,
        sort=sort,
        names=robot and RobotNames.of(robot),
    )


def read_recordings(
    paths: str | Path | Iterable[str | Path],
    columns: Mapping[str, ColumnLike] | None = None,
    *,
    parts: bool = False,
    formats: Sequence[LogFormat] = LOG_FORMATS,
    **options: Any,
) -> list[Recording]:
    """Read several logs with one mapping. Each path may be a pattern such as `logs/*.csv`.

    parts: a log may lack columns of the mapping that another has, as where commands are in one
        file and measurements in another (`merge_recordings`).
    options: as `read_recording`, but for `name`.

    Files of a pattern come in alphabetical order, and a file that was named twice comes once. Of a
    data set each episode is a recording.

    Raises: LogError as `read_recording`, and for a pattern that matches no file.
    """
    found: dict[Path, None] = {}
    for given in [paths] if isinstance(paths, str | Path) else list(paths):
        matches = [given] if _is_there(given) else sorted(glob.glob(str(given), recursive=True))
        if not matches:
            raise LogError(f"{given}: no file matches (looked from {Path.cwd()}).")
        found.update(dict.fromkeys(Path(match) for match in matches))
    if not found:
        raise LogError("no log was named; give at least one path or pattern.")
    stems = [path.stem for path in found]
    unique = len(set(stems)) == len(stems)
    named: list[tuple[str, Table]] = []
    for path in found:
        name = path.stem if unique else str(path)
        tables = open_tables(path, formats)
        named += [(f"{name}#{t.run}" if len(tables) > 1 else name, t) for t in tables]
    robot = options.pop("robot", None)
    names = robot and RobotNames.of(robot)
    mappings: Sequence[Mapping[str, ColumnLike] | None] = [columns] * len(named)
    if parts and columns and len(named) > 1:
        mappings = parts_of(columns, [table for _, table in named], names)
    return [
        read_table(table, mapping, name, names=names, **options)
        for (name, table), mapping in zip(named, mappings, strict=True)
    ]


def _is_there(given: str | Path) -> bool:
    """Whether a path, or that of a data set before `#run`, exists."""
    data_set = str(given).rpartition("#")[0]
    return Path(given).exists() or (bool(data_set) and Path(data_set).exists())


def read_table(
    table: Table,
    columns: Mapping[str, ColumnLike] | None,
    name: str,
    *,
    time: ColumnLike | float | None = None,
    missing: str = "error",
    duplicates: str = "error",
    sort: bool = False,
    names: RobotNames | None = None,
) -> Recording:
    """A recording of a table; arguments, errors and warnings as `read_recording`."""
    repairs = Repairs(missing, duplicates, sort)
    recording, found = _recording(table, columns, name, time, repairs, names)
    for message in found:
        warnings.warn(message, SuspiciousLogWarning, stacklevel=3)
    return recording


def _recording(
    table: Table,
    columns: Mapping[str, ColumnLike] | None,
    name: str,
    time: ColumnLike | float | None,
    repairs: Repairs,
    robot: RobotNames | None = None,
) -> tuple[Recording, list[str]]:
    """The recording, and what looks wrong in it, which is in its notes too."""
    wanted, time = _wanted(table, columns, time)
    plan = plan_of(table, wanted, robot)
    timing = timings(plan.columns, time, table, repairs.sort)
    clocks = {channel: found.clock for channel, found in timing.items()}
    used = {c for spec in plan.columns.values() for c in spec.columns}
    used |= {c for clock in clocks.values() if isinstance(clock, ColumnSpec) for c in clock.columns}
    cells = table.load([name for name in table.names if name in used])
    cleaned = [
        samples(channel, spec, clocks[channel], table, cells, repairs)
        for channel, spec in plan.columns.items()
    ]
    cleaned, epoch, more = since_epoch(cleaned, table.epoch)
    notes = [*table.notes, *plan.notes, *left_out(table, used), *mixed_rates(cleaned), *more]
    even = sorted({clock for clock in clocks.values() if not isinstance(clock, ColumnSpec)})
    if table.interval is None or even != [table.interval]:
        notes += [f"no clock in the log: samples taken as {dt:g} s apart" for dt in even]
    doubts = [doubt for found in timing.values() for doubt in found.doubts]
    found = [*table.warnings, *dict.fromkeys(doubts), *suspicions(cleaned)]
    channels = {s.channel: _channel(s) for s in cleaned}
    return Recording(channels, name, (*notes, *found), epoch), found


def _wanted(
    table: Table, columns: Mapping[str, ColumnLike] | None, time: ColumnLike | float | None
) -> tuple[dict[str, ColumnLike], ColumnLike | float | None]:
    """Channels and clock that a user asks for; the key "time" of `columns` is the clock."""
    if columns is not None and not isinstance(columns, Mapping):
        raise LogError(
            f"{table.source}: `columns` maps channels to columns, for example "
            f"{example_mapping(table)}; {columns!r} does not."
        )
    wanted = {} if columns is None else dict(columns)
    in_mapping = wanted.pop("time", None)
    if in_mapping is None:
        return wanted, time
    if time is not None and in_mapping != time:
        raise LogError(f"{table.source}: two clocks, columns['time'] and time={time!r}; give one.")
    return wanted, in_mapping


def _channel(s: Samples) -> Channel:
    symbols = list(dict.fromkeys(s.units))
    return Channel(
        s.channel, s.time, s.values, ", ".join(symbols), s.table.source, s.spec.columns, s.notes
    )
