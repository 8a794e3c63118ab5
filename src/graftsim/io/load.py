"""One door for robot files: the root element, not the file's name, says which reader it gets."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graftsim.errors import FileError
from graftsim.io.mjcf.read import read_mjcf
from graftsim.io.robot.xml_lines import parse
from graftsim.io.urdf.read import Base, read_urdf
from graftsim.model.model import Model

_OTHER = {
    "sdf": "SDF is not read. Convert it to URDF or MJCF",
    "COLLADA": "this is a mesh, not a robot",
    "mujocoinclude": "this is a part that another MJCF file includes; load that one",
    "launch": "this is a launch file, not a robot",
}
_SUFFIXES = {
    ".xacro": "xacro makes URDF from macros. Expand the file first: xacro {name} > robot.urdf",
    ".sdf": "SDF is not read. Convert it to URDF or MJCF.",
    ".usd": "USD is not read. Export the robot as URDF or MJCF.",
    ".usda": "USD is not read. Export the robot as URDF or MJCF.",
    ".stl": "this is a mesh; a robot is a URDF or MJCF file.",
    ".obj": "this is a mesh; a robot is a URDF or MJCF file.",
    ".csv": "this is a recording by its name; read it with graftsim.read_recording.",
}


def load(
    path: str | Path,
    *,
    base: Base | None = None,
    repair_inertia: bool | None = None,
    package_dirs: Sequence[str | Path] | None = None,
    ground: float | None = None,
    self_collision: bool | None = None,
    dtype: Any = None,
) -> Model:
    """Read a robot file, URDF (`<robot>`) or MJCF (`<mujoco>`). Options are those of `read_urdf`.

    For MJCF only `ground`, `self_collision` (there True unless given) and `dtype` have a use.
    What was skipped, assumed or repaired stands in `model.notes`.

    Raises FileError: no such file, empty, malformed (with the line), another kind of file, an
    option that the format has no use for; and what `read_urdf` and `read_mjcf` raise.
    """
    path = Path(path)
    hint = _SUFFIXES.get(path.suffix.lower())
    if hint is not None and path.is_file():
        raise FileError(f"{path}: {hint.format(name=path.name)}")
    root = parse(path)
    options = {"base": base, "repair_inertia": repair_inertia, "package_dirs": package_dirs}
    given: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
    others: dict[str, Any] = {"ground": ground, "dtype": dtype}
    if self_collision is not None:
        others["self_collision"] = self_collision
    if root.tag == "robot":
        return read_urdf(path, **given, **others)
    if root.tag == "mujoco":
        if given:
            raise FileError(
                f"{path}: {', '.join(given)} cannot be given for an MJCF file, which says itself "
                "how its bodies meet the world, and whose inertias and meshes MuJoCo compiles."
            )
        return read_mjcf(path, **others)
    what = _OTHER.get(root.tag, "it is neither")
    raise root.error(f"the root element is <{root.tag}>, not <robot> or <mujoco>: {what}.")
