"""Visual shapes of URDF links."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.io.robot.meshes import candidates, metres
from graftsim.io.robot.poses import quaternion_from_rpy
from graftsim.model.model import Model
from graftsim.viewer import shapes
from graftsim.viewer.parts import Part, colour
from graftsim.viewer.shapes import Mesh


def urdf_looks(
    model: Model, path: Path, root: ET.Element, package_dirs: Sequence[str | Path]
) -> tuple[list[Part], list[str]]:
    """Parts for the `<visual>` elements of links that the model has, and what is left out."""
    colours = {m.get("name", ""): found for m in root.iter("material") if (found := _colour(m))}
    parts: list[Part] = []
    said: list[str] = []
    for link in root.iter("link"):
        name = link.get("name", "")
        if name not in model.tree.links:
            continue
        row = model.tree.links.index(name)
        for k, visual in enumerate(link.iter("visual")):
            try:
                mesh, looks = _geometry(visual, path, package_dirs)
            except Exception as error:  # trimesh and its plug-ins raise nearly anything
                said.append(f"visual of link '{name}': {error}")
                continue
            material = visual.find("material")
            given = None
            if material is not None:
                given = _colour(material) or colours.get(material.get("name", ""))
            if given is not None or not _has_looks(looks):
                looks = None
            origin = visual.find("origin")
            position, turn = np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])
            if origin is not None:
                position = _numbers(origin.get("xyz", "0 0 0"))
                turn = quaternion_from_rpy(_numbers(origin.get("rpy", "0 0 0")))
            part = Part(row, f"{name} look {k}", mesh, position, turn, given or colour(row), looks)
            parts.append(part)
    return parts, said


def _geometry(
    visual: ET.Element, path: Path, package_dirs: Sequence[str | Path]
) -> tuple[Mesh, Any]:
    """The mesh of a visual shape, and of a file what trimesh made of it."""
    geometry = visual.find("geometry")
    shape = None if geometry is None else next(iter(geometry), None)
    if shape is None:
        raise ValueError("it has no geometry")
    if shape.tag == "box":
        return shapes.box(_numbers(shape.get("size", "")) / 2), None
    if shape.tag == "sphere":
        return shapes.sphere(float(shape.get("radius", ""))), None
    if shape.tag in ("cylinder", "capsule"):
        radius, half = float(shape.get("radius", "")), float(shape.get("length", "")) / 2
        make = shapes.cylinder if shape.tag == "cylinder" else shapes.capsule
        return make(radius, half), None
    if shape.tag != "mesh":
        raise ValueError(f"a shape of kind <{shape.tag}> is not drawn")
    import trimesh

    places = candidates(shape.get("filename", ""), path, package_dirs)
    file = next((p for p in places if p.is_file()), None)
    if file is None:
        raise ValueError(f"there is no {shape.get('filename')}")
    looks: Any = trimesh.load(file, force="mesh")
    looks.apply_scale(_numbers(shape.get("scale", "1 1 1")) * metres(file))
    flat = len(looks.vertices) < 200
    return Mesh(np.asarray(looks.vertices, float), np.asarray(looks.faces), flat), looks


def _has_looks(looks: Any) -> bool:
    """Whether a mesh's file says anything on its colours."""
    return looks is not None and bool(getattr(looks.visual, "defined", False))


def _colour(material: ET.Element) -> tuple[int, int, int] | None:
    found = material.find("color")
    if found is None:
        return None
    try:
        r, g, b = (np.clip(_numbers(found.get("rgba", ""))[:3], 0, 1) * 255).astype(int).tolist()
    except ValueError:
        return None
    return r, g, b


def _numbers(text: str) -> np.ndarray:
    return np.array([float(x) for x in text.split()])
