"""Is a recording as long as one motion?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Recording

# A turn back by this share of its range, or by so many rad or m, is a reversal of a joint's motion.
BACK, FAR = 0.2, 0.5
# Less than this (rad, m) is no motion.
STILL = 1e-3


class Short(Check):
    """Reversals of each joint's motion: without one, damping, inertia and offset look alike."""

    name: ClassVar[str] = "short"
    help: ClassVar[str] = "a recording is as long as one motion"
    needs: ClassVar[tuple[str, ...]] = ("joint.q",)

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning if no joint turns back once, in no recording; a note if only in some."""
        counts = [_most(r) for r in recordings]
        moved = [c is not None for c in counts]
        enough = any(c for c in counts if c is not None)
        for recording, count, moves in zip(recordings, counts, moved, strict=True):
            if moves and count == 0:
                yield Finding(
                    Level.NOTE if enough else Level.WARNING,
                    f"no joint turns back within its {recording.duration:.3g} s: shorter than one "
                    "motion, whose end would be held out",
                    recording.duration,
                    line("--holdout", "0"),
                    recording=recording.name,
                )


def _most(recording: Recording) -> int | None:
    """Reversals, or full turns, of the joint that has most; None if none moves."""
    counts = [
        reversals(channel.values[:, 0]) + int(np.ptp(channel.values) / (2 * np.pi))
        for _, channel in of(recording, "joint.q")
        if channel.width == 1 and np.ptp(channel.values) > STILL
    ]
    return max(counts, default=None)


def reversals(q: Float[np.ndarray, " n"]) -> int:
    """How often q turns back by more than `BACK` of its range, or by `FAR`."""
    threshold = min(BACK * float(np.ptp(q)), FAR)
    count, direction, extreme = 0, 0, q[0]
    for x in q[:: max(len(q) // 5000, 1)]:
        if direction == 0:
            if abs(x - extreme) > threshold:
                direction, extreme = (1 if x > extreme else -1), x
        elif (x - extreme) * direction > 0:
            extreme = x
        elif (extreme - x) * direction > threshold:
            count, direction, extreme = count + 1, -direction, x
    return count
