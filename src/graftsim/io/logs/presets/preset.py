"""What a mapping preset is: one class, that knows the names of one kind of log."""

from __future__ import annotations

import abc
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from graftsim.io.logs.columns import ColumnSpec
from graftsim.io.logs.names import RobotNames, matched
from graftsim.io.logs.tables import Table
from graftsim.selectors import row_name

KINDS = {
    "joint.q": "position",
    "joint.qd": "velocity",
    "joint.tau": "torque",
    "kp": "kp",
    "kd": "kd",
}
"""Kind of the actuator that a desired value of a joint's quantity commands, or its input."""


@dataclass(frozen=True)
class Guess:
    """A channel, the columns that it is taken from, and why."""

    channel: str
    spec: ColumnSpec
    reason: str


@dataclass(frozen=True)
class Proposal:
    """What a preset found. start: values of parameters that the log states, by selector."""

    guesses: tuple[Guess, ...]
    notes: tuple[str, ...] = ()
    start: Mapping[str, float] | None = None


class Preset(abc.ABC):
    """Channels of a log by the names of its columns. name: as it is called in notes."""

    name: ClassVar[str]

    @abc.abstractmethod
    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """Channels of a robot, or of whatever the log names without one; None: another kind."""


@dataclass(frozen=True)
class Family:
    """Columns of one quantity of many joints: `joint.q` and the like, by the log's joint names.

    commanded: whether they are desired values. origin: what says so, for notes and reasons.
    """

    quantity: str
    columns: Mapping[str, str]
    origin: str
    commanded: bool = False


def guesses_of(
    families: list[Family], robot: RobotNames | None, specs: Mapping[str, ColumnSpec] | None = None
) -> tuple[list[Guess], list[str]]:
    """Guesses for families of columns, joints matched by name; and notes on what fits no joint.

    A desired value goes to the actuator that takes it; where the robot has none, it is kept as
    `signal[desired.q:JOINT]`. specs: how a column is read, where not as it is (SI).
    """
    guesses: list[Guess] = []
    missing: dict[str, list[str]] = {}
    for family in families:
        known = matched(family.columns, robot.joints) if robot else {n: n for n in family.columns}
        for name, column in family.columns.items():
            if name not in known:
                missing.setdefault(family.origin, []).append(name)
                continue
            joint = known[name]
            channel, why = _channel(family, joint, robot)
            same = "" if name == joint else f", {name!r} taken for {joint!r}"
            spec = (specs or {}).get(column, ColumnSpec((column,)))
            what = "desired" if family.commanded else "measured"
            guesses.append(Guess(channel, spec, f"{what} by {family.origin}{why}{same}"))
    notes = [
        f"{origin}: no joint of the robot is called {', '.join(dict.fromkeys(names))}"
        + (f" (it has {', '.join(robot.joints)})" if robot else "")
        for origin, names in missing.items()
    ]
    return guesses, notes


def _channel(family: Family, joint: str, robot: RobotNames | None) -> tuple[str, str]:
    if not family.commanded:
        return row_name(family.quantity, joint), ""
    kind = KINDS.get(family.quantity)
    control = robot.control(joint, kind, beside=True) if robot and kind else None
    if control:
        return control, f", for its {kind} actuator"
    short = family.quantity.removeprefix("joint.")
    why = f", the robot has no {kind} actuator there" if robot and kind else ""
    return row_name("signal", f"desired.{short}:{joint}"), why


def labelled(table: Table, pattern: str) -> dict[str, dict[str, str]]:
    """Columns that a pattern with groups `path` and `label` matches: path -> label -> column."""
    found: dict[str, dict[str, str]] = {}
    shape = re.compile(pattern, re.DOTALL)
    for column in table.names:
        if match := shape.fullmatch(column):
            found.setdefault(match["path"], {})[match["label"]] = column
    return found


COMMANDS = re.compile(r"command|cmd|desired|target|goal|reference|action|setpoint", re.IGNORECASE)
"""In the name of a topic or array: what is wanted, not what is."""
