"""What a log probably says: channels, clock and repairs, each with its reason."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from graftsim.errors import GraftsimWarning, LogError
from graftsim.io.logs.clocks import timings
from graftsim.io.logs.columns import ColumnSpec, clock_in_header, clock_spec, from_header
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets import PRESETS, Guess
from graftsim.io.logs.presets.plain_columns import PlainColumns
from graftsim.io.logs.recognise import Plan, recognised
from graftsim.io.logs.tables import Table

REPAIRS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    ("missing='gap'", {"missing": "gap"}),
    ("duplicates='keep_first'", {"duplicates": "keep_first"}),
    ("sort=True", {"sort": True}),
)
"""What an error's text asks for, and the options that give it."""


@dataclass(frozen=True)
class LogGuess:
    """Channels with reasons; the clock, if it must be named; repairs, by option, with reasons.

    clocks: columns that are clocks, of the reader's own choice or not.
    header: whether the columns are called as channels and need no mapping. doubts: warnings of the
    reading with all this; fault: why it still cannot be read. start: parameters the log states.
    """

    guesses: tuple[Guess, ...] = ()
    header: bool = False
    clock: tuple[str, str] | None = None
    clocks: tuple[str, ...] = ()
    repairs: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    fault: str = ""
    start: Mapping[str, float] = field(default_factory=dict)


def guess_log(table: Table, robot: RobotNames | None) -> LogGuess:
    """Guess all that a run file can say of a log, and read it that way to see what comes of it.

    Raises: LogError when no column can be guessed.
    """
    plain = from_header(table)
    plan = Plan(plain) if plain else recognised(table, robot, PRESETS)
    if not plan.columns:
        plan = recognised(table, robot, (PlainColumns(),))
    if not plan.columns:
        raise LogError(
            f"{table.source}: nothing can be guessed from the names of its columns: "
            f"{', '.join(table.names[:40])}. {' '.join(f'{note}.' for note in plan.notes)}"
        )
    clock = _clock(table, plan)
    columns: dict[str, Any] = dict(plan.columns)
    if clock is not None:
        columns["time"] = clock[0]
    repairs, doubts, fault = _tried(table, columns, robot)
    return LogGuess(
        plan.guesses,
        bool(plain),
        clock,
        _clocks(table, plan, clock),
        repairs,
        plan.notes,
        doubts,
        fault,
        plan.start,
    )


def _clocks(table: Table, plan: Plan, clock: tuple[str, str] | None) -> tuple[str, ...]:
    """Columns that are clocks of the channels; none where there is no clock."""
    try:
        found = timings(plan.columns, clock and clock[0], table, unordered=True)
    except LogError:
        return ()
    specs = [timing.clock for timing in found.values()]
    return tuple(dict.fromkeys(s.columns[0] for s in specs if isinstance(s, ColumnSpec)))


def with_log(have: LogGuess, first: Table, table: Table, robot: RobotNames | None) -> LogGuess:
    """A guess that also holds for another log: its own channels, if its columns are others; its
    repairs, doubts and fault in any case.

    Raises: LogError when nothing of it can be guessed.
    """
    same = set(table.names) == set(first.names)
    new = guess_log(table, robot)
    taken = {guess.channel for guess in have.guesses}
    more = () if same else tuple(g for g in new.guesses if g.channel not in taken)
    notes = () if same else new.notes
    return replace(
        have,
        guesses=(*have.guesses, *more),
        header=have.header and new.header,
        clock=have.clock or new.clock,
        clocks=tuple(dict.fromkeys((*have.clocks, *new.clocks))),
        repairs={**new.repairs, **have.repairs},
        notes=tuple(dict.fromkeys((*have.notes, *notes))),
        doubts=tuple(dict.fromkeys((*have.doubts, *new.doubts))),
        fault=have.fault or new.fault,
        start={**new.start, **have.start},
    )


def _clock(table: Table, plan: Plan) -> tuple[str, str] | None:
    """A column that is the clock, and why, where reading would not find it by itself."""
    known = {column for clocks in table.clocks.values() for column in clocks}
    used = {spec.columns[0] for spec in plan.columns.values()}
    if used <= known or table.interval is not None:
        return None
    try:
        clock_spec(None, table)
    except LogError:
        pass
    else:
        return None
    named = [n for n in table.names if clock_in_header(n)]
    likely = named or [
        n
        for n in table.names
        if n not in used and re.search(r"time|stamp|clock|second|\bsec\b|\bt\b", n, re.IGNORECASE)
    ]
    cells = table.load(likely)
    for name in likely:
        values = cells[name].values
        steps = np.diff(values)
        if len(steps) and np.isfinite(values).all() and (steps >= 0).all() and steps.any():
            which = "the first" if len(likely) > 1 else "the only one"
            return name, f"never decreases, {which} of {', '.join(likely[:5])}"
    return None


def _tried(
    table: Table, columns: Mapping[str, Any], robot: RobotNames | None
) -> tuple[dict[str, tuple[Any, str]], tuple[str, ...], str]:
    """Repairs without which it cannot be read, with the error of each; warnings; what remains."""
    from graftsim.io.logs.read import read_table

    repairs: dict[str, tuple[Any, str]] = {}
    fault = ""
    for _ in range(len(REPAIRS) + 1):
        options = {name: value for name, (value, _) in repairs.items()}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", GraftsimWarning)
            try:
                read_table(table, columns, "log", names=robot, **options)
            except LogError as error:
                fault = str(error)
            else:
                return repairs, tuple(str(w.message) for w in caught), ""
        new = _repair(fault, repairs)
        if not new:
            break
        repairs |= {name: (value, fault) for name, value in new.items()}
    return repairs, (), fault


def _repair(fault: str, have: Sequence[str] | Mapping[str, Any]) -> Mapping[str, Any]:
    for asked, options in REPAIRS:
        if asked in fault and not set(options) & set(have):
            return options
    return {}
