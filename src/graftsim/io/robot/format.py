"""What a format of robot files is: which files are its own, how they are read and written.

A format is one class in a file of its own. A user's is read by `graftsim.load(path,
formats=(*graftsim.ROBOT_FORMATS, Mine()))` and written by `graftsim.write_robot(model, path,
Mine())`.
"""

from __future__ import annotations

import abc
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import ClassVar, Literal

from graftsim.io.robot.xml_lines import Element
from graftsim.model.model import Model

Base = Literal["auto", "fixed", "free"]


# Kinds of things that `without` leaves out where they have no counterpart, and what they are.
WITHOUT = {
    "actuators": "actuators of another law or transmission (muscles, ...), limits of their sums",
    "equality": "constraints between joints and bodies",
    "flexes": "flexible bodies",
    "fluid": "fluid forces of another model than that of boxes, or with wind",
    "inertia": "what the shapes whose mesh is missing weigh",
    "meshes": "shapes whose mesh is missing or cannot be read",
    "plugins": "plugins",
    "springs": "nonlinear stiffness and damping, plastic yield",
    "surfaces": "adhesion and velocity of surfaces",
    "tendons": "tendons through space, or with limits, and the actuators on them",
}


@dataclass(frozen=True)
class ReadOptions:
    """Options of `graftsim.load`, which says what they mean; None: not given."""

    base: Base | None = None
    repair_inertia: bool | None = None
    package_dirs: Sequence[str | Path] | None = None
    ground: float | None = None
    self_collision: bool | None = None
    armature: Mapping[str, float] | None = None
    without: Sequence[str] | None = None

    def given(self) -> list[str]:
        """Names of those that were given."""
        return [f.name for f in fields(self) if getattr(self, f.name) is not None]

    def leaves_out(self, kind: str) -> bool:
        """Whether things of this kind (of `WITHOUT`) are left out where they cannot be read."""
        return kind in (self.without or ())


class RobotFormat(abc.ABC):
    """A format of robot files: XML whose root element has the tag `root`.

    name: as it is called in messages. suffix: of its files. options: those of `ReadOptions` that
    have a meaning for it; `unfit` says why the others have none, or is empty.
    """

    name: ClassVar[str]
    root: ClassVar[str]
    suffix: ClassVar[str]
    options: ClassVar[tuple[str, ...]]
    unfit: ClassVar[str] = ""

    @abc.abstractmethod
    def read(self, root: Element, options: ReadOptions) -> Model:
        """The model in a file, of which `root` is the root element.

        Raises FileError, with file, line, element and remedy, for what a model cannot represent.
        """

    @abc.abstractmethod
    def write(self, model: Model) -> tuple[ET.Element, list[str]]:
        """The root element of a file, and what of the model it cannot say, one sentence each.

        Raises FileError for a model that no file of this format can stand for.
        """
