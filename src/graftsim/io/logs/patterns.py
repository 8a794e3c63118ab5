"""Patterns in a mapping: `joint.q[joint{n}]` from `q_{n}`, for all n on both sides."""

from __future__ import annotations

import re
from collections.abc import Mapping

from graftsim.errors import LogError, suggest
from graftsim.io.logs.columns import ColumnLike, ColumnSpec, spec
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.tables import Table
from graftsim.recordings.channels import split_name
from graftsim.selectors import row_name

_BLANK = re.compile(r"\{(\w+)\}")


def spelt_out(
    columns: Mapping[str, ColumnLike], table: Table, robot: RobotNames | None = None
) -> dict[str, ColumnLike]:
    """A mapping with its patterns replaced by what they stand for in a table.

    A channel with `{n}` (any word in braces) stands for each text that may take its place so that
    all its columns, and its own clock, are in the table and its label is one of the robot's, where
    that is known. What is mapped by its own name is left to that.

    Raises: LogError for a pattern that nothing fits, or whose columns lack its blanks.
    """
    plain = {c: given for c, given in columns.items() if not _is_pattern(c, robot)}
    found: dict[str, ColumnLike] = dict(plain)
    for channel, given in columns.items():
        if channel not in plain:
            for name, wanted in _fitting(channel, spec(given), table, robot).items():
                found.setdefault(name, wanted)
    return found


def _is_pattern(channel: str, robot: RobotNames | None) -> bool:
    parsed = split_name(channel)
    label = parsed.label if parsed else channel
    known = robot.labels(parsed.quantity) if robot and parsed else None
    return bool(_BLANK.search(label)) and label not in (known or ())


def _fitting(
    channel: str, wanted: ColumnSpec, table: Table, robot: RobotNames | None
) -> dict[str, ColumnSpec]:
    parsed = split_name(channel)
    blanks = set(_BLANK.findall(channel))
    if parsed is None or set(_BLANK.findall(parsed.quantity)):
        raise LogError(f"{table.source}: in `columns`: {channel!r} is not a pattern of a channel.")
    first = wanted.columns[0]
    if set(_BLANK.findall(first)) != blanks:
        raise LogError(
            f"{table.source}: in `columns`: {channel!r} and {first!r} do not have the same blanks "
            f"in braces ({', '.join(sorted(blanks))})."
        )
    shape = re.compile(_shape(first), re.DOTALL)
    known = robot.labels(parsed.quantity) if robot else None
    everything = (*table.groups, *table.names)
    found, elsewhere = {}, []
    for name in everything:
        match = shape.fullmatch(name)
        if match is None:
            continue
        titles = tuple(_filled(title, match) for title in wanted.columns)
        if any(title not in everything for title in titles):
            continue
        label = _filled(parsed.label, match)
        if known is not None and label not in known:
            elsewhere.append(label)
            continue
        time = _filled(wanted.time, match) if isinstance(wanted.time, str) else wanted.time
        channel_name = row_name(parsed.quantity, label)
        found.setdefault(channel_name, _with(wanted, titles, time))
    if not found:
        near = suggest(first, everything, 40)
        if elsewhere:
            near = (
                f"It would be for {', '.join(elsewhere[:6])}, which the robot does not have. "
                f"{suggest(elsewhere[0], known or (), 40)}"
            )
        raise LogError(
            f"{table.source}: in `columns`: {channel!r} = {first!r} fits nothing. {near}"
        )
    return found


def _with(wanted: ColumnSpec, titles: tuple[str, ...], time: str | ColumnSpec | None) -> ColumnSpec:
    return ColumnSpec(titles, wanted.unit, wanted.scale, wanted.offset, wanted.unwrap, time)


def _shape(pattern: str) -> str:
    """A regular expression of what a pattern fits; a blank that comes again is the same again."""
    seen: set[str] = set()

    def blank(match: re.Match[str]) -> str:
        name = match[1]
        again, _ = name in seen, seen.add(name)
        return f"(?P=b_{name})" if again else rf"(?P<b_{name}>.+?)"

    pieces = re.split(r"(\{\w+\})", pattern)
    return "".join(
        _BLANK.sub(blank, piece) if _BLANK.fullmatch(piece) else re.escape(piece)
        for piece in pieces
    )


def _filled(pattern: str, match: re.Match[str]) -> str:
    return _BLANK.sub(lambda blank: match[f"b_{blank[1]}"], pattern)
