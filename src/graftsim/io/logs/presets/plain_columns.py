"""Single columns by the words in their names: `q_1`, `elbow_pos_deg`, `actual_qd_3`, `tau_cmd2`.

A guess for `graftsim import`, which writes it down to be checked; never taken unasked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from graftsim.errors import LogError
from graftsim.io.logs.columns import ColumnSpec, clock_in_header
from graftsim.io.logs.names import RobotNames, matched
from graftsim.io.logs.presets.lerobot_names import LARGEST_TURN
from graftsim.io.logs.presets.preset import KINDS, Guess, Preset, Proposal
from graftsim.io.logs.tables import Table
from graftsim.recordings.units import unit as unit_of
from graftsim.selectors import row_name

_WORDS = {
    "joint.q": "q pos position positions angle angles theta qpos th joint_angle",
    "joint.qd": "qd dq vel velocity velocities speed omega qvel qdot thetadot dtheta",
    "joint.qdd": "qdd ddq acc acceleration qacc",
    "joint.tau": "tau torque torques effort efforts moment trq tq",
    "current": "current currents cur amps",
    "kp": "kp",
    "kd": "kd",
}
_QUANTITY = {word: quantity for quantity, words in _WORDS.items() for word in words.split()}
_COMMAND = {
    *("u", "cmd", "command", "commanded", "con", "ctrl", "control", "action"),
    *("des", "desired", "ref", "reference", "target", "goal", "set", "setpoint", "sp"),
}
_NOISE = {
    *("meas", "measured", "actual", "act", "msr", "filt", "filtered", "est", "estimated", "raw"),
    *("joint", "motor", "state", "states", "value", "data"),
}
_BEFORE_D = {*_QUANTITY, "j"}
_UNITS = {
    "joint.q": {"deg": "deg", "degree": "deg", "degrees": "deg", "rad": "rad", "mm": "mm"},
    "joint.qd": {"deg": "deg/s", "dps": "deg/s", "rad": "rad/s", "rpm": "rpm", "degs": "deg/s",
                 "rads": "rad/s"},
    "joint.tau": {"nm": "N m", "mnm": "mN m"},
}  # fmt: skip
_TOKEN = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


@dataclass(frozen=True)
class _Column:
    """What the words of a column's name say: quantity, whether desired, whose, in what unit."""

    name: str
    quantity: str
    commanded: bool
    owner: str
    number: int | None
    unit: str | None


@final
class PlainColumns(Preset):
    """By the words of each name; joints by name, then by number, whichever way they are counted."""

    name: ClassVar[str] = "columns by the words in their names"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """Measured before desired; units by name, then by range."""
        found = [c for name in table.names if (c := _column(name)) is not None]
        if not found:
            return None
        joints = _joints(found, robot)
        notes = [
            f"{c.name}: no joint is called {c.owner!r}"
            + (f" or has number {c.number}" if c.number is not None else "")
            for c in found
            if c.name not in joints
        ]
        units = _units([c for c in found if c.name in joints], table, joints, robot)
        guesses: dict[str, Guess] = {}
        for column in sorted(found, key=lambda c: c.commanded):
            if column.name in joints:
                guess = _guess(column, joints[column.name], units[column.name], robot)
                guesses.setdefault(guess.channel, guess)
        return Proposal(tuple(guesses.values()), tuple(notes))


def _column(name: str) -> _Column | None:
    if clock_in_header(name) is not None:
        return None
    bare, stated = re.fullmatch(r"(.*?)\s*(?:[(\[]([^()\[\]\d]*)[)\]])?\s*", name).groups()  # type: ignore[union-attr]
    tokens = [t.lower() for t in _TOKEN.findall(bare)]
    kinds = [k for k, t in enumerate(tokens) if t in _QUANTITY]
    # libfranka writes q_d and tau_J_d for what is desired.
    short = [k for k, t in enumerate(tokens) if t == "d" and k and tokens[k - 1] in _BEFORE_D]
    commanded = bool(short) or any(t in _COMMAND for t in tokens)
    if not kinds and not commanded:
        return None
    quantity = _QUANTITY[tokens[kinds[-1]]] if kinds else "command"
    units = _UNITS.get(quantity, {})
    unit = _known(stated) or next((units[t] for t in tokens if t in units), None)
    skip = {*_COMMAND, *_NOISE, *_QUANTITY, *units, *("s" if unit else "")}
    rest = [t for k, t in enumerate(tokens) if t not in skip and k not in short]
    numbers = [int(t) for t in rest if t.isdigit()]
    return _Column(
        name, quantity, commanded, "_".join(rest), numbers[-1] if numbers else None, unit
    )


def _known(stated: str | None) -> str | None:
    """A unit in brackets, if it is one."""
    try:
        return stated if stated and unit_of(stated) else None
    except LogError:
        return None


def _joints(found: list[_Column], robot: RobotNames | None) -> dict[str, str]:
    """Joint of each column: by name, by the number in its name, by its place."""
    if robot is None:
        moving = {c.owner for c in found if c.quantity == "joint.q"} or {c.owner for c in found}
        return {
            c.name: c.owner if not c.owner.isdigit() and c.owner else f"joint{c.owner}"
            for c in found
            if c.owner in moving
        }
    plain = {"_".join(t.lower() for t in _TOKEN.findall(j)): j for j in robot.joints}
    by_name = matched((c.owner for c in found if c.owner and not _bare(c)), list(plain))
    by_number = _numbered({c.number for c in found if c.number is not None and _bare(c)}, robot)
    joints = {}
    for c in found:
        if c.owner in by_name:
            joints[c.name] = plain[by_name[c.owner]]
        elif c.number in by_number and _bare(c):
            joints[c.name] = by_number[c.number]
        elif not c.owner and c.number is None and len(robot.joints) == 1:
            joints[c.name] = robot.joints[0]
    return joints


def _numbered(numbers: set[int], robot: RobotNames) -> dict[int, str]:
    """Joint of each number: by the last number in its name, if all have one; else counted."""
    ends = {joint: re.findall(r"\d+", joint) for joint in robot.joints}
    named = {n: [j for j, own in ends.items() if own and int(own[-1]) == n] for n in numbers}
    if all(len(joints) == 1 for joints in named.values()):
        return {n: joints[0] for n, joints in named.items()}
    first = min(numbers, default=-1)
    if first not in (0, 1):
        return {}
    return {n: robot.joints[n - first] for n in numbers if n - first < len(robot.joints)}


def _bare(column: _Column) -> bool:
    """Whether the owner is but a number, or a letter or two before it (`j3`)."""
    return column.number is not None and len(re.sub(r"[\d_]", "", column.owner)) <= 2


def _units(
    found: list[_Column], table: Table, joints: Mapping[str, str], robot: RobotNames | None
) -> dict[str, tuple[str | None, str]]:
    """Unit of each column and why: by its name, else degrees where positions pass a full turn."""
    positions = [c.name for c in found if c.quantity == "joint.q" and c.unit is None]
    turning = [n for n in positions if robot is None or joints[n] in robot.turning]
    cells = table.load(turning)
    far = [n for n in turning if np.nanmax(np.abs(cells[n].values), initial=0.0) > LARGEST_TURN]
    units: dict[str, tuple[str | None, str]] = {}
    for c in found:
        if c.unit is not None:
            units[c.name] = c.unit, f"unit {c.unit} by its name"
        elif c.name in far and "motor" in c.name.lower():
            units[c.name] = None, "beyond a full turn: give `scale`, 1/gear on the motor's side"
        elif c.name in turning and far and "motor" not in c.name.lower():
            units[c.name] = "deg", f"degrees, since {far[0]} goes beyond a full turn"
        else:
            units[c.name] = None, "SI, no unit stated"
    return units


def _guess(
    column: _Column, joint: str, unit: tuple[str | None, str], robot: RobotNames | None
) -> Guess:
    spec = ColumnSpec((column.name,), unit=unit[0])
    what = "desired" if column.commanded else "measured"
    reason = f"{what} {column.quantity} of {joint} by the words in its name; {unit[1]}"
    drives = [d for d in robot.drives if d.dof == joint] if robot else []
    if column.quantity == "command":
        if len(drives) == 1:
            return Guess(row_name("control", drives[0].name), spec, f"{reason}; its only actuator")
        return Guess(row_name("signal", f"command:{joint}"), spec, f"{reason}; no actuator for it")
    if column.quantity in ("current", "kp", "kd"):
        more = "; a torque needs the motor's constant as `scale`"
        channel = row_name("signal", f"{column.quantity}:{joint}")
        return Guess(channel, spec, reason + (more if column.quantity == "current" else ""))
    if not column.commanded:
        return Guess(row_name(column.quantity, joint), spec, reason)
    kind = KINDS.get(column.quantity)
    control = robot.control(joint, kind) if robot and kind else None
    if control:
        return Guess(control, spec, f"{reason}; for its {kind} actuator")
    if column.quantity == "joint.tau":
        more = "; without a torque actuator it drives the simulation"
        return Guess(row_name("joint.tau", joint), spec, reason + more)
    short = column.quantity.removeprefix("joint.")
    return Guess(row_name("signal", f"desired.{short}:{joint}"), spec, f"{reason}; no actuator")
