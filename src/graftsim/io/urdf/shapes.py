"""Collision shapes of URDF links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graftsim.errors import FileError, ModelError
from graftsim.io.robot import meshes
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.io.urdf import contact, schema
from graftsim.model.build import Builder


class _Unreadable(FileError):
    """A mesh that is not there, or of which there is no hull."""


def add_shapes(
    builder: Builder,
    link: Element,
    name: str,
    options: ReadOptions,
    taken: set[str],
    notes: Notes,
) -> None:
    """Add the collision shapes of a link, called `name`, with the surface that it states.

    `taken` collects the names of shapes. A mesh that cannot be read is noted, and listed in
    `builder.absent`, unless contact is asked for. Raises FileError: a shape that is none, a mesh
    that is needed and cannot be read.
    """
    surface = contact.read_surface(link, notes)
    for collision in link.all("collision"):
        geometry = collision.one("geometry")
        shapes = geometry.children if geometry else []
        own, kinds = link.attributes["name"], ", ".join(schema.SHAPES)
        if len(shapes) != 1:
            raise collision.error(
                f"<collision> of link '{own}' needs <geometry> with one of: {kinds}."
            )
        try:
            if shapes[0].tag not in schema.SHAPES:
                raise _Unreadable(
                    f"{shapes[0].place}: a shape of kind <{shapes[0].tag}> is not represented; "
                    f"link '{own}' may have: {kinds}."
                )
            kind, size, vertices = _shape(shapes[0], options.package_dirs or (), notes)
        except _Unreadable as e:
            _leave_out(builder, link, shapes[0], e, options, notes)
            continue
        if kind != "mesh" and not np.any(size):
            notes.group(
                "left out: it has no extent.", f"<{kind}> of <collision> in line", shapes[0].line
            )
            continue
        label = collision.attributes.get("name") or f"{name}/{kind}{len(taken)}"
        if label in taken:  # URDF lets shapes of different links share a name
            label = f"{name}/{label}{len(taken)}"
        taken.add(label)
        try:
            position, rotation = schema.origin(collision)
            builder.geom(
                kind, size, name, position, rotation, name=label, vertices=vertices, **surface
            )
        except ModelError as e:
            raise shapes[0].error(str(e)) from None


def _leave_out(
    builder: Builder,
    link: Element,
    shape: Element,
    error: _Unreadable,
    options: ReadOptions,
    notes: Notes,
) -> None:
    """Go on without a mesh, or raise its error where contact is asked for."""
    chosen = options.leaves_out("meshes")
    if (options.ground is not None or options.self_collision) and not chosen:
        raise FileError(f"{error} Or go on without such shapes: --without meshes.") from None
    name = shape.attributes.get("filename", "")
    what = f"the {shape.tag} '{name}' of link '{link.attributes['name']}'"
    notes.group(
        f"a <{shape.tag}> of <collision> cannot be read, so the link is without that shape.",
        "link",
        f"{link.attributes['name']} (line {shape.line})",
    )
    if not chosen:
        builder.absent.append(f"{what} (line {shape.line})")


def _shape(
    shape: Element, package_dirs: Sequence[str | Path], notes: Notes
) -> tuple[str, np.ndarray, np.ndarray | None]:
    """Kind, MuJoCo's sizes (halves of URDF's lengths), and corners of a mesh."""
    if shape.tag == "box":
        return "box", shape.numbers("size", 3) / 2, None
    if shape.tag == "sphere":
        return "sphere", shape.numbers("radius", 1), None
    if shape.tag in ("cylinder", "capsule"):
        return shape.tag, np.array([shape.number("radius"), shape.number("length") / 2]), None
    filename = shape.text("filename")
    tried = meshes.candidates(filename, shape.path, package_dirs)
    found = next((p for p in tried if _is_file(p)), None)
    if found is None:
        places = ", ".join(str(p) for p in tried[:4]) + (" ..." if len(tried) > 4 else "")
        raise _Unreadable(
            f"{shape.place}: collision mesh '{filename}' is not found. Tried: {places}. Give the "
            "folder that holds the package with --package-dir (package_dirs=[...]), or replace the "
            "mesh by a primitive shape."
        )
    try:
        return "mesh", np.zeros(3), meshes.load_hull(found, _scale(shape, notes))
    except FileError as e:
        raise _Unreadable(f"{shape.place}: {e}") from None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no system has
        return False


def _scale(shape: Element, notes: Notes) -> np.ndarray:
    """Three factors; one stands for all, and of more the first three are taken."""
    count = len(shape.attributes.get("scale", "1 1 1").split())
    if count == 1:
        return np.repeat(shape.numbers("scale", 1), 3)
    if count <= 3:
        return shape.numbers("scale", 3, (1, 1, 1))
    notes.group(
        "of more than three numbers the first three are taken.", "scale in line", shape.line
    )
    return shape.numbers("scale", count)[:3]
