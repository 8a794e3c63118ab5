"""Names that LeRobot gives to the parts of state and action: `shoulder_pan.pos`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, final

import numpy as np

from graftsim.io.logs.columns import ColumnSpec
from graftsim.io.logs.names import RobotNames, matched
from graftsim.io.logs.presets.preset import Family, Preset, Proposal, guesses_of, labelled
from graftsim.io.logs.tables import Table

_QUANTITIES = {"pos": "joint.q", "vel": "joint.qd", "effort": "joint.tau", "torque": "joint.tau"}
STATE = "observation.state, without names in the data set, in the order of the robot's joints"
LARGEST_TURN = 2 * np.pi + 0.1
"""A joint of an arm that goes beyond a full turn is rather in degrees."""


@final
class LeRobotNames(Preset):
    """`observation.state[NAME.pos]` is measured, `action[NAME.pos]` desired; old data sets have no
    ending, or no names.
    """

    name: ClassVar[str] = "LeRobot names"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """Degrees where the numbers go beyond a full turn; a gripper's 0 to 100 is its travel."""
        families = _named(table, {rf"(?P<label>.+)\.{e}": q for e, q in _QUANTITIES.items()})
        families = families or _named(table, {r"(?P<label>[^\d\]].*)": "joint.q"})
        families = families or _in_order(table, robot)
        if not families:
            return None
        specs, notes = _specs(families, table, robot)
        guesses, more = guesses_of(families, robot, specs)
        return Proposal(tuple(guesses), (*notes, *more))


def _named(table: Table, quantities: Mapping[str, str]) -> list[Family]:
    """State and action by patterns of labels, each of a quantity."""
    return [
        Family(quantity, columns, path, commanded)
        for array, commanded in (("observation.state", False), ("action", True))
        for label, quantity in quantities.items()
        for path, columns in labelled(table, rf"(?P<path>{array})\[{label}\]").items()
    ]


def _in_order(table: Table, robot: RobotNames | None) -> list[Family]:
    """State and action without names, in the order of the robot's joints if there are as many."""
    state = table.groups.get("observation.state", ())
    if robot is None or len(state) != len(robot.joints) or state[0] != "observation.state[0]":
        return []
    action = table.groups.get("action", ())
    families = [Family("joint.q", dict(zip(robot.joints, state, strict=True)), STATE)]
    if len(action) == len(state):
        columns = dict(zip(robot.joints, action, strict=True))
        families.append(Family("joint.q", columns, "action", commanded=True))
    return families


def _specs(
    families: list[Family], table: Table, robot: RobotNames | None
) -> tuple[dict[str, ColumnSpec], list[str]]:
    """How each column of positions is read, and what was assumed."""
    specs: dict[str, ColumnSpec] = {}
    degrees, percent = [], []
    positions = {
        label: [
            f.columns[label] for f in families if f.quantity == "joint.q" and label in f.columns
        ]
        for f in families
        if f.quantity == "joint.q"
        for label in f.columns
    }
    cells = table.load([c for columns in positions.values() for c in columns])
    known = matched(positions, robot.joints) if robot else {}
    largest = {
        label: max(float(np.nanmax(np.abs(cells[c].values))) for c in columns)
        for label, columns in positions.items()
    }
    for label, columns in positions.items():
        low, high = robot.travel[known[label]] if robot and label in known else (-np.inf, np.inf)
        if "gripper" in label and largest[label] > 1 and np.isfinite(low) and np.isfinite(high):
            scale = (high - low) / 100
            specs |= {c: ColumnSpec((c,), scale=scale, offset=low) for c in columns}
            percent.append(label)
        elif max(largest.values()) > LARGEST_TURN and (
            not robot or label not in known or known[label] in robot.turning
        ):
            specs |= {c: ColumnSpec((c,), unit="deg") for c in columns}
            degrees.append(label)
    notes = []
    if degrees:
        notes.append(
            f"taken as degrees, which the data set does not state: {', '.join(degrees)}. If they "
            "are -100 to 100 of the travel, give `scale` and `offset` instead"
        )
    if percent:
        notes.append(f"0 to 100 taken as the travel in the robot's file: {', '.join(percent)}")
    return specs, notes
