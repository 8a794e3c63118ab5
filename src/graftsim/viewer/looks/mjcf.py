"""What MuJoCo shows of a file's bodies: its geoms of the groups that its own viewer shows."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.io.mjcf.compiled import compiled
from graftsim.io.robot.format import ReadOptions
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.model import Model
from graftsim.viewer import shapes
from graftsim.viewer.parts import Part, colour
from graftsim.viewer.shapes import Mesh

SHOWN_GROUPS = 3
UNPAINTED = (0.5, 0.5, 0.5)
"""MuJoCo's grey, of a geom without a colour."""


def mjcf_looks(
    model: Model, path: Path, root: ET.Element, package_dirs: Sequence[str | Path]
) -> tuple[list[Part], list[str]]:
    """Parts for the shown geoms of bodies of which one is a mesh or has a colour of its own."""
    import mujoco

    mj: Any = compiled(path, ReadOptions(), Notes(), [])
    kinds = mujoco.mjtGeom  # pyright: ignore[reportAttributeAccessIssue]
    body = mujoco.mjtObj.mjOBJ_BODY  # pyright: ignore[reportAttributeAccessIssue]
    parts: list[Part] = []
    told: set[int] = set()
    for g in range(mj.ngeom):
        name = mujoco.mj_id2name(mj, body, int(mj.geom_bodyid[g])) or ""  # pyright: ignore
        rgba = _rgba(mj, g)
        if mj.geom_group[g] >= SHOWN_GROUPS or rgba[3] == 0 or name not in model.tree.links:
            continue
        is_mesh = mj.geom_type[g] == int(kinds.mjGEOM_MESH)
        drawn = _mesh(mj, g) if is_mesh else (_primitive(mj, g, kinds), None)
        if drawn[0] is None:
            continue
        row = model.tree.links.index(name)
        painted = not np.allclose(rgba[:3], UNPAINTED)
        if is_mesh or painted:
            told.add(row)
        hue = tuple((np.clip(rgba[:3], 0, 1) * 255).astype(int).tolist())
        parts.append(
            Part(row, f"{name} look {g}", drawn[0], np.array(mj.geom_pos[g], float),
                 np.array(mj.geom_quat[g], float), hue if painted else colour(row), drawn[1])
        )  # fmt: skip
    return [p for p in parts if p.link in told], []


def _rgba(mj: Any, g: int) -> np.ndarray:
    material = int(mj.geom_matid[g])
    return np.array(mj.geom_rgba[g] if material < 0 else mj.mat_rgba[material], float)


def _primitive(mj: Any, g: int, kinds: Any) -> Mesh | None:
    """None: a plane or a field of heights, which are drawn as ground or not at all."""
    size, kind = np.array(mj.geom_size[g], float), mj.geom_type[g]
    if kind == int(kinds.mjGEOM_SPHERE):
        return shapes.sphere(size[0])
    if kind == int(kinds.mjGEOM_CAPSULE):
        return shapes.capsule(size[0], size[1])
    if kind == int(kinds.mjGEOM_CYLINDER):
        return shapes.cylinder(size[0], size[1])
    if kind == int(kinds.mjGEOM_BOX):
        return shapes.box(size)
    if kind == int(kinds.mjGEOM_ELLIPSOID):
        ball = shapes.sphere(1.0)
        return ball._replace(vertices=ball.vertices * size)
    return None


def _mesh(mj: Any, g: int) -> tuple[Mesh, Any]:
    """A mesh as MuJoCo has it, and with its texture if it has one."""
    k = int(mj.geom_dataid[g])
    first, count = int(mj.mesh_vertadr[k]), int(mj.mesh_vertnum[k])
    start, faces = int(mj.mesh_faceadr[k]), int(mj.mesh_facenum[k])
    vertices = np.array(mj.mesh_vert[first : first + count], float)
    face = np.array(mj.mesh_face[start : start + faces], int)
    mesh = Mesh(vertices, face, count < 200)
    image = _image(mj, int(mj.geom_matid[g]))
    corner, corners = int(mj.mesh_texcoordadr[k]), int(mj.mesh_texcoordnum[k])
    if image is None or corner < 0 or corners == 0:
        return mesh, None
    import trimesh
    import trimesh.visual

    uv = np.array(mj.mesh_texcoord[corner : corner + corners], float)
    # MuJoCo counts v from the top of the picture, trimesh from its bottom.
    uv = np.stack([uv[:, 0], 1 - uv[:, 1]], 1)
    at = np.array(mj.mesh_facetexcoord[start : start + faces], int)
    looks = trimesh.Trimesh(
        vertices[face].reshape(-1, 3), np.arange(3 * faces).reshape(-1, 3), process=False
    )
    looks.visual = trimesh.visual.TextureVisuals(uv=uv[at].reshape(-1, 2), image=image)
    return mesh, looks


def _image(mj: Any, material: int) -> Any:
    """The picture on a material; None: it has none, or one that is not flat."""
    from PIL import Image

    if material < 0:
        return None
    named = np.atleast_1d(mj.mat_texid[material])
    found = [int(t) for t in named if t >= 0]
    if not found or int(mj.tex_type[found[0]]) != 0:
        return None
    t = found[0]
    height, width, depth = int(mj.tex_height[t]), int(mj.tex_width[t]), int(mj.tex_nchannel[t])
    start = int(mj.tex_adr[t])
    data = np.array(mj.tex_data[start : start + height * width * depth], np.uint8)
    return Image.fromarray(data.reshape(height, width, depth)[..., : min(depth, 3)].squeeze())
