"""Recordings of one run made one: commands of one file beside the measurements of another."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from itertools import combinations

from graftsim.errors import GraftsimWarning, LogError
from graftsim.recordings.channels import split_name
from graftsim.recordings.recording import Recording, seconds

OVERLAP = 0.5
"""Share of the shorter recording that parts of one run have in common."""

_MOTION = ("joint.q", "joint.qd", "joint.qdd", "link.")
_DRIVE = ("control", "joint.tau")


def merge_recordings(first: Recording, *others: Recording) -> Recording:
    """Channels of recordings of one run on one clock, which begin when that of the first does.

    Clocks that count from 1970 are brought together by their `epoch`. Of channels of one name the
    first counts, with a note. For clocks of their own see `align_clocks`.

    Raises: LogError when one of them has no time in common with the first.
    """
    channels = dict(first.channels)
    notes = list(first.notes)
    for other in others:
        moved = on_clock_of(first, other)
        if common_time(first, moved) <= 0:
            raise LogError(
                f"recordings {first.name!r} and {other.name!r} have no time in common: "
                f"{seconds(first.start)} s to {seconds(first.end)} s, and {seconds(moved.start)} s "
                f"to {seconds(moved.end)} s. If their clocks differ, align_clocks finds by how "
                "much (--merge align)."
            )
        twice = [name for name in moved if name in channels]
        channels |= {n: c for n, c in moved.channels.items() if n not in channels}
        notes += [note for note in moved.notes if note not in notes]
        notes.append(f"merged with {other.name}")
        if twice:
            notes.append(f"{_some(twice)} taken from {first.name}, not from {other.name}")
    return dataclasses.replace(first, channels=channels, notes=tuple(notes))


def on_clock_of(first: Recording, other: Recording) -> Recording:
    """The other recording in s of the first one's clock, where both count from a known day."""
    if not (first.epoch and other.epoch) or first.epoch == other.epoch:
        return other
    return other.shift(other.epoch - first.epoch)


def common_time(a: Recording, b: Recording) -> float:
    """s that both last, as a share of the shorter; negative or 0 when there are none."""
    common = min(a.end, b.end) - max(a.start, b.start)
    return common / max(min(a.duration, b.duration), 1e-12)


def drives_only(recording: Recording) -> bool:
    """Whether it has commands or torques, and no motion."""
    return _has(recording, _DRIVE) and not _has(recording, _MOTION)


def moves_only(recording: Recording) -> bool:
    """Whether it has motion, and no commands."""
    return _has(recording, _MOTION) and not _has(recording, ("control",))


def is_part(recording: Recording) -> bool:
    """Whether it lacks commands or motion."""
    return not (_has(recording, _MOTION) and _has(recording, ("control",)))


def merge_parts(recordings: Sequence[Recording]) -> list[Recording]:
    """Recordings of which one has only commands and another only motion made one, where it is
    clear which belong together: each of the first kind has half of its time in common with one
    alone of the second. Others stay as they are.

    Raises: LogError where it is not clear. Warns: GraftsimWarning of two that share no channel.
    """
    drives = [r for r in recordings if drives_only(r)]
    moves = [r for r in recordings if moves_only(r)]
    if not drives:
        _doubt(recordings)
        return list(recordings)
    partners: dict[int, Recording] = {}
    for drive in drives:
        near = [m for m in moves if common_time(m, on_clock_of(m, drive)) >= OVERLAP]
        if len(near) != 1 or id(near[0]) in partners:
            raise LogError(_unclear(drive, drives, moves))
        partners[id(near[0])] = drive
    return [
        merge_recordings(r, partners[id(r)]) if id(r) in partners else r
        for r in recordings
        if not any(r is drive for drive in drives)
    ]


def _doubt(recordings: Sequence[Recording]) -> None:
    """Warn of two recordings that look like sensors of one run in two files."""
    for a, b in combinations(recordings, 2):
        apart = not set(a) & set(b)
        if apart and common_time(a, on_clock_of(a, b)) >= OVERLAP:
            warnings.warn(
                f"{a.name} and {b.name} have no channel in common, and their times overlap. If "
                "they are of one run, --merge clock (graftsim.merge_recordings) makes them one.",
                GraftsimWarning,
                stacklevel=3,
            )
            return


def _unclear(drive: Recording, drives: Sequence[Recording], moves: Sequence[Recording]) -> str:
    said = f"{drive.name} has commands only ({_some(list(drive))}), and no motion to explain. "
    if not moves:
        return said + "Give the log of the motion beside it, or map its columns too."
    named = _some([m.name for m in moves])
    if len(drives) == len(moves) == 1:
        return (
            f"{said}{named} has the motion, but at other times. If both are of one run, --merge "
            "clock puts them together as they are, --merge align after finding the offset of their "
            "clocks."
        )
    return (
        f"{said}Which of {named} does it belong to? If all these logs are of one run, say --merge "
        "clock, or --merge align if their clocks differ; else merge those of each run by "
        "graftsim.merge_recordings."
    )


def _has(recording: Recording, quantities: tuple[str, ...]) -> bool:
    for name in recording:
        parsed = split_name(name)
        if parsed and any(
            parsed.quantity == q or (q.endswith(".") and parsed.quantity.startswith(q))
            for q in quantities
        ):
            return True
    return False


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
