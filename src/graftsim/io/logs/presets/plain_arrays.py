"""Arrays with a column for each joint: `joint_position` [n, d], `commanded_position`, `qpos` ..."""

from __future__ import annotations

import re
from typing import ClassVar, final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets.preset import COMMANDS, Family, Preset, Proposal, guesses_of
from graftsim.io.logs.tables import Table
from graftsim.selectors import row_name

# By the last part of an array's name, without what says that it is desired.
_QUANTITIES = {
    "joint.q": "joint_positions? joint_pos dof_pos qpos q positions? joint_angles? angles?",
    "joint.qd": "joint_velocit(?:y|ies) joint_vel dof_vel qvel dq qd velocit(?:y|ies)",
    "joint.tau": "joint_torques? joint_efforts? dof_torques? torques? efforts? tau taus",
}
_SHAPES = {
    quantity: re.compile("|".join(f"(?:robot\\d*_)?(?:{n})" for n in names.split()))
    for quantity, names in _QUANTITIES.items()
}
_DESIRED = re.compile(
    r"(?:commanded|command|cmd|desired|des|target|goal|reference|ref|ctrl|action)s?_"
    r"|_(?:commanded|command|cmd|desired|des|target|goal|reference|ref)s?\b"
)
_GAINS = {"kp": "actuator.kp", "kd": "actuator.kd"}


@final
class PlainArrays(Preset):
    """Recognised by the arrays' names; joints are taken in the robot's order."""

    name: ClassVar[str] = "arrays of all joints"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """An array goes to the robot's joints, or to those with an actuator, by its width."""
        families, notes = [], []
        for name, columns in table.groups.items():
            quantity, commanded = _meaning(name)
            numbered = tuple(f"{name}[{k}]" for k in range(len(columns)))
            if quantity is None or columns != numbered:  # names are never passed over for places
                continue
            joints = _order(columns, robot)
            if joints is None:
                notes.append(
                    f"array {name!r} has {len(columns)} columns, the robot "
                    f"{'is not known' if robot is None else f'{len(robot.joints)} joints'}"
                )
                continue
            families.append(
                Family(quantity, dict(zip(joints, columns, strict=True)), name, commanded)
            )
        if not families:
            return Proposal((), tuple(notes)) if notes and robot else None
        guesses, more = guesses_of(families, robot)
        order = ", ".join(families[0].columns)
        notes.append(f"columns of arrays taken in the order of the robot's joints: {order}")
        start = _gains(table, list(families[0].columns), robot)
        return Proposal(tuple(guesses), (*notes, *more), start)


def _meaning(name: str) -> tuple[str | None, bool]:
    """The quantity of an array of joints, and whether it is desired."""
    *above, last = re.split(r"[/.]", name)
    plain = _DESIRED.sub("", last.lower())
    commanded = plain != last.lower() or any(COMMANDS.fullmatch(part) for part in above)
    for quantity, shape in _SHAPES.items():
        if shape.fullmatch(plain):
            return quantity, commanded
    # A policy's action is a desired position, unless the log has a better name for it.
    return ("joint.q", True) if last.lower() in ("action", "actions") else (None, False)


def _order(columns: tuple[str, ...], robot: RobotNames | None) -> tuple[str, ...] | None:
    if robot is None:
        return None
    if len(columns) == len(robot.joints):
        return robot.joints
    driven = {drive.dof for drive in robot.drives}
    moved = tuple(joint for joint in robot.joints if joint in driven)
    return moved if len(columns) == len(moved) else None


def _gains(table: Table, joints: list[str], robot: RobotNames | None) -> dict[str, float]:
    """Constant gains of servos that the log states, one number for each joint."""
    found: dict[str, float] = {}
    for name, parameter in _GAINS.items():
        if name not in table.names or robot is None:
            continue
        try:
            values = table.load([name])[name].values
        except LogError:
            continue
        if len(values) != len(joints) or not np.isfinite(values).all():
            continue
        for joint, value in zip(joints, values.tolist(), strict=True):
            for drive in robot.drives:
                if drive.dof == joint and drive.kind == "position":
                    found[row_name(parameter, drive.name)] = value
    return found
