"""Does motion follow effort at once, or is one of them late?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check
from graftsim.check.explained import efforts_of, explained_share, regressors, without
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Motion, Robot
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Delays are sought up to LONGEST (s) either way, in steps of FINE (s) or half a sample.
LONGEST, FINE = 0.1, 0.001
# A delay counts from so many samples and seconds, if it takes away this share of what is left
# unexplained, and leaves next to nothing: friction that is not as it is modelled shifts phases too.
SAMPLES, SECONDS, BETTER, UNEXPLAINED = 1.5, 0.003, 0.6, 0.05
# Correlation of torque and effort, friction taken out of both: it must be torque that tells.
CORRELATED = 0.97


class Delay(Check):
    """The shift of time at which inverse dynamics explains most of an effort."""

    name: ClassVar[str] = "delay"
    help: ClassVar[str] = "motion follows effort without a delay"
    needs: ClassVar[tuple[str, ...]] = ("joint.tau", "control")

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Is effort recorded, with the motion of a robot whose base stands?"""
        return any(robot.tells(r) and any(True for _ in efforts_of(robot, r)) for r in recordings)

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning: a fit takes a delay for damping or inertia."""
        for recording in recordings:
            motion = robot.motion(recording)
            for label, channel, _ in efforts_of(robot, recording) if motion is not None else ():
                v = robot.dofs[label]
                if motion is None or not (motion.measured[v] and robot.carries(motion, v)):
                    continue
                late, left = _delay(channel, motion, v)
                if abs(late) < max(SAMPLES * channel.interval, SECONDS):
                    continue
                who = "the motion" if late > 0 else "the effort"
                ends = f"0:{2 * late:.2g}" if late > 0 else f"{2 * late:.2g}:0"
                sensor = row_name("sensor.delay", f"joint.q:{label}")
                yield Finding(
                    Level.WARNING,
                    f"{who} is {1e3 * abs(late):.2g} ms late: so shifted, inverse dynamics leaves "
                    f"{100 * left:.2g} % of what it leaves of the effort as recorded",
                    late,
                    line("--free", f"{sensor}={ends}"),
                    channel.name,
                    recording=recording.name,
                )


def _delay(channel: Channel, motion: Motion, v: int) -> tuple[float, float]:
    """Delay (s) of the motion, and what it leaves unexplained over what is left without; 0 and 1
    where none is better.
    """
    x = regressors(motion, v)
    if x is None or np.ptp(channel.values[:, 0]) == 0:
        return 0.0, 1.0
    time = motion.time[x.good]
    step = max(FINE, channel.interval / 2)
    lags = step * np.arange(-int(LONGEST / step), int(LONGEST / step) + 1)

    # Commands are held, half a sample on average, which is none of their delay.
    held = channel.interval / 2 if channel.name.startswith("control[") else 0.0

    def effort(lag: float) -> np.ndarray:
        return np.interp(time - lag - held, channel.time, channel.values[:, 0])

    over = np.array([1 - explained_share(x, effort(lag)) for lag in lags])
    k, now = int(np.argmin(over)), 1 - explained_share(x, effort(0.0))
    if not 0 < k < len(lags) - 1 or over[k] > min((1 - BETTER) * now, UNEXPLAINED):
        return 0.0, 1.0
    beside = without(x.friction, effort(lags[k]))
    if abs(np.corrcoef(x.lone, beside)[0, 1]) < CORRELATED:
        return 0.0, 1.0
    # The vertex of the parabola through the least and its neighbours.
    a, b, c = over[k - 1 : k + 2]
    late = lags[k] + step * (a - c) / (2 * (a - 2 * b + c)) if a + c > 2 * b else lags[k]
    return float(late), float(over[k] / now)
