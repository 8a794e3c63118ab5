"""What is drawn of a model: its shapes, and a skeleton for the links that have none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.model.joint_type import JointType
from graftsim.model.model import Model
from graftsim.model.shapes import PLANE
from graftsim.viewer import shapes
from graftsim.viewer.shapes import Mesh

# Muted and told apart by colour-blind eyes too (after Okabe and Ito 2008).
PALETTE = (
    (46, 111, 178),
    (222, 134, 45),
    (43, 150, 116),
    (196, 92, 116),
    (122, 104, 180),
    (90, 168, 206),
    (160, 140, 50),
)
WORLD_COLOUR = (128, 134, 142)
UNIT = np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class Part:
    """A mesh fixed to a link (-1: the world) at a position (m) and orientation (w x y z).

    looks: the same as a trimesh with colours or textures of its own, drawn instead; else None.
    """

    link: int
    name: str
    mesh: Mesh
    position: np.ndarray
    rotation: np.ndarray
    colour: tuple[int, int, int]
    looks: Any = None

    @property
    def radius(self) -> float:
        """Of the ball about the part's origin that holds it, in m."""
        return float(np.linalg.norm(self.mesh.vertices, axis=1).max())


@dataclass(frozen=True)
class Plane:
    """A ground plane: a point on it (m), and its orientation (w x y z), normal along z."""

    position: np.ndarray
    rotation: np.ndarray


def colour(link: int) -> tuple[int, int, int]:
    """Colour of a link."""
    return WORLD_COLOUR if link < 0 else PALETTE[link % len(PALETTE)]


def parts(model: Model) -> list[Part]:
    """Every shape of a model, and bones for links without a shape."""
    found = []
    for i, kind in enumerate(model.geom.types):
        mesh = shapes.solid(
            kind, np.asarray(model.geom.size[i]), np.asarray(model.geom.vertices[i])
        )
        if mesh is not None:
            link = model.geom.link[i]
            position, rotation = np.asarray(model.geom.position[i]), _unit(model.geom.rotation[i])
            found.append(Part(link, model.geom.names[i], mesh, position, rotation, colour(link)))
    clothed = {p.link for p in found}
    bare = [i for i in range(model.tree.nl) if i not in clothed]
    return found + skeleton(model, bare)


def planes(model: Model) -> list[Plane]:
    """Planes that are fixed to the world."""
    rows = zip(model.geom.types, model.geom.link, strict=True)
    return [
        Plane(np.asarray(model.geom.position[i]), _unit(model.geom.rotation[i]))
        for i, (kind, link) in enumerate(rows)
        if kind == PLANE and link < 0
    ]


def floats(model: Model) -> bool:
    """Whether a part of the mechanism can leave the place where it stands."""
    pairs = zip(model.tree.joint_types, model.tree.parent, strict=True)
    return any(p < 0 and kind.slides > 1 for kind, p in pairs)


def skeleton(model: Model, links: list[int]) -> list[Part]:
    """Bones of links: rods from the joint to what the link carries, balls at joints and masses."""
    ends = {i: _ends(model, i) for i in links}
    lengths = [np.linalg.norm(e) for points in ends.values() for e in points]
    lengths = [x for x in lengths if x > 1e-6]
    thick = 0.045 * float(np.median(lengths)) if lengths else 0.02
    found = []
    for i in links:
        name, hue = model.tree.links[i], colour(i)
        for k, end in enumerate(ends[i]):
            if np.linalg.norm(end) > thick:
                found.append(_rod(i, f"{name} bone {k}", end, thick, hue))
        if model.tree.moving[i]:
            hinge = _joint(model.tree.joint_types[i], thick)
            origin, turn = np.zeros(3), towards(np.asarray(model.joint.axis[i], float))
            found.append(Part(i, f"{name} joint", hinge, origin, turn, WORLD_COLOUR))
        if float(model.link.mass[i]) > 0:
            com = np.asarray(model.link.com[i], float)
            ball = shapes.sphere(2.0 * thick)
            found.append(Part(i, f"{name} mass", ball, com, UNIT, hue))
    return found


def _ends(model: Model, link: int) -> list[np.ndarray]:
    """Points of a link that its bones lead to, in the link: children, frames, centre of mass."""
    tree, found = model.tree, []
    for child in range(tree.nl):
        if tree.parent[child] == link:
            found.append(np.asarray(model.joint.origin[child], float))
    rows = zip(model.frame.link, model.frame.position, strict=True)
    found += [np.asarray(p, float) for owner, p in rows if owner == link]
    if float(model.link.mass[link]) > 0:
        com = np.asarray(model.link.com[link], float)
        if not any(_on_segment(com, end) for end in found):
            found.append(com)
    return found


def _on_segment(point: np.ndarray, end: np.ndarray) -> bool:
    square = float(end @ end)
    if square < 1e-12:
        return False
    along = float(point @ end) / square
    return 0 <= along <= 1 and bool(np.linalg.norm(point - along * end) < 0.02 * np.sqrt(square))


def _rod(link: int, name: str, end: np.ndarray, thick: float, hue: tuple[int, int, int]) -> Part:
    mesh = shapes.capsule(thick, float(np.linalg.norm(end)) / 2)
    return Part(link, name, mesh, end / 2, towards(end), hue)


def _joint(kind: JointType, thick: float) -> Mesh:
    """A cylinder for one turn, a box for slides with at most one turn, a ball for all others."""
    turns = kind.nv - kind.slides
    if kind.slides == 0 and turns == 1:
        return shapes.cylinder(1.7 * thick, 1.7 * thick)
    if kind.slides > 0 and turns <= 1:
        return shapes.box(np.array([1.7, 1.7, 2.6]) * thick)
    return shapes.sphere(1.8 * thick)


def towards(direction: np.ndarray) -> np.ndarray:
    """A rotation (w x y z) that takes z to a direction."""
    d = direction / max(float(np.linalg.norm(direction)), 1e-12)
    if d[2] < -1 + 1e-9:
        return np.array([0.0, 1.0, 0.0, 0.0])
    q = np.array([1 + d[2], -d[1], d[0], 0.0])
    return q / np.linalg.norm(q)


def _unit(q: object) -> np.ndarray:
    given = np.asarray(q, float)
    return given / np.linalg.norm(given)
