"""URDF among the formats of robot files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import final

from graftsim.io.robot.format import ReadOptions, RobotFormat
from graftsim.io.robot.xml_lines import Element
from graftsim.io.urdf.read import read_urdf
from graftsim.io.urdf.write import urdf_element
from graftsim.model.model import Model


@final
class URDF(RobotFormat):
    """The Unified Robot Description Format of ROS, with Bullet's extensions."""

    name = "URDF"
    root = "robot"
    suffix = ".urdf"
    options = (
        "base",
        "repair_inertia",
        "package_dirs",
        "ground",
        "self_collision",
        "armature",
        "without",
    )

    def read(self, root: Element, options: ReadOptions) -> Model:
        """With the meaning of the standard, in exact doubles."""
        return read_urdf(root, options)

    def write(self, model: Model) -> tuple[ET.Element, list[str]]:
        """A single free root link becomes URDF's root; anything else hangs on a link 'world'."""
        return urdf_element(model)
