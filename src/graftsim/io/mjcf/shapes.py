"""Types of shapes by MJCF's names for them, which are those of `mjtGeom` in small letters."""

from __future__ import annotations

from graftsim.model.shape_type import ShapeType
from graftsim.model.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, MESH, PLANE, SPHERE

SHAPES: dict[str, ShapeType] = {
    t.name: t for t in (PLANE, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH)
}
