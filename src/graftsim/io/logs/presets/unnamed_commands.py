"""Commands without names, `std_msgs/Float64MultiArray`: only the user knows whose they are."""

from __future__ import annotations

from typing import ClassVar, final

from graftsim.io.logs.names import RobotNames
from graftsim.io.logs.presets.preset import COMMANDS, Preset, Proposal
from graftsim.io.logs.tables import Table


@final
class UnnamedCommands(Preset):
    """Topics of numbers whose name says that they command; asked for in a note."""

    name: ClassVar[str] = "commands without names"

    def propose(self, table: Table, robot: RobotNames | None) -> Proposal | None:
        """No channel, but how to map them."""
        notes = [
            f"{name} has {len(columns)} numbers without names: say whose they are, such as "
            f"'control[ACTUATOR]={columns[0]}'"
            for name, columns in table.groups.items()
            if name.endswith(".data") and COMMANDS.search(name) and columns[0] == f"{name}[0]"
        ]
        return Proposal((), tuple(notes)) if notes else None
