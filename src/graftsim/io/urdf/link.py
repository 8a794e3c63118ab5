"""One URDF `<link>` with the joint that carries it."""

from __future__ import annotations

from dataclasses import dataclass

from graftsim.io.robot.xml_lines import Element
from graftsim.io.urdf.inertia import Body
from graftsim.io.urdf.joint import Joint


@dataclass(eq=False)
class Link:
    """A link as it was read; joint None: the root."""

    element: Element
    body: Body
    joint: Joint | None

    @property
    def name(self) -> str:
        """Its name."""
        return self.element.attributes["name"]
