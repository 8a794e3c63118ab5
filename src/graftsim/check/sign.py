"""Do command and motion, position and velocity have the same sign?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.explained import explained
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.model.catalogue import acts_on
from graftsim.recordings.plausible import rate_of
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Correlations beyond -REVERSED, and slopes so many deviations below zero.
REVERSED, SURE = 0.5, 4.0
QUANTITY = {"position": "joint.q", "velocity": "joint.qd"}


class Sign(Check):
    """Servo commands against what they command, torques against inverse dynamics, q against qd."""

    name: ClassVar[str] = "sign"
    help: ClassVar[str] = "command and motion, position and velocity go the same way"
    needs: ClassVar[tuple[str, ...]] = ("control", "joint.tau", "joint.qd")

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """An error for each channel that goes the other way."""
        for recording in recordings:
            for channel, number, what in (
                *_servos(robot, recording),
                *_torques(robot, recording),
                *_rates(robot, recording),
            ):
                yield Finding(
                    Level.ERROR,
                    what,
                    number,
                    line("--scale", f"{channel}=-1"),
                    channel,
                    recording=recording.name,
                )


def _servos(robot: Robot, recording: Recording) -> Iterator[tuple[str, float, str]]:
    a, joints = robot.model.actuator, acts_on(robot.model)
    for label, channel in of(recording, "control"):
        if label not in a.names or channel.width != 1:
            continue
        i = a.names.index(label)
        quantity = QUANTITY.get(a.kinds[i])
        answer = recording.channels.get(row_name(quantity or "", joints[i]))
        if quantity is None or answer is None:
            continue
        found = _correlation(channel, answer)
        if found < -REVERSED:
            yield (
                channel.name,
                found,
                f"correlation {found:.2f} with {answer.name}, which it commands: the sign of one "
                "of them is reversed",
            )


def _torques(robot: Robot, recording: Recording) -> Iterator[tuple[str, float, str]]:
    for found in explained(robot, recording):
        if found.scale < -SURE * found.scale_std and found.correlation < -REVERSED:
            yield (
                found.channel.name,
                found.correlation,
                f"correlation {found.correlation:.2f} with the torque that the file's model needs "
                "for this motion: its sign, or that of the joint's positions, is reversed",
            )


def _rates(robot: Robot, recording: Recording) -> Iterator[tuple[str, float, str]]:
    for label, position in of(recording, "joint.q"):
        speed = recording.channels.get(row_name("joint.qd", label))
        rate = None if speed is None else rate_of(position, speed)
        if speed is not None and rate is not None and rate.correlation < -REVERSED:
            yield (
                speed.name,
                rate.correlation,
                f"correlation {rate.correlation:.2f} with the rate of {position.name}: the sign of "
                "one of them is reversed",
            )


def _correlation(command: Channel, answer: Channel) -> float:
    """Of a held command and what answers it, without their means; 0 if either stands still."""
    at = np.searchsorted(command.time, answer.time, side="right") - 1
    inside = at >= 0
    x, y = command.values[at[inside], 0], answer.values[inside, 0]
    if len(x) < 8 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return float(np.corrcoef(x, y)[0, 1])
