"""A file through MuJoCo's compiler; what only shows, or only touches, may miss its file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import FileError
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.xml_lines import Notes


def compiled(path: Path, options: ReadOptions, notes: Notes, absent: list[str]) -> Any:
    """The `MjModel` of a file.

    If files of meshes, textures or height fields are missing, what needs them is stripped before:
    noted what is for display, listed in `absent` what may touch something. Raises FileError:
    MuJoCo refuses the file (its words, with the line), or a body's inertia hangs on a mesh that is
    missing.
    """
    import mujoco

    try:
        # A compiled module without stubs.
        return mujoco.MjModel.from_xml_path(str(path))  # pyright: ignore[reportAttributeAccessIssue]
    except (ValueError, RuntimeError) as e:
        refused = FileError(f"{path}: MuJoCo refuses the file: {' '.join(str(e).split())}")
    try:
        spec = mujoco.MjSpec.from_file(str(path))  # pyright: ignore[reportAttributeAccessIssue]
    except (ValueError, RuntimeError):
        raise refused from None
    if not _strip(mujoco, spec, path, options, notes, absent):
        raise refused
    try:
        return spec.compile()
    except (ValueError, RuntimeError) as e:
        said = " ".join(str(e).split())
        raise FileError(
            f"{path}: MuJoCo refuses the file without what is missing: {said}"
        ) from None


def _strip(
    mujoco: Any, spec: Any, path: Path, options: ReadOptions, notes: Notes, absent: list[str]
) -> bool:
    """Take out what misses its file; returns whether there was anything."""
    meshes = {m.name or Path(m.file).stem: m for m in spec.meshes if _missing(spec, path, m)}
    fields = {h.name or Path(h.file).stem: h for h in spec.hfields if _missing(spec, path, h)}
    textures = [t for t in spec.textures if _texture_missing(spec, path, t)]
    skins = [s for s in spec.skins if s.file and not (_folder(spec, path, s) / s.file).is_file()]
    if not (meshes or fields or textures or skins):
        return False
    paired = {name for p in spec.pairs for name in (p.geomname1, p.geomname2)}
    for geom in list(spec.geoms):
        if geom.meshname not in meshes and geom.hfieldname not in fields:
            continue
        name = geom.meshname or geom.hfieldname
        label = geom.name or f"of body {geom.parent.name or 'world'}"
        what = f"geom {label}, whose file '{(meshes | fields)[name].file}' is missing"
        if _weighs(spec, geom) and not options.leaves_out("inertia"):
            raise FileError(
                f"{path}:{_line(geom)}: {what}: the inertia of body '{geom.parent.name}' comes "
                "from it. Give the file, write an <inertial>, or go on without: --without inertia."
            )
        touches = geom.contype or geom.conaffinity or geom.name in paired
        if touches and not options.leaves_out("meshes"):
            if options.ground is not None or options.self_collision:
                raise FileError(
                    f"{path}:{_line(geom)}: {what}, may touch something. Give the file, or go on "
                    "without such shapes: --without meshes."
                )
            absent.append(what)
        notes.group("left out: its file is missing.", "geom", label)
        for pair in [
            p for p in spec.pairs if geom.name and geom.name in (p.geomname1, p.geomname2)
        ]:
            spec.delete(pair)
        spec.delete(geom)
    for item in (*meshes.values(), *fields.values(), *skins):
        spec.delete(item)
    if textures:
        _without_looks(spec, notes)
    return True


def _weighs(spec: Any, geom: Any) -> bool:
    """Whether the inertia of a body that may move is computed from this geom."""
    mode = int(spec.compiler.inertiafromgeom)  # mjtInertiaFromGeom: false, true, auto
    body = geom.parent
    if mode == 0 or (mode == 2 and body.explicitinertial) or not _moves(body):
        return False
    low, high = spec.compiler.inertiagrouprange
    mass = geom.density if np.isnan(geom.mass) else geom.mass
    return bool(low <= geom.group <= high and mass > 0)


def _moves(body: Any) -> bool:
    while body is not None and body.name != "world":
        if body.joints:
            return True
        body = body.parent
    return False


def _without_looks(spec: Any, notes: Notes) -> None:
    """Textures and materials are for display: without some of them, without all."""
    for item in (*spec.geoms, *spec.sites, *spec.tendons, *spec.skins, *spec.flexes):
        item.material = ""
    for item in (*spec.materials, *spec.textures):
        spec.delete(item)
    notes.add("textures whose files are missing: left out with all materials, which only show.")


def _missing(spec: Any, path: Path, item: Any) -> bool:
    return bool(item.file) and not _file(spec, path, item, item.file).is_file()


def _texture_missing(spec: Any, path: Path, item: Any) -> bool:
    folder = item.compiler.texturedir or spec.compiler.texturedir
    files = [f for f in (item.file, *item.cubefiles) if f]
    return any(not _file(spec, path, item, f, folder).is_file() for f in files)


def _file(spec: Any, path: Path, item: Any, name: str, folder: str | None = None) -> Path:
    name = name.replace("\\", "/")
    if spec.strippath:
        name = Path(name).name
    below = _folder(spec, path, item) if folder is None else path.parent / folder
    return below / name


def _folder(spec: Any, path: Path, item: Any) -> Path:
    """Where the meshes of an item's file are."""
    return path.parent / (item.compiler.meshdir or spec.compiler.meshdir)


def _line(item: Any) -> str:
    found = re.search(r"line (\d+)", item.info or "")
    return found[1] if found else "?"
