"""Collision shapes of URDF links."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from graftsim.errors import FileError, ModelError
from graftsim.io.robot import meshes
from graftsim.io.robot.xml_lines import Element, Notes
from graftsim.io.urdf import contact, schema
from graftsim.model.build import Builder


def add_shapes(
    builder: Builder,
    link: Element,
    name: str,
    package_dirs: Sequence[str | Path],
    taken: set[str],
    notes: Notes,
) -> None:
    """Add the collision shapes of a link, called `name`, with the surface that it states.

    `taken` collects the names of shapes. Raises FileError: a shape that is none, a mesh not found.
    """
    surface = contact.read_surface(link, notes)
    for collision in link.all("collision"):
        geometry = collision.one("geometry")
        shapes = geometry.children if geometry else []
        if len(shapes) != 1 or shapes[0].tag not in schema.SHAPES:
            own, kinds = link.attributes["name"], ", ".join(schema.SHAPES)
            raise collision.error(
                f"<collision> of link '{own}' needs <geometry> with one of: {kinds}."
            )
        kind, size, vertices = _shape(shapes[0], package_dirs)
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


def _shape(
    shape: Element, package_dirs: Sequence[str | Path]
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
    found = next((p for p in tried if p.is_file()), None)
    if found is None:
        places = ", ".join(str(p) for p in tried[:4]) + (" ..." if len(tried) > 4 else "")
        raise shape.error(
            f"collision mesh '{filename}' is not found. Tried: {places}. Give the folder that "
            "holds the package with package_dirs=[...], or replace the mesh by a primitive shape."
        )
    scale = shape.numbers("scale", 3, (1, 1, 1))
    try:
        return "mesh", np.zeros(3), meshes.load_hull(found, scale)
    except FileError as e:
        raise shape.error(str(e)) from None
