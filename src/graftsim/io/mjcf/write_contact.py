"""Contact in MJCF: each pair of the model is a `<pair>`, and nothing else touches.

The masks of the geoms keep all others apart, whatever bodies they are on; a geom that is added to
the file with conaffinity 1 meets them all.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET

from graftsim.io.mjcf.write_joints import Writer
from graftsim.io.robot.numbers import floats, text
from graftsim.io.robot.unstated_surfaces import lost_numbers
from graftsim.model.pairs import listed

MASKS = {"contype": "1", "conaffinity": "0"}


def write_pairs(w: Writer, root: ET.Element) -> None:
    """Write the pairs of shapes that are in the file, with their friction."""
    pair, names = w.model.pair, w.model.geom.names
    section = ET.Element("contact")
    lost: list[str] = []
    written: list[int] = []
    for k, (i, j) in enumerate(pair.geoms):
        if {i, j} & w.missing:
            lost.append(pair.names[k])
            continue
        friction = floats(pair.friction[k])
        item = ET.SubElement(section, "pair", name=pair.names[k], geom1=names[i], geom2=names[j])
        if friction == 0:
            item.set("condim", "1")
        item.set("friction", text([friction, friction]))
        written.append(k)
    if len(section):
        root.append(section)
    if lost:
        w.lost.append(f"contact of {listed(lost)}, whose shapes are not in the file.")
    w.lost.extend(lost_numbers(w.model, written, ["friction"]))
