"""Values that stand at an end of what can be: commands, torques, and joints at their limits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.model.catalogue import acts_on
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name

# Share of samples at an end that is more than a touch, samples in a row, and how much longer than
# usual a value is held at an end that cuts off.
SHARE, ROW, LONG = 0.02, 4, 5.0
# Within these shares of its travel before and behind its limit a joint is at it, and rests there
# below this share of its usual speed.
NEAR, BEHIND, STILL = 0.005, 0.02, 0.1
# A signal of fewer values than this is a sequence of steps, not one cut off.
VALUES = 20
# A stop is modelled as a spring with a period of so many steps.
PERIOD = 20


class Saturation(Check):
    """Flat tops of commands and torques; joints that rest on the limits of the file."""

    name: ClassVar[str] = "saturation"
    help: ClassVar[str] = "commands, torques and positions at an end of their range"
    needs: ClassVar[tuple[str, ...]] = ("control", "joint.tau", "joint.q")

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """Warnings for joints on stops that the model lacks, notes for the others."""
        for recording in recordings:
            for label, channel in of(recording, "control", "joint.tau"):
                yield from _flat(robot, label, channel, recording)
            for label, channel in of(recording, "joint.q"):
                if channel.width == 1 and len(channel.time) >= VALUES and label in robot.dofs:
                    yield from _limits(robot, label, channel, recording)


def _flat(robot: Robot, label: str, channel: Channel, recording: Recording) -> Iterator[Finding]:
    values = channel.values[:, 0]
    # Commands are held, and a plan may pause: an end that is held far longer than others is cut.
    held = np.diff(np.flatnonzero(np.concatenate([[True], np.diff(values) != 0, [True]])))
    if len(held) < VALUES or len(np.unique(values)) < VALUES:
        return
    row = max(ROW, int(LONG * np.median(held)))
    for end, sign in ((values.max(), 1), (values.min(), -1)):
        share = _resting(values == end, row)
        if share <= SHARE or end == 0:
            continue
        remedy = _bound(robot, label, channel, float(end), sign)
        yield Finding(
            Level.NOTE,
            f"stands at its {'largest' if sign > 0 else 'smallest'} value {end:.4g} for "
            f"{100 * share:.2g} % of the samples: cut off there",
            share,
            remedy,
            channel.name,
            recording=recording.name,
        )


def _bound(robot: Robot, label: str, channel: Channel, end: float, sign: int) -> str:
    """The flag that gives the model the same bound, or leaves that channel out of the fit."""
    a = robot.model.actuator
    side = "upper" if sign > 0 else "lower"
    if channel.name.startswith("control["):
        return line("--start", f"{row_name(f'actuator.control_{side}', label)}={end:.6g}")
    at = [i for i, joint in enumerate(acts_on(robot.model)) if joint == label]
    if not at:
        return line("--rename", f"{channel.name}={row_name('signal', 'tau:' + label)}")
    name = row_name(f"actuator.force_{side}", a.names[at[0]])
    return line("--start", f"{name}={end / float(a.gear[at[0]]):.6g}")


def _limits(robot: Robot, label: str, channel: Channel, recording: Recording) -> Iterator[Finding]:
    q = channel.values[:, 0]
    low, high = robot.number("lower", label), robot.number("upper", label)
    travel = high - low if math.isfinite(high - low) else 1.0
    for limit, side, past in ((low, "lower", low - q), (high, "upper", q - high)):
        if not math.isfinite(limit) or past.max() < -NEAR * travel:
            continue
        at = (past > -NEAR * travel) & (past < BEHIND * travel)
        share = _resting(at & _still(channel))
        if share <= SHARE:
            continue
        enforced = robot.number("limit_stiffness", label) > 0
        stiffness = robot.inertia[robot.dofs[label]] * (2 * math.pi / (PERIOD * _step(robot))) ** 2
        name = row_name("joint.limit_stiffness", label)
        more = "" if enforced else ", which the model does not enforce"
        yield Finding(
            Level.NOTE if enforced else Level.WARNING,
            f"rests on the file's {side} limit {limit:.4g} for {100 * share:.2g} % of the "
            f"samples{more}",
            share,
            line("--free", f"{name}=0:")
            if enforced
            else line("--start", f"{name}={stiffness:.2g}"),
            channel.name,
            recording=recording.name,
        )


def _step(robot: Robot) -> float:
    return (robot.dt or 0.005) / robot.substeps


def _still(channel: Channel) -> Bool[np.ndarray, " n"]:
    """Where a joint moves below `STILL` of its usual speed, by differences over five samples."""
    t, q = channel.time, channel.values[:, 0]
    span = min(5, len(t) - 1)
    speed = np.abs(q[span:] - q[:-span]) / (t[span:] - t[:-span])
    usual = float(np.sqrt(np.mean(speed**2)))
    return np.pad(speed, (span // 2, span - span // 2), mode="edge") <= STILL * usual


def _resting(at: Bool[np.ndarray, " n"], row: int = ROW) -> float:
    """Share of samples that are in rows of at least `row`."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], at.astype(int), [0]])))
    lengths = edges[1::2] - edges[::2]
    return float(lengths[lengths >= row].sum() / len(at))
