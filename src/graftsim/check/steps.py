"""The simulation's step beside the sample interval, and beside the drives of the file."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Recording

# A step this much longer than the interval; a ratio this far from whole.
LONGER, UNEVEN = 1.05, 0.02
# Radians of a servo's own oscillation in one step: beyond the first it is biased, at two it is
# lost.
FAST, SLOW = 0.5, 0.2


class Steps(Check):
    """Whole steps in each sample interval, and short ones for the stiffest servo."""

    name: ClassVar[str] = "step"
    help: ClassVar[str] = "sample intervals against the simulation's step"

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Is there a step?"""
        return robot.dt is not None

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A warning for steps longer than the interval or too long for a servo."""
        dt = robot.dt or 0.0
        for recording in recordings:
            intervals = [c.interval for _, c in of(recording) if len(c.time) > 1]
            fastest = min(intervals, default=dt)
            ratio = fastest / dt
            whole = fastest / max(math.ceil(ratio - UNEVEN), 1)
            if ratio < 1 / LONGER:
                what = f"a step of {dt:g} s holds {1 / ratio:.3g} samples"
                level = Level.WARNING
            elif abs(ratio - round(ratio)) > UNEVEN * ratio:
                what = f"{ratio:.3g} steps of {dt:g} s lie between samples, not a whole number"
                level = Level.NOTE
            else:
                continue
            remedy = line("--dt", f"{whole:.6g}")
            yield Finding(level, what, ratio, remedy, recording=recording.name)
        yield from _servos(robot)


def _servos(robot: Robot) -> Iterator[Finding]:
    a, step = robot.model.actuator, (robot.dt or 0.0) / robot.substeps
    stiffness = np.asarray(a.kp) * np.asarray(a.gear) ** 2
    for i, kind in enumerate(a.kinds):
        inertia = robot.inertia[a.dof[i]]
        if kind != "position" or a.dof[i] < 0 or inertia <= 0:
            continue
        turned = math.sqrt(float(stiffness[i]) / inertia) * step
        if turned > FAST:
            n = math.ceil(robot.substeps * turned / SLOW)
            yield Finding(
                Level.NOTE,
                f"a step of {step:.3g} s is {turned:.2g} rad of the own oscillation of the servo "
                f"with kp = {float(a.kp[i]):.4g}",
                turned,
                line("--substeps", str(n)),
                f"control[{a.names[i]}]",
            )
