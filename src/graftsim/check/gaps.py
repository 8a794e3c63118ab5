"""Pauses in the samples of a channel."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import GAP_FACTOR, Recording, seconds

# Share of a recording that gaps may take before it is more than a note.
MUCH = 0.05
# Windows are this long (s) by default, and of at least so many samples.
WINDOW, SAMPLES = 0.5, 4


class Gaps(Check):
    """Pauses longer than `GAP_FACTOR` sample intervals, over which no window of a fit lies."""

    name: ClassVar[str] = "gaps"
    help: ClassVar[str] = "pauses in the samples"

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A note, a warning where much is lost, an error where no window fits between."""
        for recording in recordings:
            for _, channel in of(recording):
                gaps = channel.gaps()
                if not gaps:
                    continue
                share = sum(b - a for a, b in gaps) / (channel.time[-1] - channel.time[0])
                pieces = [channel.time[p] for p in channel.segments()]
                longest = max(pieces, key=lambda t: t[-1] - t[0])
                length = float(longest[-1] - longest[0])
                level = Level.WARNING if share > MUCH else Level.NOTE
                # A few are no matter, as no window lies over one: what is lost is worth a cut.
                remedy = line("--horizon", f"{WINDOW:g}")
                if level == Level.WARNING:
                    remedy = line("--trim", f"{seconds(longest[0])}:{seconds(longest[-1])}")
                usual = float(np.median([t[-1] - t[0] for t in pieces]))
                if usual < WINDOW:
                    level = Level.ERROR if length < SAMPLES * channel.interval else Level.WARNING
                    horizon = max(usual, SAMPLES * channel.interval)
                    remedy = line("--horizon", f"{horizon:.3g}")
                yield Finding(
                    level,
                    f"{len(gaps)} pauses longer than {GAP_FACTOR:g} sample intervals, "
                    f"{100 * share:.2g} % of the time, the first at {seconds(gaps[0][0])} s; the "
                    f"longest stretch between has {length:.3g} s",
                    share,
                    remedy,
                    channel.name,
                    recording=recording.name,
                )
