"""Initial states of MJCF: the pose that is drawn, and key frames."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import Any

import numpy as np

from graftsim.io.mjcf.write_joints import Writer
from graftsim.io.robot.numbers import text
from graftsim.model.starts import Key, Starts

# Name of the key frame of a drawn position that bodies cannot be written in.
DRAWN = "drawn"


def read(mj: Any, names: Any) -> Starts:
    """`qpos0` and the key frames, unnamed ones by their number."""
    keys = {}
    for k in range(mj.nkey):
        name = names.of("KEY", k) or f"key{k}"
        u = mj.key_ctrl[k] if mj.nu == mj.nactuator else np.zeros(0)
        rows = (mj.key_qpos[k], mj.key_qvel[k], u)
        keys[name] = Key(name, *(tuple(map(float, row)) for row in rows))
    return Starts(tuple(map(float, mj.qpos0)), keys)


def write(w: Writer, root: ET.Element) -> None:
    """The `<keyframe>` section. Free bodies stand as drawn; a drawn position of others is a key."""
    model, keys = w.model, list(w.model.keys.values())
    drawn = np.array(model.starts.drawn or model.tree.neutral)
    elsewhere = np.flatnonzero(drawn != model.tree.neutral)
    free = {
        row
        for kind, rows in zip(model.tree.joint_types, model.tree.q_index, strict=True)
        for row in rows
        if kind.is_pose
    }
    if set(map(int, elsewhere)) - free and DRAWN not in model.keys:
        keys.append(Key(DRAWN, tuple(drawn), (0.0,) * model.nv, ()))
    written = root.find("actuator")
    whole = written is not None and len(written) == model.nu
    section = ET.Element("keyframe")
    for key in keys:
        item = ET.SubElement(section, "key", name=key.name, qpos=text(key.q), qvel=text(key.qd))
        if key.u and whole:
            item.set("ctrl", text(key.u))
    if keys:
        root.append(section)
