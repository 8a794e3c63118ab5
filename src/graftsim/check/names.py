"""Are the names of channels those of the robot?"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from typing import ClassVar

from graftsim.check.check import Check, of
from graftsim.check.finding import Finding, Level, line
from graftsim.check.robot import Robot
from graftsim.model.catalogue import labels
from graftsim.recordings.channels import split_name
from graftsim.recordings.recording import Recording
from graftsim.selectors import row_name


class Names(Check):
    """Joints, links, frames and actuators that channels name, against those of the file."""

    name: ClassVar[str] = "names"
    help: ClassVar[str] = "channels name joints, links and actuators of the file"

    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """An error for each channel that names nothing of the robot, and for torques that would
        drive a joint without a torque actuator; a warning for a column that feeds two channels, and
        for a base that floats and is not recorded.
        """
        yield from _floating(robot, recordings)
        yield from _undriven(robot, recordings)
        for recording in recordings:
            yield from _shared(recording)
        seen = set()
        for recording in recordings:
            for label, channel in of(recording):
                name = split_name(channel.name)
                if name is None or channel.name in seen:
                    continue
                known = _known(robot, name.quantity, channel.width)
                if label in known or (name.quantity == "control" and label in _inputs(robot)):
                    continue
                seen.add(channel.name)
                near = difflib.get_close_matches(label, known, n=1, cutoff=0.5)
                free = [k for k in near if row_name(name.quantity, k) not in recording]
                target = row_name(name.quantity, free[0]) if free else row_name("signal", label)
                kind = "actuator" if name.quantity == "control" else name.quantity.split(".")[0]
                hint = f"the nearest is '{free[0]}'" if free else "as a signal it is not used"
                yield Finding(
                    Level.ERROR,
                    f"the robot has no {kind} '{label}' among its {len(known)}; {hint}",
                    float(len(known)),
                    line("--rename", f"{channel.name}={target}"),
                    channel.name,
                    recording=recording.name,
                )


def _floating(robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
    """A floating base of which no channel of a link or of its own coordinates tells anything."""
    tree = robot.model.tree
    for link, kind, own in zip(tree.links, tree.joint_types, tree.v_index, strict=True):
        if not kind.is_pose:
            continue
        labels_ = {tree.dofs[v] for v in own}
        channels = (c for r in recordings for c in of(r))
        if not any(c.name.startswith("link.") or label in labels_ for label, c in channels):
            yield Finding(
                Level.WARNING,
                f"'{link}' floats in the file as it was read, and nothing records where it is: a "
                "robot on a stand has a fixed base",
                float(len(own)),
                line("--base", "fixed"),
            )


def _undriven(robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
    """Torques without any command drive a simulation: through torque actuators alone."""
    a, dofs = robot.model.actuator, robot.model.tree.dofs
    if any(True for r in recordings for _ in of(r, "control")):
        return
    seen = {}
    for recording in recordings:
        seen |= {c.name: (label, recording) for label, c in of(recording, "joint.tau")}
    for name, (label, recording) in seen.items():
        acting = [i for i, d in enumerate(a.dof) if d >= 0 and dofs[d] == label]
        if label not in robot.dofs or any(a.kinds[i] == "torque" for i in acting):
            continue
        there = " and ".join(f"the {a.kinds[i]} actuator '{a.names[i]}'" for i in acting)
        yield Finding(
            Level.ERROR,
            f"would drive the simulation, but {there or 'no actuator'} acts on its joint",
            float(len(acting)),
            line("--actuators", "torque"),
            name,
            recording=recording.name,
        )


def _shared(recording: Recording) -> Iterator[Finding]:
    """Channels of one quantity that were read from the same columns."""
    first: dict[tuple[str, ...], str] = {}
    for label, channel in of(recording):
        quantity = channel.name.partition("[")[0]
        origin = (quantity, channel.source, *channel.column_names)
        other = first.setdefault(origin, channel.name)
        if other != channel.name:
            yield Finding(
                Level.WARNING,
                f"comes from the same column as {other}",
                2.0,
                line("--rename", f"{channel.name}={row_name('signal', label)}"),
                channel.name,
                recording=recording.name,
            )


def _inputs(robot: Robot) -> tuple[str, ...]:
    """What drives take beside their commands, each a control where a log has it: `knee.torque`."""
    a = robot.model.actuator
    pairs = zip(a.names, a.drives, strict=True)
    return tuple(f"{name}.{x}" for name, drive in pairs for x in drive.inputs)


def _known(robot: Robot, quantity: str, width: int) -> tuple[str, ...]:
    """Labels that channels of this quantity may have."""
    model = robot.model
    if quantity == "control":
        return model.actuator.names
    if quantity.startswith("link."):
        return (*labels(model, "link"), *labels(model, "frame"))
    return labels(model, "dof") if width == 1 else labels(model, "joint")
