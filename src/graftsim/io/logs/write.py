"""Write a recording as CSV that `read_recording` reads back, bit for bit."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from graftsim.errors import LogError
from graftsim.recordings.channels import part_names
from graftsim.recordings.recording import Channel, Recording
from graftsim.recordings.units import unit


def write_csv(recording: Recording, path: str | Path) -> None:
    """Write channels that share one clock: `time (s)`, then a column each; notes as comments.

    Raises: LogError when two channels have different clocks, or the file cannot be written.
    """
    channels = list(recording.channels.values())
    first = channels[0]
    for other in channels[1:]:
        if not np.array_equal(other.time, first.time):
            raise LogError(
                f"{path}: {first.name} and {other.name} have different clocks and do not fit one "
                "table. Write resample(recording, dt=...).recording(), or select(...) the "
                "channels of one clock."
            )
    header = ["time (s)", *(title for channel in channels for title in _titles(channel))]
    own = [f"{c.name}: {note}" for c in channels for note in c.notes]
    comments = [recording.name, *recording.notes, *own]
    table = np.hstack([first.time[:, None], *(channel.values for channel in channels)])
    try:
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            for comment in comments:
                file.writelines(f"# {line}\n" for line in comment.splitlines())
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(header)
            # tolist() gives Python floats, whose repr is the shortest that reads back equal.
            writer.writerows([repr(x) for x in row] for row in table.tolist())
    except OSError as error:
        raise LogError(f"{path}: cannot be written: {error}") from error


def _titles(channel: Channel) -> list[str]:
    try:
        symbol = unit(channel.unit).symbol if channel.unit else ""
    except LogError:
        symbol = ""  # "rad or m", or several units: SI is what a bare header means
    suffix = f" ({symbol})" if symbol and symbol != "1" else ""
    parts = part_names(channel.name, channel.width)
    return [f"{channel.name}{'.' if part else ''}{part}{suffix}" for part in parts]
