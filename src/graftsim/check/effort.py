"""Is effort a torque, a current or counts, or neither?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

from graftsim.check.check import Check
from graftsim.check.explained import Explained, efforts_of, explained
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Recording

# A torque as the file has it within this factor: masses of files are that wrong.
FACTOR = 3.0
# Correlation of an effort proportional to torque; and a share that is explained, with friction,
# below which effort is not what moves the joint.
CORRELATED, UNLIKE = 0.8, 0.25
# An effort that is small beside the torque is that of a joint that is not driven: noise.
IDLE = 0.8


class Effort(Check):
    """Scale and correlation of effort against inverse dynamics of the file's model."""

    name: ClassVar[str] = "effort"
    help: ClassVar[str] = "is effort a torque, proportional to one (current), or neither"
    needs: ClassVar[tuple[str, ...]] = ("joint.tau", "control")

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Is effort recorded, with the motion of a robot whose base stands?"""
        return any(robot.tells(r) and any(True for _ in efforts_of(robot, r)) for r in recordings)

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning for what is not a torque as the file has it."""
        for recording in recordings:
            for found in explained(robot, recording):
                if math.isfinite(found.scale) and found.scale > -2 * found.scale_std:
                    yield from _judged(robot, found, recording)


def _judged(robot: Robot, found: Explained, recording: Recording) -> Iterator[Finding]:
    scale, name = found.scale, found.channel.name
    sure = scale > 4 * found.scale_std
    if found.share < UNLIKE and found.size > IDLE:
        yield Finding(
            Level.WARNING,
            f"inverse dynamics of the file and friction explain {100 * found.share:.0f} % of the "
            f"effort (correlation {found.correlation:.2f}; with acceleration "
            f"{found.acceleration:.2f}): neither torque nor current, or another joint's",
            found.share,
            line("--rename", f"{name}=signal[{found.label}]"),
            name,
            recording=recording.name,
        )
    elif robot.effort == "current":
        return
    elif sure and found.correlation > CORRELATED and not 1 / FACTOR < scale < FACTOR:
        yield Finding(
            Level.WARNING,
            f"effort is {scale:.3g} times the torque that the file's model needs for this motion "
            f"(correlation {found.correlation:.2f}): a current, counts or another unit, or masses "
            "are off by as much",
            scale,
            "--effort current",
            name,
            recording=recording.name,
        )
