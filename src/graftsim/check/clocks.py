"""A stamp that is recorded beside the log's own time: do they run at the same rate?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Channel, Recording

# Slopes this far from one: crystals differ by less.
DRIFT = 5e-4
# A signal is a stamp if it only rises, by this much of the log's time.
RATE = (0.5, 2.0)
SAMPLES = 20


class ClockSlope(Check):
    """The slope of stamps over the log's time, by the median of pairs half a log apart."""

    name: ClassVar[str] = "clock"
    help: ClassVar[str] = "stamps and the log's time run at the same rate"
    needs: ClassVar[tuple[str, ...]] = ("signal",)

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning for a clock that drifts."""
        for recording in recordings:
            for stamp in stamps(recording):
                slope = _slope(stamp)
                if abs(slope - 1) > DRIFT:
                    drift = (slope - 1) * (stamp.time[-1] - stamp.time[0])
                    yield Finding(
                        Level.WARNING,
                        f"runs {1e6 * (slope - 1):+.0f} ppm against the log's time, "
                        f"{1e3 * drift:+.3g} ms over the recording",
                        slope - 1,
                        line("--clock", stamp.name),
                        stamp.name,
                        recording=recording.name,
                    )


def stamps(recording: Recording) -> Iterator[Channel]:
    """Signals that are clocks in s: they rise from sample to sample, about as fast as time."""
    for _, channel in of(recording, "signal"):
        if channel.width != 1 or len(channel.time) < SAMPLES:
            continue
        steps = np.diff(channel.values[:, 0])
        total, duration = float(np.sum(steps)), float(channel.time[-1] - channel.time[0])
        straight = np.corrcoef(channel.time, channel.values[:, 0])[0, 1] if total else 0.0
        if np.all(steps > 0) and RATE[0] < total / duration < RATE[1] and straight > 0.999:
            yield channel


def _slope(stamp: Channel) -> float:
    """Theil's slope over pairs half a log apart, which outliers of arrival do not move."""
    half = len(stamp.time) // 2
    rise = stamp.values[half:, 0] - stamp.values[: len(stamp.time) - half, 0]
    return float(np.median(rise / (stamp.time[half:] - stamp.time[: len(stamp.time) - half])))
