"""The step of an encoder, and whether it is what a channel's noise is made of."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Float

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.recording import Channel, Recording

# Of steps that are whole multiples of the smallest, and how near to whole.
WHOLE, NEAR = 0.95, 0.1
# Spread of single steps, where there are no others.
ALIKE = 0.02
# Steps in the channel's range: with fewer than COARSE it hardly resolves the motion, with more
# than FINE nothing depends on them.
COARSE, FINE = 40, 2000


class Quantum(Check):
    """The smallest step of a channel, if its values are whole multiples of one."""

    name: ClassVar[str] = "quantum"
    help: ClassVar[str] = "the step of an encoder"
    needs: ClassVar[tuple[str, ...]] = ("joint.q", "joint.qd", "joint.tau")

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """A note where the step counts, a warning where there are few in the range of all."""
        channels: dict[str, list[Channel]] = {}
        # Torques that drive a simulation are no sensors, and have no noise in a fit.
        driven = any(True for r in recordings for _ in of(r, "control"))
        sensed = [n for n in self.needs if driven or n != "joint.tau"]
        for recording in recordings:
            for _, channel in of(recording, *sensed):
                if channel.width == 1:
                    channels.setdefault(channel.name, []).append(channel)
        for name, same in channels.items():
            steps = [x for c in same if (x := quantum(c.values[:, 0]))]
            low = min(float(c.values.min()) for c in same)
            span = max(float(c.values.max()) for c in same) - low
            step = float(np.median(steps)) if steps else 0.0
            if not step or span >= FINE * step:
                continue
            noise = step / math.sqrt(12)
            yield Finding(
                Level.WARNING if span < COARSE * step else Level.NOTE,
                f"comes in steps of {step:.3g} {same[0].unit}, {span / step:.0f} in its range: as "
                f"white noise {noise:.2g}",
                step,
                line("--noise", f"{name}={noise:.2g}"),
                name,
            )


def resolution(values: Float[np.ndarray, " n"]) -> float:
    """The smallest step that is more than rounding; 0 of a constant."""
    steps = np.abs(np.diff(values))
    rounding = 8 * float(np.finfo(np.float32).eps) * float(np.abs(values).max())
    steps = steps[steps > rounding]
    return float(steps.min()) if steps.size else 0.0


def quantum(values: Float[np.ndarray, " n"]) -> float:
    """The step of which all steps are whole multiples; 0 if there is none."""
    smallest = resolution(values)
    steps = np.abs(np.diff(values))
    steps = steps[steps >= 0.5 * smallest] if smallest else steps[:0]
    if len(steps) < 20:
        return 0.0
    # Rounding of a file's digits spreads the smallest steps: their mean is nearer.
    single = steps[steps < 1.5 * smallest]
    size = float(single.mean())
    few = steps[steps < 8 * size] / size
    if len(few) < 20:
        return 0.0
    if not np.any(few > 1.5):
        # A slow joint crosses one step at a time: they are alike, and lead to several levels.
        levels = np.ptp(values) > 2.5 * size
        return size if levels and np.std(single) < ALIKE * size else 0.0
    return size if np.mean(np.abs(few - np.round(few)) < NEAR) >= WHOLE else 0.0
