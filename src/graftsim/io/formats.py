"""The formats of robot files that the package reads and writes."""

from __future__ import annotations

from graftsim.io.mjcf.format import MJCF
from graftsim.io.robot.format import RobotFormat
from graftsim.io.urdf.format import URDF

ROBOT_FORMATS: tuple[RobotFormat, ...] = (URDF(), MJCF())
