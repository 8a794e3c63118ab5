"""How many contacts two shapes can have: known from their types alone, before anything is traced.

`graftsim.contact.collision` computes them; both have the same table.
"""

from __future__ import annotations

from graftsim.model.shape_type import Convex, ShapeType
from graftsim.model.shapes import (
    BOX,
    CAPSULE,
    CYLINDER,
    MESH,
    PLANE,
    POLYGON,
    SPHERE,
    rank,
    shape_type,
)

# A mesh lies on a plane with all its corners up to this number, else with FEW that are deepest.
MANY_CORNERS, FEW_CORNERS = 64, 8

_COUNTS: dict[tuple[ShapeType, ShapeType], int] = {
    (PLANE, CAPSULE): 2,
    (PLANE, BOX): 8,
    (PLANE, CYLINDER): 6,
    (SPHERE, POLYGON): 1,
    (CAPSULE, CAPSULE): 2,
    (CAPSULE, BOX): 3,
    (CAPSULE, CYLINDER): 3,
    (CAPSULE, MESH): 5,
    (BOX, BOX): 13,
    (BOX, CYLINDER): 5,
    (BOX, MESH): 5,
    (CYLINDER, CYLINDER): 5,
    (CYLINDER, MESH): 5,
    (POLYGON, POLYGON): 2,
    (MESH, MESH): 5,
}


def contacts(
    a: str | ShapeType, b: str | ShapeType, corners_a: int = 0, corners_b: int = 0
) -> int | None:
    """Number of candidate contacts of two shapes; None when their types cannot touch.

    Convex shapes and planes touch in one point, if the table does not say otherwise. `corners`:
    number of vertices of a mesh or polygon. Raises ModelError for an unknown name.
    """
    first, second = shape_type(a), shape_type(b)
    if rank(first) > rank(second):
        return contacts(second, first, corners_b, corners_a)
    if first == PLANE and second == POLYGON:
        return corners_b
    if first == PLANE and second == MESH:
        return corners_b if corners_b <= MANY_CORNERS else FEW_CORNERS
    meet = isinstance(second, Convex) and (first == PLANE or isinstance(first, Convex))
    return _COUNTS.get((first, second), 1 if meet else None)
