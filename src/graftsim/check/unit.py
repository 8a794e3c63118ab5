"""Are the numbers in the unit that was assumed?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.recordings.plausible import IN_G, LARGE, rate_of
from graftsim.recordings.recording import Channel, Recording
from graftsim.recordings.signals import wrap_jumps
from graftsim.recordings.units import unit
from graftsim.selectors import row_name

# Positions so many times beyond the file's limits may be in another unit, and are for sure, if that
# brings them back to this share of the limits.
BEYOND, SURE, BACK = 3.0, 10.0, 1.1
OTHER = {"rad": ("deg", "rev", "mrad"), "m": ("mm", "cm", "in")}
# A clock with so many samples and no faster than 1 Hz is in other units.
SAMPLES = 200


class UnitByRange(Check):
    """Ranges against the file's limits and what joints can do, rates against speeds, gravity."""

    name: ClassVar[str] = "unit"
    help: ClassVar[str] = "numbers are in the unit that was assumed, by their range"

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """An error for a unit that cannot be, a warning for one that may not be meant."""
        for recording in recordings:
            yield from _clock(recording)
            odd = set()
            for label, channel in of(recording, "joint.q"):
                found = _position(robot, label, channel, recording) or _turns(channel, recording)
                if found is not None:
                    odd.add(label)
                    yield found
            yield from _rates(recording, odd)
            yield from _links(recording)


def _position(robot: Robot, label: str, channel: Channel, recording: Recording) -> Finding | None:
    if channel.width != 1 or label not in robot.dofs:
        return None
    si = "rad" if label in robot.angular else "m"
    low, high = robot.number("lower", label), robot.number("upper", label)
    size, span = float(np.abs(channel.values).max()), float(np.ptp(channel.values))
    limit = max(abs(low), abs(high))
    limited = math.isfinite(limit) and limit > 0
    stated = " or " not in channel.unit
    if limited and size > BEYOND * limit:
        sure = size > SURE * limit
        fits = [u for u in OTHER[si] if size * unit(u).factor <= BACK * limit]
        what = f"reaches {size:.4g} {si}, and the file's limits are {low:.4g} to {high:.4g}"
    elif span > LARGE and not stated and "unwrapped" not in channel.notes:
        fits, what, sure = list(OTHER[si]), f"spans {span:.4g} {si}", True
    else:
        return None
    if not fits:
        return None
    other = f"in {fits[0]} it would be {size * unit(fits[0]).factor:.3g} {si}"
    return Finding(
        Level.ERROR if sure and not stated else Level.WARNING,
        f"{what}: {other}; or it is read on the motor's side of a gear",
        span,
        line("--scale", f"{channel.name}={fits[0]}"),
        channel.name,
        recording=recording.name,
    )


def _turns(channel: Channel, recording: Recording) -> Finding | None:
    """An angle that jumps by full turns."""
    angle = channel.width == 1 and "rad" in channel.unit and "unwrapped" not in channel.notes
    jumps = wrap_jumps(channel.time, channel.values[:, 0]) if angle else np.zeros(0)
    if not jumps.size:
        return None
    return Finding(
        Level.ERROR,
        f"jumps by a full turn {jumps.size} times",
        float(jumps.size),
        line("--unwrap", channel.name),
        channel.name,
        recording=recording.name,
    )


def _rates(recording: Recording, odd: set[str]) -> Iterator[Finding]:
    """Speeds whose size is not that of the positions' rate, or which are another joint's."""
    for label, position in of(recording, "joint.q"):
        speed = recording.channels.get(row_name("joint.qd", label))
        rate = None if speed is None or label in odd else rate_of(position, speed)
        if speed is None or rate is None or rate.agrees:
            continue
        if abs(rate.correlation) < 0.5:
            if rate.moved < 0.1:
                continue  # noise at rest
            what = f"correlation {rate.correlation:.2g} with the rate of {position.name}"
            remedy = line("--rename", f"{speed.name}={row_name('signal', 'qd:' + label)}")
            level, why = Level.WARNING, "is it of the same joint?"
        elif 0.8 < -rate.slope < 1.25:
            continue  # the sign's check
        else:
            what = f"the rate of {position.name} is {rate.slope:.4g} times it"
            remedy = line("--scale", f"{speed.name}={rate.slope:.4g}")
            level, why = Level.ERROR, rate.reason or "another unit or scale"
        yield Finding(
            level, f"{what}: {why}", rate.slope, remedy, speed.name, recording=recording.name
        )


def _links(recording: Recording) -> Iterator[Finding]:
    for _, channel in of(recording, "link.linear_acceleration"):
        size = float(np.median(np.linalg.norm(channel.values, axis=1)))
        if IN_G[0] < size < IN_G[1]:
            yield Finding(
                Level.ERROR,
                f"has a median size of {size:.3g} m/s^2: gravity in g",
                size,
                line("--scale", f"{channel.name}=g"),
                channel.name,
                recording=recording.name,
            )
    for _, channel in of(recording, "link.position"):
        span = float(np.ptp(channel.values, axis=0).max())
        if span > LARGE:
            yield Finding(
                Level.WARNING,
                f"spans {span:.4g} m",
                span,
                line("--scale", f"{channel.name}=mm"),
                channel.name,
                recording=recording.name,
            )


def _clock(recording: Recording) -> Iterator[Finding]:
    channels = [c for _, c in of(recording) if len(c.time) >= SAMPLES]
    step = min((c.interval for c in channels), default=0.0)
    if step >= 1:
        guess = "ms" if step < 1e3 else "us" if step < 1e6 else "ns"
        yield Finding(
            Level.ERROR,
            f"samples are {step:g} s apart: a clock in {guess}",
            step,
            line("--clock", guess),
            recording=recording.name,
        )
