"""Initial states of MJCF: the pose that is drawn, and key frames."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

import numpy as np

from graftsim.io.mjcf.actuators import Places
from graftsim.io.mjcf.drives import INPUTS
from graftsim.io.mjcf.write_joints import Writer
from graftsim.io.robot.numbers import text
from graftsim.model.model import Actuators
from graftsim.model.starts import Key, Starts

# Name of the key frame of a drawn position that bodies cannot be written in.
DRAWN = "drawn"


def read(mj: Any, names: Any, places: Sequence[Places]) -> Starts:
    """`qpos0` and the key frames, unnamed ones by their number.

    Controls are in another order here: of all actuators their own first, then the further inputs;
    memories: lags first, then integrals.
    """
    controls = [p.controls[0] for p in places] + [i for p in places for i in p.controls[1:]]
    memories = [i for kind in ("lag", "integral") for p in places if (i := getattr(p, kind)) >= 0]
    keys = {}
    for k in range(mj.nkey):
        name = names.of("KEY", k) or f"key{k}"
        memory = mj.key_act[k][memories] if np.any(mj.key_act[k]) else ()
        rows = (mj.key_qpos[k], mj.key_qvel[k], mj.key_ctrl[k][controls], memory)
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
    whole = written is not None and len(written) == len(model.actuator.names)
    controls, memories = _order(model.actuator)
    section = ET.Element("keyframe")
    for key in keys:
        item = ET.SubElement(section, "key", name=key.name, qpos=text(key.q), qvel=text(key.qd))
        if key.u and whole:
            item.set("ctrl", text([key.u[i] for i in controls]))
        if key.act and whole:
            item.set("act", text([key.act[i] for i in memories]))
    if keys:
        root.append(section)


def _order(a: Actuators) -> tuple[list[int], list[int]]:
    """Of MuJoCo's controls and memories their places here."""
    controls, n = [], len(a.names)
    for k, own in enumerate(a.inputs):
        first = n + sum(map(len, a.inputs[:k]))
        controls += [k, *(first + own.index(x) for x in INPUTS if x in own)]
    lags, integrals, memories = 0, sum(a.lagged), []
    for lagged, drive in zip(a.lagged, a.drives, strict=True):
        if lagged:
            memories.append(lags)
        if drive.memory:
            memories.append(integrals)
        lags, integrals = lags + lagged, integrals + drive.memory
    return controls, memories
