"""From what a user wrote, or nothing, to the columns and the clock of each channel of a table."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graftsim.errors import LogError
from graftsim.io.logs.columns import (
    ColumnLike,
    ColumnSpec,
    clock_spec,
    example_mapping,
    from_header,
    mapped,
)
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.patterns import spelt_out
from graftsim.io.logs.presets import PRESETS, Guess, Preset
from graftsim.io.logs.tables import Clock, Table


@dataclass(frozen=True)
class Plan:
    """Columns of each channel, and what was assumed. start: parameters that the log states."""

    columns: Mapping[str, ColumnSpec]
    notes: tuple[str, ...] = ()
    guesses: tuple[Guess, ...] = ()
    start: Mapping[str, float] = dataclasses.field(default_factory=dict)


def plan_of(
    table: Table, wanted: Mapping[str, ColumnLike], robot: RobotNames | None = None
) -> Plan:
    """What a mapping says; without one, what the header says; else what a preset recognises.

    Raises: LogError for a mapping that is wrong, or when nothing is a channel.
    """
    if wanted:
        return Plan(mapped(spelt_out(wanted, table, robot), table))
    if plain := from_header(table):
        return Plan(plain)
    found = recognised(table, robot, PRESETS)
    if not found.columns:
        said = "".join(f" {note}." for note in found.notes)
        raise LogError(
            f"{table.source}: no column was mapped to a channel. Columns: "
            f"{_some(table.names)}.{said} Pass a mapping, for example {example_mapping(table)}."
        )
    return found


def parts_of(
    wanted: Mapping[str, ColumnLike], tables: Sequence[Table], robot: RobotNames | None
) -> list[dict[str, ColumnLike]]:
    """Of a mapping, what each table has the columns for; the clock goes to all.

    Raises: LogError for a channel that no table has.
    """
    found: list[dict[str, ColumnLike]] = [{} for _ in tables]
    for channel, given in wanted.items():
        error: LogError | None = None
        for table, part in zip(tables, found, strict=True):
            try:
                if channel != "time":
                    mapped(spelt_out({channel: given}, table, robot), table)
            except LogError as missing:
                error = error or missing
            else:
                part[channel] = given
        if error is not None and not any(channel in part for part in found):
            raise error
    return found


def recognised(table: Table, robot: RobotNames | None, presets: tuple[Preset, ...]) -> Plan:
    """What presets propose together; of two guesses for one channel the first counts."""
    chosen: dict[str, Guess] = {}
    notes: list[str] = []
    start: dict[str, float] = {}
    for preset in presets:
        proposal = preset.propose(table, robot)
        if proposal is None:
            continue
        new = {}
        for guess in proposal.guesses:
            if guess.channel in chosen or guess.channel in new:
                other = new.get(guess.channel) or chosen[guess.channel]
                notes.append(
                    f"{guess.channel} is taken from {other.spec.columns[0]!r}, not from "
                    f"{guess.spec.columns[0]!r}"
                )
            else:
                new[guess.channel] = guess
        chosen |= new
        if new:
            columns = dict.fromkeys(g.spec.columns[0].partition("[")[0] for g in new.values())
            notes.append(f"read as {preset.name}: {len(new)} channels ({_some(tuple(columns), 8)})")
        notes += proposal.notes
        start = dict(proposal.start or {}) | start
    return Plan({c: g.spec for c, g in chosen.items()}, tuple(notes), tuple(chosen.values()), start)


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


def _some(names: tuple[str, ...], most: int = 60) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
