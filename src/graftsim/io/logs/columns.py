"""Which columns of a log make which channel, in what units: the user's mapping, made definite."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from graftsim.errors import LogError, suggest
from graftsim.io.logs.tables import Table, folded
from graftsim.recordings.channels import (
    parse_name,
    part_names,
    quantities,
    spelling,
    split_name,
)


@dataclass(frozen=True)
class ColumnSpec:
    """Columns of a log and what their numbers mean.

    columns: names in the file; one string is one column, or a whole 2-D array of that name.
    unit: of the columns, one for all or one each; None is SI. `(scale * cell + offset)` is in
        that unit. Stating the unit also switches the guesses about wrong units off.
    unwrap: angles jump by full turns; join them.
    time: clock of this channel, where it differs from the recording's.

    Raises: LogError for no column or as many units, scales or offsets as do not fit.
    """

    columns: tuple[str, ...]
    unit: str | tuple[str, ...] | None = None
    scale: float | tuple[float, ...] = 1.0
    offset: float | tuple[float, ...] = 0.0
    unwrap: bool = False
    time: str | ColumnSpec | None = None

    def __post_init__(self) -> None:
        given = self.columns
        columns = tuple(given) if isinstance(given, list | tuple) else (given,)
        if not columns or not all(isinstance(c, str) and c for c in columns):
            raise LogError(f"column specification {given!r}: give the name of a column, or names.")
        object.__setattr__(self, "columns", columns)
        for name, kind in (("unit", str | None), ("scale", int | float), ("offset", int | float)):
            value = getattr(self, name)
            for one in value if isinstance(value, list | tuple) else (value,):
                if not isinstance(one, kind) or isinstance(one, bool):
                    raise LogError(
                        f"column specification of {', '.join(columns)}: {name}={one!r} is not "
                        f"{'a unit such as' if name == 'unit' else 'a number such as'} "
                        f"{'deg' if name == 'unit' else '2.0'}."
                    )
            if isinstance(value, list):
                object.__setattr__(self, name, tuple(value))
        if isinstance(self.time, Mapping):
            object.__setattr__(self, "time", spec(self.time))

    def each(self, field: str, width: int) -> tuple[Any, ...]:
        """`unit`, `scale` or `offset` spelt out for each of `width` columns.

        Raises: LogError when another number of them was given.
        """
        value = getattr(self, field)
        if not isinstance(value, tuple):
            return (value,) * width
        if len(value) != width:
            raise LogError(
                f"column specification of {', '.join(self.columns)}: {len(value)} values of "
                f"`{field}` for {width} columns; give one for all or one each."
            )
        return value


ColumnLike: TypeAlias = str | Sequence[str] | ColumnSpec | Mapping[str, Any]
_FIELDS = tuple(f.name for f in dataclasses.fields(ColumnSpec))
_CLOCK = re.compile(r"(?:time|timestamp|t)(?:_(?P<unit>s|ms|us|ns))?", re.IGNORECASE)
_HEADER_UNIT = re.compile(r"(?P<name>.*\S)\s*\((?P<unit>[^()]*)\)")
_CLOCK_UNIT = re.compile(r"(?P<name>.*\S)\s*[(\[](?P<unit>[^()\[\]]*)[)\]]")
_HEADER_PART = re.compile(r"(?P<channel>[a-z_.]+\[.+\])\.(?P<part>\w+)", re.DOTALL)


def spec(value: ColumnLike) -> ColumnSpec:
    """A `ColumnSpec` from what a user wrote: a name, names, or a table as TOML gives it.

    Raises: LogError for an unknown key of the table, or one without `column`.
    """
    if isinstance(value, ColumnSpec):
        return value
    if not isinstance(value, Mapping):
        return ColumnSpec(value)  # type: ignore[arg-type]
    given = dict(value)
    if "column" in given and "columns" in given:
        raise LogError(f"column specification {given!r}: give `column` or `columns`, not both.")
    if "column" in given:
        given["columns"] = given.pop("column")
    for key in given:
        if key not in _FIELDS:
            raise LogError(
                f"column specification {dict(value)!r}: unknown key {key!r}. "
                f"{suggest(key, ('column', *_FIELDS))}"
            )
    if "columns" not in given:
        raise LogError(f"column specification {dict(value)!r}: `column` is missing.")
    return ColumnSpec(**given)


def clock_spec(given: ColumnLike | None, table: Table) -> ColumnSpec:
    """The column that holds the time: the one given, else the one named time, t or timestamp.

    A suffix `_s`, `_ms`, `_us`, `_ns` or a unit in parentheses or brackets states its unit.

    Raises: LogError when there is none, or more than one to choose from.
    """
    if given is not None:
        clock = spec(given)
        columns = [c for name in clock.columns for c in table.expand(name)]
        if len(columns) != 1:
            raise LogError(
                f"{table.at(None, *columns)}: a clock is one column, not {len(columns)}."
            )
        found = clock_in_header(columns[0])
        unit = clock.unit if clock.unit is not None or found is None else found.unit
        return dataclasses.replace(clock, columns=(columns[0],), unit=unit)
    found = [clock for name in table.names if (clock := clock_in_header(name))]
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(clock.columns[0] for clock in found)
        raise LogError(f"{table.source}: which column is the clock, {names}? Pass time='...'.")
    raise LogError(
        f"{table.source}: no column named time, timestamp or t (or time_ms, time_us, "
        f"time_ns). Pass time='COLUMN', or time=0.01 for samples 10 ms apart. Columns: "
        f"{', '.join(table.names)}."
    )


def clock_in_header(name: str) -> ColumnSpec | None:
    """The clock that a column is by its name, with the unit that this states; None: it is none."""
    with_unit = _CLOCK_UNIT.fullmatch(name)
    bare, unit = (with_unit["name"], with_unit["unit"]) if with_unit else (name, None)
    match = _CLOCK.fullmatch(bare)
    return ColumnSpec((name,), unit=unit or match["unit"]) if match else None


def mapped(columns: Mapping[str, ColumnLike], table: Table) -> dict[str, ColumnSpec]:
    """The user's mapping with channel names checked and 2-D arrays spelt out as columns.

    Raises: LogError for a channel name outside the vocabulary or a column that is not there.
    """
    plan = {}
    for channel, given in columns.items():
        try:
            name = str(parse_name(channel))
            wanted = spec(given)
        except LogError as error:
            raise LogError(f"{table.source}: in `columns`: {error}") from None
        titles = tuple(c for title in wanted.columns for c in table.expand(title))
        plan[name] = dataclasses.replace(wanted, columns=titles)
    return plan


def from_header(table: Table) -> dict[str, ColumnSpec]:
    """Channels whose names stand in the header: `joint.q[elbow] (deg)`, `link.position[tip].x`.

    Raises: LogError when a channel of several columns lacks one, or its units differ.
    """
    plan = {
        spelling(name): ColumnSpec(cols) for name, cols in table.groups.items() if _is_channel(name)
    }
    parts: dict[str, dict[str, tuple[str, str | None]]] = {}
    for column in table.names:
        with_unit = _HEADER_UNIT.fullmatch(column)
        name, unit = (with_unit["name"], with_unit["unit"]) if with_unit else (column, None)
        name = spelling(name)
        if _is_channel(name):
            if name in plan:
                raise LogError(f"{table.at(None, column)}: there are two columns for {name}.")
            plan[name] = ColumnSpec((column,), unit=unit)
        elif (match := _HEADER_PART.fullmatch(name)) and _is_channel(match["channel"]):
            parts.setdefault(spelling(match["channel"]), {})[match["part"]] = (column, unit)
    for channel, found in parts.items():
        if channel in plan:
            raise LogError(f"{table.source}: {channel} is there both whole and in parts.")
        for width in (len(found), 3, 7):
            order = part_names(channel, width)
            if set(order) == set(found):
                break
        else:
            raise LogError(
                f"{table.at(None, *(c for c, _ in found.values()))}: the parts of {channel} are "
                f"not complete; expected {', '.join(part_names(channel, 3))}"
                f"{' or qw, qx, qy, qz too' if 'pose' in channel else ''}."
            )
        units = tuple(found[part][1] for part in order)
        stated = {unit for unit in units if unit is not None}
        if len(stated) > 1 and None in units:
            raise LogError(f"{table.source}: {channel}: state the unit of all parts or of none.")
        unit = None if not stated else stated.pop() if len(stated) == 1 else units
        plan[channel] = ColumnSpec(tuple(found[p][0] for p in order), unit=unit)  # type: ignore[arg-type]
    return plan


def _is_channel(name: str) -> bool:
    parsed = split_name(name)
    return parsed is not None and parsed.quantity in quantities()


def left_out(table: Table, used: Iterable[str]) -> list[str]:
    """Notes that name every column not read."""
    taken = set(used)
    rest = [name for name in table.names if name not in taken]
    notes = [f"columns not read: {', '.join(folded(rest))}"] if rest else []
    typed = [n for n in rest if (parsed := split_name(n)) and "." in parsed.quantity]
    notes += [
        f"column {n!r} looks like a channel but its quantity is not one of "
        f"{', '.join(quantities())}"
        for n in typed
        if not _is_channel(n)
    ]
    if table.skipped:
        notes.append(f"not columns of numbers, not read: {', '.join(table.skipped)}")
    return notes


def example_mapping(table: Table) -> str:
    """A mapping a user can copy and edit, made from the columns that are there."""
    others = [name for name in table.names if clock_in_header(name) is None] or ["position"]
    return f"columns={{'joint.q[elbow]': {others[0]!r}}}"
