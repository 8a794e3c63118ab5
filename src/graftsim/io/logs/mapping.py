"""From what a user wrote, or nothing, to the columns of each channel of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from graftsim.errors import LogError
from graftsim.io.logs.columns import ColumnLike, example_mapping, from_header, mapped
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.patterns import spelt_out
from graftsim.io.logs.presets import PRESETS
from graftsim.io.logs.recognise import Plan, recognised, some
from graftsim.io.logs.tables import Table


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
            f"{some(table.names)}.{said} Pass a mapping, for example {example_mapping(table)}."
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
