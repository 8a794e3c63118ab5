"""MJCF among the formats of robot files."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import final

from graftsim.errors import FileError
from graftsim.io.mjcf.read import read_mjcf
from graftsim.io.mjcf.write import mjcf_element
from graftsim.io.robot.format import ReadOptions, RobotFormat
from graftsim.io.robot.xml_lines import Element
from graftsim.model.model import Model


@final
class MJCF(RobotFormat):
    """MuJoCo's format."""

    name = "MJCF"
    root = "mujoco"
    suffix = ".xml"
    options = ("ground", "self_collision", "armature", "without")
    unfit = (
        "the file says itself how its bodies meet the world, and MuJoCo compiles its inertias and "
        "meshes"
    )

    def read(self, root: Element, options: ReadOptions) -> Model:
        """Through MuJoCo's compiler: defaults, includes and meshes mean what they mean there."""
        try:
            return read_mjcf(root, options)
        except UnicodeDecodeError as e:
            name = e.object.decode("utf-8", errors="replace")
            raise FileError(
                f"{root.path}: the name '{name[:80]}' is not in UTF-8, which MuJoCo reads whatever "
                "the file declares. Save the file, and what it includes, as UTF-8."
            ) from None

    def write(self, model: Model) -> tuple[ET.Element, list[str]]:
        """With every digit; reading it back gives the same degrees of freedom in the same order."""
        return mjcf_element(model)
