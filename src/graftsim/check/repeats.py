"""Samples that repeat the last one: a sensor slower than the log."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.quantum import resolution
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Share of repeated samples that is no chance; of runs that are as long as most, give or take one.
REPEATED, REGULAR = 0.3, 0.8
# A fresh value moves by more than so many steps of the encoder; else the encoder is coarse.
STEPS = 3.0
FRESH = 20
# Channels of places, which a sensor that works sees change.
PLACES = ("joint.q[", "link.pose[", "link.position[", "link.heading[")


class Repeats(Check):
    """While a joint moves by several steps of its encoder, values that stay the same are old."""

    name: ClassVar[str] = "repeats"
    help: ClassVar[str] = "samples repeated by a sensor that is slower than the log"

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning for held samples, whose age a fit takes for damping; a note for a position that
        never changes.
        """
        for recording in recordings:
            for label, channel in of(recording):
                if channel.name.startswith("control["):
                    continue  # commands are held by what they are
                held = samples_held(channel)
                if held == len(channel.time) > FRESH and channel.name.startswith(PLACES):
                    yield _stuck(channel, label, recording)
                if held < 1.5 or held == len(channel.time):
                    continue
                late = 1e3 * channel.interval * (held - 1) / 2
                yield Finding(
                    Level.WARNING,
                    f"each value is repeated {held:.3g} times while it moves: the sensor is slower "
                    f"than the log, and its samples are {late:.3g} ms old on average",
                    held,
                    line("--distinct", channel.name),
                    channel.name,
                    recording=recording.name,
                )


def _stuck(channel: Channel, label: str, recording: Recording) -> Finding:
    value = " ".join(f"{x:.6g}" for x in channel.values[0])
    return Finding(
        Level.NOTE,
        f"keeps the value {value} in all {len(channel.time)} samples: a joint or link that is "
        "held, or a sensor that is stuck",
        float(len(channel.time)),
        line("--rename", f"{channel.name}={row_name('signal', label)}"),
        channel.name,
        recording=recording.name,
    )


def samples_held(channel: Channel) -> float:
    """Samples for each fresh value while the channel moves; 1 if none is held, all if it never
    changes.
    """
    values = channel.values
    if len(values) < FRESH:
        return 1.0
    steps = np.abs(np.diff(values, axis=0))
    if not steps.any():
        return float(len(values))
    fresh = np.flatnonzero(steps.max(axis=1) > 0) + 1
    if len(fresh) < FRESH:
        return 1.0
    runs = np.diff(fresh)
    size = np.array([resolution(v) for v in values.T])
    # Runs that end with a move of several steps: there, a fresh value would have differed.
    moved = (steps[fresh[1:] - 1] > STEPS * size).any(axis=1)
    # Long runs are rest, not a slow sensor.
    usual = float(np.median(runs[moved])) if moved.sum() >= FRESH else 1.0
    runs = runs[moved & (runs <= 3 * max(usual, 1.0))] if moved.any() else runs[:0]
    if len(runs) < FRESH or np.mean(runs > 1) < REPEATED:
        return 1.0
    regular = np.mean(np.abs(runs - np.median(runs)) <= 1)
    return float(np.mean(runs)) if regular >= REGULAR else 1.0
