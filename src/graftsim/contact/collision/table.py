"""Which function knows which pair of shapes."""

from __future__ import annotations

from collections.abc import Callable

from graftsim.contact.collision import boxes, capsules, convex, lying, planes, polygons, spheres
from graftsim.contact.collision.shapes import Points, Shape
from graftsim.errors import ModelError
from graftsim.model.contact_counts import contacts

Collision = Callable[[Shape, Shape], Points]

# Shapes without a function of their own: those that touch in one point, and those that may lie on
# each other.
_ROUND = (
    ("sphere", "mesh"),
    ("box", "ellipsoid"),
    ("cylinder", "ellipsoid"),
    ("ellipsoid", "ellipsoid"),
    ("ellipsoid", "mesh"),
)
_FLAT = (
    ("capsule", "mesh"),
    ("box", "cylinder"),
    ("box", "mesh"),
    ("cylinder", "cylinder"),
    ("cylinder", "mesh"),
    ("mesh", "mesh"),
)
_PAIRS: dict[tuple[str, str], Collision] = {
    ("plane", "sphere"): planes.sphere,
    ("plane", "capsule"): planes.capsule,
    ("plane", "box"): planes.box,
    ("plane", "cylinder"): planes.cylinder,
    ("plane", "ellipsoid"): planes.ellipsoid,
    ("plane", "polygon"): planes.corners,
    ("plane", "mesh"): planes.corners,
    ("sphere", "sphere"): spheres.sphere,
    ("sphere", "capsule"): spheres.capsule,
    ("sphere", "box"): spheres.box,
    ("sphere", "cylinder"): spheres.cylinder,
    ("sphere", "ellipsoid"): spheres.ellipsoid,
    ("sphere", "polygon"): polygons.sphere,
    ("capsule", "capsule"): capsules.capsule,
    ("capsule", "box"): capsules.box,
    ("capsule", "cylinder"): capsules.cylinder,
    ("capsule", "ellipsoid"): capsules.ellipsoid,
    ("box", "box"): boxes.box,
    ("polygon", "polygon"): polygons.polygon,
    **{pair: convex.single(*pair) for pair in _ROUND},
    **{pair: lying.several(*pair) for pair in _FLAT},
}


def collide(kind_a: str, kind_b: str) -> Collision:
    """Function (first shape, second shape) -> candidate contacts, for kinds in the order of KINDS.

    Raises ModelError for kinds that cannot touch, or come in the other order.
    """
    if (kind_a, kind_b) not in _PAIRS:
        contacts(kind_a, kind_b)  # raises for a kind that does not exist
        raise ModelError(
            f"There is no contact between {kind_a} and {kind_b}."
            if (kind_b, kind_a) not in _PAIRS
            else f"The first shape of this pair is the {kind_b}, the second the {kind_a}."
        )
    return _PAIRS[kind_a, kind_b]
