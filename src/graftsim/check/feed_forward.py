"""Is a feed-forward torque that of the servo itself?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.model.catalogue import acts_on
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Of its variance that errors of position and speed explain, if the gain is the file's within this
# share: a controller's compensation of gravity or inertia follows neither.
EXPLAINED, GAIN = 0.99, 0.2
ENOUGH = 20


class FeedForward(Check):
    """Commanded torques against the law of the servo that they are added to."""

    name: ClassVar[str] = "feed-forward"
    help: ClassVar[str] = "is a commanded torque one that the servo gives anyway"
    needs: ClassVar[tuple[str, ...]] = ("control",)

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Is a torque commanded beside a position, which is measured?"""
        return any(True for r in recordings for _ in _pairs(robot, r))

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """An error for a torque that would act twice."""
        for recording in recordings:
            for i, torque in _pairs(robot, recording):
                share, kp = _law(robot, i, torque, recording)
                wanted = float(robot.model.actuator.kp[i])
                if share > EXPLAINED and abs(kp - wanted) <= GAIN * abs(wanted):
                    name = robot.model.actuator.names[i]
                    yield Finding(
                        Level.ERROR,
                        f"is what the servo gives anyway, {kp:.3g} times its error less damping "
                        f"({100 * share:.2f} % of it), and would act twice",
                        share,
                        line("--rename", f"{torque.name}=signal[{name}.torque]"),
                        torque.name,
                        recording=recording.name,
                    )


def _pairs(robot: Robot, recording: Recording) -> Iterator[tuple[int, Channel]]:
    """Position servos with a commanded torque, a commanded and a measured position."""
    a, joints = robot.model.actuator, acts_on(robot.model)
    for label, channel in of(recording, "control"):
        owner, _, what = label.rpartition(".")
        if what != "torque" or owner not in a.names or label in a.names:
            continue
        i = a.names.index(owner)
        needed = row_name("control", owner), row_name("joint.q", joints[i])
        if a.kinds[i] in ("position", "pid") and all(n in recording for n in needed):
            yield i, channel


def _law(robot: Robot, i: int, torque: Channel, recording: Recording) -> tuple[float, float]:
    """Share of a torque that kp (u - q) - kd qd + offset explains by least squares, and its kp."""
    a = robot.model.actuator
    joint, t = acts_on(robot.model)[i], torque.time
    u = recording[row_name("control", a.names[i])]
    command = u.values[np.clip(np.searchsorted(u.time, t, side="right") - 1, 0, None), 0]
    position = recording[row_name("joint.q", joint)]
    q = np.interp(t, position.time, position.values[:, 0])
    rate = row_name("joint.qd", joint)
    if rate in recording:
        qd = np.interp(t, recording[rate].time, recording[rate].values[:, 0])
    else:
        qd = np.gradient(q, t) if len(t) > 1 else np.zeros(len(t))
    y, gear = torque.values[:, 0], float(a.gear[i])
    if len(t) < ENOUGH or not np.ptp(y) > 0:
        return 0.0, 0.0
    terms = np.stack([command - gear * q, qd, np.ones(len(t))], 1)
    found, *_ = np.linalg.lstsq(terms, y, rcond=None)
    return 1 - float(np.var(y - terms @ found) / np.var(y)), float(found[0])
