"""Do encoders read zero where the file has it? Gravity and the pose at rest tell."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check
from graftsim.check.explained import explained
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Motion, Robot
from graftsim.model.catalogue import acts_on
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name

# Smaller zeros (rad, m) are within what centres of mass of a file are off by; larger ones are no
# zeros. SURE deviations make a finding.
SMALL, LARGE, SURE = 0.05, 0.8, 4.0
# Effort has to be what the file's model says, for gravity to tell: a scale beyond this says that
# masses are others, and then centres of mass too.
CORRELATED, SCALE = 0.9, 1.3
# A joint rests at the end of a log for this long (s), at this share of its usual speed.
REST, SLOW = 0.5, 0.01


class Zero(Check):
    """The zero of a joint by gravity torque, or by the pose in which it comes to rest."""

    name: ClassVar[str] = "zero"
    help: ClassVar[str] = "joints read zero where the file has it, by gravity"
    needs: ClassVar[tuple[str, ...]] = ("joint.q",)

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Does a recording tell the motion of a robot whose base stands?"""
        return any(robot.tells(r) for r in recordings)

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning for each joint whose zero is off by more than `SMALL`."""
        for recording in recordings:
            for label, zero, how in (*_gravity(robot, recording), *_rest(robot, recording)):
                if SMALL < abs(zero) < LARGE:
                    name = row_name("joint.q", label)
                    unit = "rad" if label in robot.angular else "m"
                    yield Finding(
                        Level.WARNING,
                        f"reads {-zero:+.3g} {unit} off the file's zero by {how}, or the centre of "
                        "mass lies elsewhere",
                        zero,
                        line("--offset", f"{name}={zero:.4g}"),
                        name,
                        recording=recording.name,
                    )


def _gravity(robot: Robot, recording: Recording) -> Iterator[tuple[str, float, str]]:
    """Where effort is recorded: the zero that makes it fit."""
    for found in explained(robot, recording):
        known = math.isfinite(found.zero) and found.correlation > CORRELATED
        known = known and 1 / SCALE < found.scale < SCALE
        if known and abs(found.zero) > SURE * found.zero_std:
            yield found.label, found.zero, f"gravity's torque (±{2 * found.zero_std:.2g})"


def _rest(robot: Robot, recording: Recording) -> Iterator[tuple[str, float, str]]:
    """Joints that nothing drives, where the log ends at rest: gravity must have no torque there.

    Dry friction may hold a joint off that pose, and is allowed for with the file's value.
    """
    driven = set(acts_on(robot.model))
    loose = [label for label in robot.dofs if label not in driven]
    motion = robot.motion(recording) if loose else None
    if motion is None or not motion.measured.all():
        return
    at = motion.time > motion.time[-1] - REST
    usual = np.sqrt(np.mean(motion.qd**2, axis=0))
    if motion.time[-1] - motion.time[0] < 2 * REST or not np.any(usual > 0):
        return
    if np.any(np.abs(motion.qd[at]) > SLOW * usual.max()):
        return
    for label in loose:
        yield from _resting(robot, motion, label, at)


def _resting(
    robot: Robot, motion: Motion, label: str, at: np.ndarray
) -> Iterator[tuple[str, float, str]]:
    v = robot.dofs[label]
    torque, slope = float(motion.tau[at, v].mean()), float(motion.turned[at, v].mean())
    torque += robot.number("stiffness", label) * float(motion.q[at, v].mean())
    slope += robot.number("stiffness", label)
    held = robot.number("friction", label) + robot.number("stribeck", label)
    moved = np.ptp(motion.q[:, v]) > SMALL
    if moved and slope > 0 and abs(torque) > held:
        zero = -math.copysign(abs(torque) - held, torque) / slope
        yield label, zero, "the pose in which it comes to rest"
