"""What a check found: how bad it is, the number that made it, and the line that mends it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class Level(StrEnum):
    """How bad: an error makes a fit meaningless, a warning biases it, a note is to be known."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


_ORDER = tuple(Level)


@dataclass(frozen=True)
class Finding:
    """One thing that a check has found in one channel.

    what: a sentence without the channel's name, with the number and its unit. number: the figure
    that made the finding. remedy: flags of the command line that mend it. channel: its name, "" of
    a whole recording. check, recording: which check found it, and where.
    """

    level: Level
    what: str
    number: float
    remedy: str
    channel: str = ""
    check: str = ""
    recording: str = ""

    def as_json(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "level": str(self.level)}


@dataclass(frozen=True)
class Group:
    """Findings of one check and level: the `worst`, where they are, what mends them all; `varied`:
    their sentences differ.
    """

    worst: Finding
    channels: tuple[str, ...]
    recordings: tuple[str, ...]
    remedy: str
    varied: bool


def grouped(findings: Iterable[Finding]) -> list[Group]:
    """Findings to be read: errors first; what one check says of many channels is one row.

    The sentence is that of the largest number; the remedies of all are joined.
    """
    alike: dict[tuple[Any, ...], list[Finding]] = {}
    for f in findings:
        flag = f.remedy.split(" ", 1)[0]
        alike.setdefault((_ORDER.index(f.level), f.check, flag, _family(f)), []).append(f)
    # What is said of several quantities in the same words is said once.
    rows: dict[tuple[Any, ...], list[Finding]] = {}
    for key in sorted(alike, key=lambda k: k[0]):
        worst = max(alike[key], key=lambda f: abs(f.number))
        rows.setdefault((*key[:3], worst.what), []).extend(alike[key])
    return [_group(same) for same in rows.values()]


def _group(same: list[Finding]) -> Group:
    return Group(
        max(same, key=lambda f: abs(f.number)),
        tuple(dict.fromkeys(f.channel for f in same if f.channel)),
        tuple(dict.fromkeys(f.recording for f in same if f.recording)),
        joined([f.remedy for f in same]),
        len({f.what for f in same}) > 1,
    )


def joined(remedies: Sequence[str]) -> str:
    """Flags of several remedies, each flag once with all its values; those of the first win."""
    flags: dict[str, dict[str, str]] = {}
    for remedy in remedies:
        flag = ""
        for word in shlex.split(remedy):
            if word.startswith("--"):
                flag = word
                flags.setdefault(flag, {})
            else:
                flags[flag].setdefault(word.split("=", 1)[0] if "=" in word else "", word)
    return " ".join(line(flag, *values.values()) for flag, values in flags.items())


def line(flag: str, *values: str) -> str:
    """A flag and its values as they are typed in a shell."""
    return " ".join([flag, *map(shlex.quote, values)])


def named(finding: Finding, check: str) -> Finding:
    """With the name of the check that found it."""
    return replace(finding, check=check)


def _family(finding: Finding) -> str:
    return finding.channel.partition("[")[0]
