"""Samples that arrive in bursts: the clock is that of a network, not of the sensor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.clocks import stamps
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Recording

# An interval below this share of the mean is one within a burst; so many of them are no jitter.
SHORT, MANY = 0.25, 0.2
SAMPLES = 20


class Bursts(Check):
    """Intervals far below the mean, with pauses between."""

    name: ClassVar[str] = "bursts"
    help: ClassVar[str] = "samples arrive in bursts"

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning: stamps are off by as much as a burst is long."""
        for recording in recordings:
            for _, channel in of(recording):
                if len(channel.time) < SAMPLES:
                    continue
                steps = np.diff(channel.time)
                share = float(np.mean(steps < SHORT * steps.mean()))
                if share < MANY:
                    continue
                # Against an even clock over the same samples.
                even = np.linspace(channel.time[0], channel.time[-1], len(channel.time))
                off = float(np.std(channel.time - even))
                stamp = next(stamps(recording), None)
                yield Finding(
                    Level.WARNING,
                    f"{100 * share:.0f} % of the samples come within a quarter of the mean "
                    f"interval after the last: in bursts, {1e3 * off:.2g} ms off an even clock",
                    share,
                    line("--clock", "even" if stamp is None else stamp.name),
                    channel.name,
                    recording=recording.name,
                )
