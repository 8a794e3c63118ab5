"""Messages by topic made into columns: `/joint_states.position[elbow]`, each with its clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graftsim.errors import LogError
from graftsim.io.logs.flatten import column_names, flattened
from graftsim.io.logs.stamps import LOGGED, STAMP, log_clock, repeats, stamp_clock
from graftsim.io.logs.tables import Cells, Clock, Table

FAR = 10**17
"""ns (3 years) between clocks of other beginnings."""

SECOND = 10**9
_EPOCH = 10**9 * SECOND


@dataclass
class Topic:
    """Messages of one topic, as they come."""

    name: str
    logged: list[int] = field(default_factory=list)
    stamps: list[int | None] = field(default_factory=list)
    rows: dict[Any, tuple[list[int], list[NDArray[np.float64]]]] = field(default_factory=dict)

    def add(self, message: Any, logged: int) -> None:
        """One more message, logged at a time in ns."""
        shape, numbers, stamp = flattened(message)
        index, values = self.rows.setdefault(shape, ([], []))
        index.append(len(self.logged))
        values.append(numbers)
        self.logged.append(logged)
        self.stamps.append(stamp)


@dataclass
class Columns:
    """Columns of a table in the making."""

    values: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    rows: dict[str, NDArray[np.int64]] = field(default_factory=dict)
    groups: dict[str, list[str]] = field(default_factory=dict)
    clocks: dict[str, dict[str, Clock]] = field(default_factory=lambda: {STAMP: {}, LOGGED: {}})


def topics_table(
    topics: Iterable[Topic], source: str, skipped: Iterable[str] = (), notes: Iterable[str] = ()
) -> Table:
    """A table of topics. Their clocks are in s from a whole second near the start of the log.

    Raises: LogError when no message has a number in it.
    """
    topics = [topic for topic in topics if topic.logged]
    stamps = [s for topic in topics for s in topic.stamps if s]
    logged = [t for topic in topics for t in topic.logged]
    epoch = _whole_second(stamps or logged)
    # Simulated time begins at 0 while the recorder's is that of day.
    own = _whole_second(logged) if abs(min(logged, default=0) - epoch) > FAR else epoch
    found = Columns()
    for topic in topics:
        _add_topic(topic, found, epoch, own)
    if not found.values:
        raise LogError(f"{source}: there is no message with numbers in it.")

    def load(names: Iterable[str]) -> dict[str, Cells]:
        return {name: Cells(found.values[name], found.rows[name]) for name in names}

    notes = list(notes)
    if own != epoch:
        notes.append("header.stamp and log_time count from different moments")
    return Table(
        source,
        tuple(found.values),
        load,
        {name: tuple(columns) for name, columns in found.groups.items()},
        tuple(skipped),
        " (messages counted from 0)",
        found.clocks,
        epoch=epoch / SECOND,
        notes=tuple(notes),
    )


def _whole_second(times: list[int]) -> int:
    start = min(times, default=0)
    return start // SECOND * SECOND if start > _EPOCH else 0


def _add_topic(topic: Topic, found: Columns, epoch: int, own: int) -> None:
    count = len(topic.logged)
    logged = np.array(topic.logged, dtype=np.int64)
    stamped = all(stamp is not None for stamp in topic.stamps)
    stamps = np.array([s or 0 for s in topic.stamps], dtype=np.int64)
    pieces: dict[str, list[tuple[int, NDArray[np.int64], NDArray[np.float64]]]] = {}
    same = np.zeros(max(count - 1, 0), dtype=bool)
    for k, (shape, (index, values)) in enumerate(topic.rows.items()):
        rows, table = np.array(index, dtype=np.int64), np.stack(values)
        for column, name in enumerate(column_names(shape)):
            pieces.setdefault(name, []).append((k, rows, table[:, column]))
        following = (np.diff(rows) == 1) & (np.diff(table, axis=0) == 0).all(axis=1)
        if table.shape[1]:
            same[rows[1:][following] - 1] = True
        for path, length, _ in shape:
            if length > 1:
                group = column_names([s for s in shape if s[0] == path])
                found.groups.setdefault(f"{topic.name}.{path}", [])
                known = found.groups[f"{topic.name}.{path}"]
                known += [f"{topic.name}.{n}" for n in group if f"{topic.name}.{n}" not in known]
    doubts = tuple(repeats(topic.name, same))
    clocks: dict[tuple[int, ...], dict[str, Clock]] = {}
    for name, parts in pieces.items():
        rows = np.concatenate([rows for _, rows, _ in parts])
        order = np.argsort(rows, kind="stable")
        rows = rows[order]
        column = f"{topic.name}.{name}"
        found.values[column] = np.concatenate([v for _, _, v in parts])[order]
        found.rows[column] = rows
        key = tuple(k for k, _, _ in parts)
        if key not in clocks:
            suffix = "" if len(rows) == count else f"@{name}"
            clocks[key] = _clocks(
                topic.name, suffix, rows, stamps[rows], logged[rows], stamped, (epoch, own), found
            )
        for kind, clock in clocks[key].items():
            found.clocks[kind][column] = replace(clock, doubts=clock.doubts + doubts)


def _clocks(
    topic: str,
    suffix: str,
    rows: NDArray[np.int64],
    stamps: NDArray[np.int64],
    logged: NDArray[np.int64],
    stamped: bool,
    epochs: tuple[int, int],
    found: Columns,
) -> dict[str, Clock]:
    """The clocks of messages in which the same columns are, put beside these as columns."""
    column = f"{topic}.{LOGGED}{suffix}"
    found.values[column] = (logged - epochs[1]) / SECOND
    found.rows[column] = rows
    clocks = {LOGGED: log_clock(column, topic, logged, stamped)}
    if stamped:
        column = f"{topic}.{STAMP}{suffix}"
        found.values[column] = (stamps - epochs[0]) / SECOND
        found.rows[column] = rows
        clocks[STAMP] = stamp_clock(column, topic, stamps, logged)
    return clocks
