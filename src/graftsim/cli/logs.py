"""Recordings of a command: read with the robot's names, merged where files are parts of one run."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from graftsim.cli.groups import DataOptions
from graftsim.cli.tables import print_recordings
from graftsim.errors import GraftsimWarning
from graftsim.io.logs.read import read_recordings
from graftsim.model.model import Model
from graftsim.recordings.recording import Recording


def read_logs(
    paths: Sequence[str],
    columns: Mapping[str, Any] | None,
    data: DataOptions,
    model: Model,
    console: Console,
    role: str = "",
) -> list[Recording]:
    """Read logs, and say on the console what is in them and what was assumed."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", GraftsimWarning)
        recordings = read_recordings(paths, columns, missing=data.missing, robot=model)
    for warning in caught:
        warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
    print_recordings(recordings, console, role)
    said = {str(warning.message) for warning in caught}
    notes = dict.fromkeys(n for r in recordings for n in r.notes if n not in said)
    for note in notes:
        console.print(f"note: {note}", soft_wrap=True)
    return recordings
