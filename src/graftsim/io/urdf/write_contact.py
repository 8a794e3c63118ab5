"""Contact in URDF: friction and restitution as Bullet's `<contact>` of links; the rest is named.

Of two shapes that touch the larger number holds, so each link gets the smallest of its pairs', or
none where the others say enough. Where even that is not what a pair has, URDF cannot say it.
"""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET
from collections.abc import Mapping

import numpy as np

from graftsim.io.robot.numbers import floats, text
from graftsim.io.robot.unstated_surfaces import lost_numbers
from graftsim.io.urdf.contact import READ, keep_apart
from graftsim.model.build import WORLD
from graftsim.model.model import Model
from graftsim.model.pairs import DEFAULTS, candidates, count, listed
from graftsim.model.shape_type import ShapeType
from graftsim.model.shapes import BOX, CAPSULE, CYLINDER, MESH, PLANE, SPHERE

# Types of shapes that URDF has an element for; that of meshes needs a file.
WRITTEN: tuple[ShapeType, ...] = (BOX, SPHERE, CYLINDER, CAPSULE)


def write_surfaces(model: Model, links: Mapping[int, ET.Element]) -> None:
    """Write a `<contact>` into each link (-1: the world) that needs one."""
    contacts: dict[int, ET.Element] = {}
    for tag, quantity in READ.items():
        for i, value in _of_links(model, quantity).items():
            if i not in contacts:
                contacts[i] = ET.SubElement(links[i], "contact")
            ET.SubElement(contacts[i], tag, value=text(value))


def lost_contact(model: Model) -> list[str]:
    """What of the pairs a URDF file does not give back when it is read, one sentence each."""
    pair, kinds = model.pair, model.geom.types
    lost = _lost_shapes(model)
    here = [k for k, p in enumerate(pair.geoms) if all(kinds[g] in WRITTEN for g in p)]
    read = {frozenset(p) for p in _default_pairs(model)}
    ours = {frozenset(pair.geoms[k]): pair.names[k] for k in here}
    if apart := [name for p, name in ours.items() if p not in read]:
        lost.append(
            f"that {listed(apart)} may touch; load(..., self_collision=True) lets all shapes of "
            "links that are not parent and child."
        )
    g = model.geom.names
    if touching := ["/".join(g[k] for k in sorted(p)) for p in read if p not in ours]:
        lost.append(f"that {listed(touching)} may not touch.")
    for quantity in READ.values():
        own, values = _of_links(model, quantity), floats(getattr(pair, quantity))
        wrong = [
            f"{values[p]:g} of {name}"
            for p, name in enumerate(pair.names)
            if _wrong(model, quantity, p, values[p], own)
        ]
        if wrong:
            lost.append(f"pair.{quantity} {listed(wrong)}: URDF has one number for each link.")
    return lost + lost_numbers(model, range(len(pair.names)), READ.values())


def _lost_shapes(model: Model) -> list[str]:
    g, lost = model.geom, []
    for k, (name, kind) in enumerate(zip(g.names, g.types, strict=True)):
        if kind in WRITTEN:
            continue
        without = " without a file" if kind == MESH else ""
        level = np.allclose(floats(g.rotation[k])[1:3], 0.0, atol=1e-12)
        height = float(g.position[k][2])
        put = f"; load(..., ground={height:g}) puts one there" if level else ""
        fits = kind == PLANE and g.link[k] == -1
        lost.append(
            f"shape {name}: a {kind.name} has no form in URDF{without}{put if fits else ''}."
        )
    return lost


def _of_links(model: Model, quantity: str) -> dict[int, float]:
    """The number of each link that must state one."""
    values, g = floats(getattr(model.pair, quantity)), model.geom
    own: dict[int, float] = {}
    pairs_of: dict[int, list[int]] = {}
    for p, pair in enumerate(model.pair.geoms):
        for k in pair:
            if g.types[k] in WRITTEN:
                own[g.link[k]] = min(own.get(g.link[k], np.inf), float(values[p]))
                pairs_of.setdefault(g.link[k], []).append(p)
    for i in list(own):
        rest = {x: value for x, value in own.items() if x != i}
        if not any(_wrong(model, quantity, p, values[p], rest) for p in pairs_of[i]):
            own = rest
    return own


def _wrong(model: Model, quantity: str, p: int, value: float, own: dict[int, float]) -> bool:
    """Whether pair p is read back with another number than `value`."""
    links = [model.geom.link[k] for k in model.pair.geoms[p]]
    back = max((own[i] for i in links if i in own), default=DEFAULTS[quantity])
    return not math.isclose(back, value, rel_tol=1e-6, abs_tol=1e-9)


def _default_pairs(model: Model) -> list[tuple[int, int]]:
    """Pairs of written shapes when the file is read without options."""
    tree, g = model.tree, model.geom
    names = (*tree.links, WORLD)
    parent = {name: names[p] for name, p in zip(tree.links, tree.parent, strict=True)}
    kind = dict(zip(tree.links, tree.joint_types, strict=True))
    shaped = {names[i] for i in g.link if i >= 0}
    index = {name: i for i, name in enumerate(tree.links)}
    excluded = {frozenset((index[a], index[b])) for a, b in keep_apart(parent, kind, shaped, False)}
    geoms = [
        {"kind": k, "link": i, "vertices": v, "mask": (1, 1 if k in WRITTEN else 0)}
        for k, i, v in zip(g.types, g.link, g.vertices, strict=True)
    ]
    written = [k in WRITTEN for k in g.types]
    found = candidates(tree, geoms, excluded, False)
    return [(i, j) for i, j in found if written[i] and written[j] and count(geoms, i, j)]
