"""The clock of each channel: a column, of the user's choice or the format's, or an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from graftsim.errors import LogError
from graftsim.io.logs.columns import ColumnLike, ColumnSpec, clock_spec
from graftsim.io.logs.tables import Clock, Table


@dataclass(frozen=True)
class Timing:
    """The clock of a channel: a column or an interval in s; and doubts about it."""

    clock: ColumnSpec | float
    doubts: tuple[str, ...] = ()


def timings(
    plan: Mapping[str, ColumnSpec],
    given: ColumnLike | float | None,
    table: Table,
    unordered: bool,
) -> dict[str, Timing]:
    """The clock of each channel: its own, else the recording's, else what the format says.

    given: a column, an interval in s, or a kind of clock of the table, such as "log_time".
    unordered: stamps that run backwards are allowed, to be sorted.

    Raises: LogError when there is none, or it cannot be used.
    """
    shared: Timing | None = None
    found = {}
    for channel, wanted in plan.items():
        if wanted.time is not None and not _is_kind(wanted.time, table):
            found[channel] = Timing(clock_spec(wanted.time, table))
            continue
        kind = wanted.time if wanted.time is not None else given
        own = _own(wanted.columns, kind, table)
        if own is not None:
            found[channel] = _used(own, table, unordered)
            continue
        if shared is None:
            shared = Timing(_shared(given, table))
        found[channel] = shared
    return found


def _is_kind(given: object, table: Table) -> bool:
    return isinstance(given, str) and given in table.clocks and given not in table.names


def _own(columns: tuple[str, ...], kind: object, table: Table) -> Clock | None:
    """The clock that the format gives to columns, of the kind asked for or the first there is."""
    if kind is not None and not _is_kind(kind, table):
        return None
    kinds = list(table.clocks) if kind is None else [str(kind)]
    for each in kinds:
        clocks = table.clocks[each]
        if columns[0] in clocks:
            return clocks[columns[0]]
    return None


def _used(clock: Clock, table: Table, unordered: bool) -> Timing:
    if clock.fault and not (unordered and clock.backwards):
        raise LogError(f"{table.at(None, clock.column)}: {clock.fault}")
    return Timing(ColumnSpec((clock.column,), unit=clock.unit), clock.doubts)


def _shared(given: ColumnLike | float | None, table: Table) -> ColumnSpec | float:
    if isinstance(given, int | float):
        if isinstance(given, bool) or not 0 < given < math.inf:
            raise LogError(
                f"{table.source}: time={given!r}: a sample interval in s must be positive."
            )
        return float(given)
    if given is None and table.interval is not None:
        return table.interval
    return clock_spec(given, table)
