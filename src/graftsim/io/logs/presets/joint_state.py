"""`sensor_msgs/JointState` and what has its fields: position, velocity, effort by joint name."""

from __future__ import annotations

from typing import ClassVar, final

from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets.preset import (
    COMMANDS,
    Family,
    Preset,
    Proposal,
    guesses_of,
    labelled,
)
from graftsim.io.logs.tables import Table

_FIELDS = {"position": "joint.q", "velocity": "joint.qd", "effort": "joint.tau"}


@final
class JointState(Preset):
    """Measured state, or commands if the topic's name says so."""

    name: ClassVar[str] = "sensor_msgs/JointState"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """Of several topics that have a joint, the first counts."""
        families = []
        for field, quantity in _FIELDS.items():
            pattern = rf"(?P<path>.*[^.])\.{field}\[(?P<label>[^\d\]].*)\]"
            for topic, columns in labelled(table, pattern).items():
                commanded = bool(COMMANDS.search(topic))
                families.append(Family(quantity, columns, f"{topic}.{field}", commanded))
        if not families:
            return None
        guesses, notes = guesses_of(families, robot)
        if any(g.channel.startswith("joint.tau[") for g in guesses):
            notes.append(
                "effort is taken as N m (N), as the message defines it; some drivers write A (UR) "
                "or counts (Dynamixel, Feetech) there: state `unit` or `scale` then"
            )
        return Proposal(tuple(guesses), tuple(notes))
