"""Recordings of a command: read with the robot's names, merged where files are parts of one run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Console

from graftsim.cli.groups import DataOptions
from graftsim.cli.tables import print_recordings
from graftsim.errors import GraftsimWarning, ProblemError, SuspiciousLogWarning
from graftsim.io.logs.read import read_recordings
from graftsim.model.model import Model
from graftsim.recordings.align import align_clocks
from graftsim.recordings.corrections import Corrections, corrected
from graftsim.recordings.merge import is_part, merge_parts, merge_recordings, moves_only
from graftsim.recordings.recording import Recording

LONGEST = 300
"""Characters of a note on the console; the report has all of it."""


class Reading(NamedTuple):
    """How logs are read: options, corrections, and whether what looks wrong is said ("warn") or
    left to a check that follows ("note").
    """

    data: DataOptions
    corrections: Corrections
    suspicious: str = "warn"


def read_logs(
    paths: Sequence[str],
    columns: Mapping[str, Any] | None,
    how: Reading,
    model: Model,
    console: Console,
    role: str = "",
) -> list[Recording]:
    """Read logs, and say on the console what is in them and what was assumed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraftsimWarning)
        recordings = _merged(_read(paths, columns, how, model), how.data.merge)
        recordings = corrected(recordings, how.corrections)
    if columns:
        _check_whole(recordings)
    if how.suspicious == "note":
        caught = [w for w in caught if not issubclass(w.category, SuspiciousLogWarning)]
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    print_recordings(recordings, console, role)
    said = {str(warning.message) for warning in caught}
    notes = dict.fromkeys(n for r in recordings for n in r.notes if n not in said)
    for note in notes:
        shown = note if len(note) <= LONGEST else f"{note[:LONGEST]} ..."
        console.print(f"note: {shown}", soft_wrap=True)
    return recordings


def _read(
    paths: Sequence[str], columns: Mapping[str, Any] | None, how: Reading, model: Model
) -> list[Recording]:
    """All the logs; with files of one run each may lack some of the columns that are mapped."""
    data = how.data
    return read_recordings(
        paths,
        columns,
        parts=data.merge != "no",
        missing=data.missing,
        duplicates=data.duplicates,
        sort=data.sort,
        robot=model,
    )


def _check_whole(recordings: Sequence[Recording]) -> None:
    """After merging, every recording has what the mapping asks for. Raises ProblemError."""
    every = dict.fromkeys(name for r in recordings for name in r)
    for r in recordings:
        lacking = [name for name in every if name not in r]
        if lacking:
            raise ProblemError(
                f"{r.name} has no column for {', '.join(lacking[:6])}, which other logs have. Map "
                "only what all have, leave this log out, or merge it with the log of the same run "
                "that has them (--merge clock)."
            )


def _merged(recordings: list[Recording], how: str) -> list[Recording]:
    """Recordings after `--merge`. The one with the motion, or the first, has the clock."""
    if how == "no" or (how == "auto" and len(recordings) < 2):
        return recordings
    if how == "auto":
        return merge_parts(recordings)
    if how == "align" and not any(map(is_part, recordings)):
        return [_commands_aligned(r) for r in recordings]
    if len(recordings) < 2:
        raise ProblemError(f"--merge {how} is for two logs or more of one run; there is one.")
    first = next((r for r in recordings if moves_only(r)), recordings[0])
    others = [r for r in recordings if r is not first]
    if how == "align":
        others = [align_clocks(first, other).apply(other) for other in others]
    return [merge_recordings(first, *others)]


def _commands_aligned(recording: Recording) -> Recording:
    """A recording whose commands were stamped by another clock than the motion."""
    names = [name for name in recording if name.startswith("control[")]
    rest = recording.select(*(name for name in recording if name not in names))
    commands = recording.select(*names)
    return merge_recordings(rest, align_clocks(rest, commands).apply(commands))
