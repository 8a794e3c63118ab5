"""Runs of the same commands: how far their motions spread is the floor of any prediction."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Channel, Recording

# Commands of two runs that differ by less than this share of their size are the same.
SAME = 0.05
# A run this many times farther from the others than they are from each other.
ODD = 3.0


class RepeatedRuns(Check):
    """Recordings whose commands agree, compared channel by channel."""

    name: ClassVar[str] = "runs"
    help: ClassVar[str] = "repeated runs and how far they spread"
    needs: ClassVar[tuple[str, ...]] = ("control", "joint.tau")

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Are there two recordings with commands?"""
        return len(recordings) > 1 and super().applies(robot, recordings)

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A note with the spread of each position, a warning for a run unlike its repeats."""
        for group in _alike(recordings):
            names = [c.name for _, c in of(group[0], "joint.q") if all(c.name in r for r in group)]
            for name in names:
                yield from _spread(group, name)


def _alike(recordings: Sequence[Recording]) -> Iterator[list[Recording]]:
    """Groups of recordings whose commands are the same."""
    left = list(recordings)
    while left:
        first, *others = left
        same = [r for r in others if _same(first, r)]
        if same:
            yield [first, *same]
        left = [r for r in others if r not in same]


def _same(a: Recording, b: Recording) -> bool:
    commands = [c for _, c in of(a, "control") if np.ptp(c.values) > 0]
    commands = commands or [c for _, c in of(a, "joint.tau") if np.ptp(c.values) > 0]
    pairs = [(c, b[c.name]) for c in commands if c.name in b]
    if not pairs or len(pairs) < len(commands):
        return False
    shares = [_difference(x, y) / float(np.std(x.values)) for x, y in pairs]
    return float(np.median(shares)) < SAME


def _difference(a: Channel, b: Channel) -> float:
    """Root-mean-square difference of first columns, both from their starts; infinite if short."""
    t, u = a.time - a.time[0], b.time - b.time[0]
    inside = t <= u[-1]
    if t[-1] <= 0 or not 0.8 < u[-1] / t[-1] < 1.25:
        return float("inf")
    other = np.interp(t[inside], u, b.values[:, 0])
    return float(np.sqrt(np.mean((a.values[inside, 0] - other) ** 2)))


def _spread(group: list[Recording], name: str) -> Iterator[Finding]:
    unit, n = group[0][name].unit, len(group)
    apart = np.zeros((n, n))
    for i, j in combinations(range(n), 2):
        apart[i, j] = apart[j, i] = _difference(group[i][name], group[j][name])
    if not np.isfinite(apart).all():
        return
    # Of one run about the mean of all: half the variance of a difference.
    typical = float(np.median(apart[np.triu_indices(n, 1)]) / np.sqrt(2))
    middle = np.nanmedian(np.where(np.eye(n, dtype=bool), np.nan, apart), axis=1)
    for i in np.flatnonzero(middle > ODD * np.median(middle)) if n > 2 else ():
        yield Finding(
            Level.WARNING,
            f"is {middle[i] / np.median(middle):.2g} times as far from the other {n - 1} runs of "
            "the same commands as they are from each other",
            float(middle[i] / np.median(middle)),
            line("--heldout", _file(group[i])),
            name,
            recording=group[i].name,
        )
    yield Finding(
        Level.NOTE,
        f"{n} runs of the same commands spread by {typical:.3g} {unit} (RMS about their mean): no "
        "model predicts another run better",
        typical,
        line("--heldout", _file(group[-1])),
        name,
        recording=group[0].name,
    )


def _file(recording: Recording) -> str:
    """Where a recording comes from, else its name."""
    return next((c.source for c in recording.channels.values() if c.source), recording.name)
