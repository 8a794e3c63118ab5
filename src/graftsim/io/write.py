"""Models as robot files. What a format cannot say is listed: in the file, and to the caller."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

from graftsim.errors import FileError
from graftsim.io.mjcf.format import MJCF
from graftsim.io.robot.format import RobotFormat
from graftsim.io.urdf.format import URDF
from graftsim.model.model import Model


def write_urdf(model: Model, path: str | Path, *, lossy: bool = False) -> list[str]:
    """Write a model as URDF; returns what the format could not express, one sentence each.

    A single free root link is written as URDF's root, as other programs expect of a floating base;
    anything else hangs on a link 'world'. Frames become fixed links without mass.

    Raises as `write_robot`.
    """
    return write_robot(model, path, URDF(), lossy=lossy)


def write_mjcf(model: Model, path: str | Path, *, lossy: bool = True) -> list[str]:
    """Write a model as MJCF; returns what the format could not express, one sentence each.

    Reading the file back gives the same degrees of freedom in the same order, and the same mass
    matrix and bias forces.

    Raises as `write_robot`.
    """
    return write_robot(model, path, MJCF(), lossy=lossy)


def write_robot(
    model: Model, path: str | Path, form: RobotFormat, *, lossy: bool = False
) -> list[str]:
    """Write a model in a format; returns what it could not express, one sentence each.

    The same sentences stand in a comment at the head of the file.

    Raises FileError: something cannot be expressed and `lossy` is off (listing all of it), or the
    model has a joint that the format has not; OSError when the file cannot be written.
    """
    root, lost = form.write(model)
    if lost and not lossy:
        listed = "\n  ".join(lost)
        raise FileError(
            f"{path}: {form.name} cannot express this model:\n  {listed}\nUse another format "
            "(write_mjcf expresses most), or lossy=True to leave these out."
        )
    if lost:
        lines = "\n    ".join(s.replace("--", "- -") for s in lost)
        root.insert(0, ET.Comment(f" not expressed in this file:\n    {lines}\n  "))
    ET.indent(root)
    header = '<?xml version="1.0"?>\n'
    Path(path).write_text(header + ET.tostring(root, encoding="unicode") + "\n", encoding="utf-8")
    return lost
