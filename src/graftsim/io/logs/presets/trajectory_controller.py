"""State of a `JointTrajectoryController`: desired beside actual, by joint name."""

from __future__ import annotations

from typing import ClassVar, final

from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets.preset import Family, Preset, Proposal, guesses_of, labelled
from graftsim.io.logs.tables import Table

_FIELDS = {"positions": "joint.q", "velocities": "joint.qd", "effort": "joint.tau"}
# Old and new names: control_msgs renamed desired and actual in ROS 2 Humble.
_DESIRED, _ACTUAL = ("reference", "desired"), ("feedback", "actual")


@final
class TrajectoryController(Preset):
    """`control_msgs/JointTrajectoryControllerState`."""

    name: ClassVar[str] = "JointTrajectoryController state"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """State from `feedback` or `actual`, commands from `reference` or `desired`."""
        families = []
        for part in (*_DESIRED, *_ACTUAL):
            for field, quantity in _FIELDS.items():
                pattern = rf"(?P<path>.*)\.{part}\.{field}\[(?P<label>[^\d\]].*)\]"
                for topic, columns in labelled(table, pattern).items():
                    origin = f"{topic}.{part}.{field}"
                    families.append(Family(quantity, columns, origin, part in _DESIRED))
        if not any(family.commanded for family in families):
            return None
        guesses, notes = guesses_of(families, robot)
        return Proposal(tuple(guesses), tuple(notes))
