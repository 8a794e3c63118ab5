"""Which function knows which pair of shapes."""

from __future__ import annotations

from collections.abc import Callable

from graftsim.contact.collision import boxes, capsules, convex, lying, planes, polygons, spheres
from graftsim.contact.collision.shapes import Points, Shape
from graftsim.errors import ModelError
from graftsim.model.contact_counts import contacts
from graftsim.model.shape_type import Convex, ShapeType
from graftsim.model.shapes import (
    BOX,
    CAPSULE,
    CYLINDER,
    ELLIPSOID,
    MESH,
    PLANE,
    POLYGON,
    SPHERE,
    shape_type,
)

Collision = Callable[[Shape, Shape], Points]

# Shapes without a function of their own that may lie on each other.
_FLAT = (
    (CAPSULE, MESH),
    (BOX, CYLINDER),
    (BOX, MESH),
    (CYLINDER, CYLINDER),
    (CYLINDER, MESH),
    (MESH, MESH),
)
_PAIRS: dict[tuple[ShapeType, ShapeType], Collision] = {
    (PLANE, SPHERE): planes.sphere,
    (PLANE, CAPSULE): planes.capsule,
    (PLANE, BOX): planes.box,
    (PLANE, CYLINDER): planes.cylinder,
    (PLANE, ELLIPSOID): planes.ellipsoid,
    (PLANE, POLYGON): planes.corners,
    (PLANE, MESH): planes.corners,
    (SPHERE, SPHERE): spheres.sphere,
    (SPHERE, CAPSULE): spheres.capsule,
    (SPHERE, BOX): spheres.box,
    (SPHERE, CYLINDER): spheres.cylinder,
    (SPHERE, ELLIPSOID): spheres.ellipsoid,
    (SPHERE, POLYGON): polygons.sphere,
    (CAPSULE, CAPSULE): capsules.capsule,
    (CAPSULE, BOX): capsules.box,
    (CAPSULE, CYLINDER): capsules.cylinder,
    (CAPSULE, ELLIPSOID): capsules.ellipsoid,
    (BOX, BOX): boxes.box,
    (POLYGON, POLYGON): polygons.polygon,
    **{pair: lying.several(*pair) for pair in _FLAT},
}


def collide(a: str | ShapeType, b: str | ShapeType) -> Collision:
    """Function (first shape, second shape) -> candidate contacts, for types in canonical order.

    Pairs that are not in the table touch in one point, if the farthest point of both is known.
    Raises ModelError for types that cannot touch, or come in the other order.
    """
    first, second = shape_type(a), shape_type(b)
    if (first, second) in _PAIRS:
        return _PAIRS[first, second]
    if (second, first) in _PAIRS:
        raise ModelError(
            f"The first shape of this pair is the {second.name}, the second the {first.name}."
        )
    if isinstance(second, Convex) and contacts(first, second) is not None:
        if isinstance(first, Convex):
            return convex.single(first, second)
        if first == PLANE:
            return planes.support(second)
    raise ModelError(f"There is no contact between {first.name} and {second.name}.")
