"""One door for robot files: the root element, not the file's name, says which format it has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from graftsim.errors import FileError, suggest
from graftsim.io.formats import ROBOT_FORMATS
from graftsim.io.logs.formats import LOG_FORMATS
from graftsim.io.robot.by_name import resolved
from graftsim.io.robot.format import WITHOUT, Base, ReadOptions, RobotFormat
from graftsim.io.robot.xacro_files import expanded, is_xacro
from graftsim.io.robot.xml_lines import parse
from graftsim.model.model import Model

_OTHER = {
    "sdf": "SDF is not read. Convert it to {formats}",
    "COLLADA": "this is a mesh, not a robot",
    "mujocoinclude": "this is a part that another MJCF file includes; load that one",
    "launch": "this is a launch file, not a robot",
}
_MESH = "this is a mesh; a robot is a file in {formats}."
_USD = "USD is not read. Export the robot as {formats}."
_LOG = "this is a recording by its name; read it with graftsim.read_recording."
_SUFFIXES = {
    ".sdf": "SDF is not read. Convert it to {formats}.",
    ".usd": _USD,
    ".usda": _USD,
    ".stl": _MESH,
    ".obj": _MESH,
} | {suffix: _LOG for reader in LOG_FORMATS for suffix in reader.suffixes if suffix != ".txt"}


def load(
    path: str | Path,
    *,
    base: Base | None = None,
    repair_inertia: bool | None = None,
    package_dirs: Sequence[str | Path] | None = None,
    ground: float | None = None,
    self_collision: bool | None = None,
    armature: Mapping[str, float] | None = None,
    without: Sequence[str] | None = None,
    formats: Sequence[RobotFormat] = ROBOT_FORMATS,
) -> Model:
    """Read a robot file, URDF (`<robot>`) or MJCF (`<mujoco>`).

    path: a file, or "robot_descriptions:NAME", a robot that the package of that name has fetched.
    base: of a URDF: how the root link meets the world. A root named "world" without mass is the
        world itself. Otherwise "auto" (default) lets a root link with mass float (free joint
        'root') and fixes another; "fixed" and "free" say it.
    repair_inertia: of a URDF: replace impossible inertias and missing masses; else refuse them.
    package_dirs: of a URDF: folders in which `package://` meshes are looked for, before those
        above the file and those of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.
    ground: height (m) of a horizontal plane "ground" that all shapes may touch.
    self_collision: whether shapes of links that are not parent and child may touch each other. By
        default not in a URDF, and as an MJCF file's masks say; False keeps those apart as well.
    armature: by degree of freedom or pattern (kg m^2, kg): put in before the model is checked, so
        that a link without inertia about its axis, which any torque would turn infinitely fast, is
        one with a rotor.
    without: kinds of things ("tendons", "meshes", ...) to leave out where they cannot be read.
    formats: what is read; a user's own format is a `RobotFormat` put beside `ROBOT_FORMATS`.

    What was skipped, assumed or repaired stands in `model.notes`. Numbers have JAX's present float
    type; `model.astype` changes it.

    Raises FileError with file, line, element and remedy: no such file, empty, malformed, another
    kind of file, an option that does not apply to the format, and what the format or a `Model`
    cannot represent.
    """
    path = resolved(path)
    names = " or ".join(f.name for f in formats)
    own = {f.suffix for f in formats}
    hint = _SUFFIXES.get(path.suffix.lower())
    if hint is not None and path.suffix.lower() not in own and path.is_file():
        raise FileError(f"{path}: {hint.format(name=path.name, formats=names)}")
    root = parse(path)
    if root.tag == "robot" and is_xacro(root):
        root = expanded(path, package_dirs or ())
    options = ReadOptions(
        base, repair_inertia, package_dirs, ground, self_collision, armature, without
    )
    unknown = [word for word in without or () if word not in WITHOUT]
    if unknown:
        raise FileError(f"{path}: without '{unknown[0]}': {suggest(unknown[0], WITHOUT)}")
    for form in formats:
        if form.root == root.tag:
            _check(path, form, options)
            return form.read(root, options)
    tags = " or ".join(f"<{f.root}>" for f in formats)
    what = _OTHER.get(root.tag, "it is neither").format(formats=names)
    raise root.error(f"the root element is <{root.tag}>, not {tags}: {what}.")


def _check(path: Path, form: RobotFormat, options: ReadOptions) -> None:
    """Refuse options that do not apply to a format."""
    unfit = [name for name in options.given() if name not in form.options]
    if unfit:
        why = f": {form.unfit}" if form.unfit else ""
        accepted = ", ".join(form.options) or "none"
        raise FileError(
            f"{path}: {', '.join(unfit)} cannot be given for a file in {form.name}{why}. "
            f"Options that apply: {accepted}."
        )
