"""What a look at the recordings beside the robot file tells before a fit: one class per check."""

from graftsim.check.check import Check
from graftsim.check.checks import CHECKS, check, not_made
from graftsim.check.finding import Finding, Group, Level, grouped
from graftsim.check.robot import Robot
from graftsim.check.robot_numbers import check_robot

__all__ = [
    "CHECKS",
    "Check",
    "Finding",
    "Group",
    "Level",
    "Robot",
    "check",
    "check_robot",
    "grouped",
    "not_made",
]
