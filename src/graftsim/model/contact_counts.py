"""How many contacts two shapes can have: known from their kinds alone, before anything is traced.

`graftsim.contact.collision` computes them; both have the same table.
"""

from __future__ import annotations

from graftsim.errors import ModelError, suggest

# Canonical order: the first shape of a pair is the one whose kind comes first.
# The number says how many numbers the size of a shape has.
SIZES = {"plane": 0, "sphere": 1, "capsule": 2, "box": 3, "cylinder": 2, "ellipsoid": 3,
         "polygon": 0, "mesh": 0}  # fmt: skip
KINDS = tuple(SIZES)
# A mesh lies on a plane with all its corners up to this number, else with FEW that are deepest.
MANY_CORNERS, FEW_CORNERS = 64, 8

_COUNTS = {
    ("plane", "sphere"): 1,
    ("plane", "capsule"): 2,
    ("plane", "box"): 8,
    ("plane", "cylinder"): 6,
    ("plane", "ellipsoid"): 1,
    ("sphere", "sphere"): 1,
    ("sphere", "capsule"): 1,
    ("sphere", "box"): 1,
    ("sphere", "cylinder"): 1,
    ("sphere", "ellipsoid"): 1,
    ("sphere", "polygon"): 1,
    ("sphere", "mesh"): 1,
    ("capsule", "capsule"): 2,
    ("capsule", "box"): 3,
    ("capsule", "cylinder"): 3,
    ("capsule", "ellipsoid"): 1,
    ("capsule", "mesh"): 5,
    ("box", "box"): 13,
    ("box", "cylinder"): 5,
    ("box", "ellipsoid"): 1,
    ("box", "mesh"): 5,
    ("cylinder", "cylinder"): 5,
    ("cylinder", "ellipsoid"): 1,
    ("cylinder", "mesh"): 5,
    ("ellipsoid", "ellipsoid"): 1,
    ("ellipsoid", "mesh"): 1,
    ("polygon", "polygon"): 2,
    ("mesh", "mesh"): 5,
}


def contacts(kind_a: str, kind_b: str, corners_a: int = 0, corners_b: int = 0) -> int | None:
    """Number of candidate contacts of two shapes; None when their kinds cannot touch.

    `corners`: number of vertices of a mesh or polygon. Raises ModelError for an unknown kind.
    """
    for kind in (kind_a, kind_b):
        if kind not in KINDS:
            raise ModelError(f"There is no shape '{kind}'. {suggest(kind, KINDS)}")
    if KINDS.index(kind_a) > KINDS.index(kind_b):
        return contacts(kind_b, kind_a, corners_b, corners_a)
    if (kind_a, kind_b) == ("plane", "polygon"):
        return corners_b
    if (kind_a, kind_b) == ("plane", "mesh"):
        return corners_b if corners_b <= MANY_CORNERS else FEW_CORNERS
    return _COUNTS.get((kind_a, kind_b))
