"""A model in the clothes of its file: visual shapes in the place of those that touch."""

from __future__ import annotations

import importlib.util
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path

from graftsim.errors import FileError
from graftsim.model.model import Model
from graftsim.viewer.looks.mjcf import mjcf_looks
from graftsim.viewer.looks.urdf import urdf_looks
from graftsim.viewer.parts import Part, parts

READERS = {"robot": urdf_looks, "mujoco": mjcf_looks}


def dressed(
    model: Model, path: str | Path, package_dirs: Sequence[str | Path] = ()
) -> tuple[list[Part], list[str]]:
    """What is drawn of a model that was read from a file, and sentences on what is not.

    Links for which the file has something to look at are drawn so, all others by their shapes or
    bones. A visual shape that cannot be read is left out, and said. Raises FileError: the file
    cannot be read.
    """
    plain = parts(model)
    file = Path(path)
    if not file.is_file():
        return plain, []
    try:
        root = ET.parse(file).getroot()
    except (ET.ParseError, OSError) as error:
        raise FileError(f"{file}: {error}") from error
    if root.tag not in READERS:
        return plain, []
    if importlib.util.find_spec("trimesh") is None:
        missing = (
            "what the file shows beside its shapes needs trimesh: pip install 'graftsim[mesh]'"
        )
        return plain, [missing]
    found, said = READERS[root.tag](model, file, root, package_dirs)
    seen = {p.link for p in found}
    return [p for p in plain if p.link not in seen] + found, said
