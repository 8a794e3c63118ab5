"""Mapping presets: kinds of logs whose columns say what they are. A preset is one class."""

from graftsim.io.logs.presets.joint_state import JointState
from graftsim.io.logs.presets.lerobot_names import LeRobotNames
from graftsim.io.logs.presets.plain_arrays import PlainArrays
from graftsim.io.logs.presets.preset import Guess as Guess, Preset as Preset, Proposal as Proposal
from graftsim.io.logs.presets.trajectory_controller import TrajectoryController
from graftsim.io.logs.presets.unitree import Unitree
from graftsim.io.logs.presets.unnamed_commands import UnnamedCommands

PRESETS: tuple[Preset, ...] = (
    JointState(),
    TrajectoryController(),
    Unitree(),
    LeRobotNames(),
    PlainArrays(),
    UnnamedCommands(),
)
"""Of a channel that several propose, the first counts."""
