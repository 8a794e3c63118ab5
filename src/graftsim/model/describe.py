"""What is in a model, as plain data that JSON can hold."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from graftsim.model.loops import POWERS
from graftsim.model.model import Actuators, Model
from graftsim.model.numbers import ACTUATOR, TENDON
from graftsim.model.pairs import SURFACE

PASSIVE = ("lower", "upper", "damping", "friction", "stiffness", "armature")
# Those without effect, at their defaults, are left out.
DRIVE = (*ACTUATOR, "control_lower", "control_upper", "force_lower", "force_upper")
ALWAYS = (
    "gear",
    "gain",
    "kp",
    "kd",
    "control_lower",
    "control_upper",
    "force_lower",
    "force_upper",
)


def describe_dict(model: Model) -> dict[str, Any]:
    """Everything of a model in lists and numbers that JSON can hold (no infinities: None).

    SI units, rad. Keys: name, counts, total_mass, gravity, links, joints (one row a degree of
    freedom), tendons, loops, couplings, actuators, shapes, pairs (of shapes that may touch),
    frames, notes (what was skipped or assumed, and why).
    """
    # Rows are taken from NumPy arrays: each slice of a JAX array is a program to compile.
    model = jax.tree.map(np.asarray, model)
    t = model.tree
    return {
        "name": model.name,
        "counts": {
            "links": t.nl,
            "moving_joints": sum(t.moving),
            "nq": t.nq,
            "nv": t.nv,
            "nu": model.actuator.nu,
        },
        "total_mass": _plain(np.asarray(model.link.mass, float).sum()),
        "gravity": _plain(model.world.gravity),
        "links": _links(model),
        "joints": _joints(model),
        "tendons": _tendons(model),
        "loops": _loops(model),
        "couplings": _couplings(model),
        "actuators": _actuators(model),
        "shapes": _shapes(model),
        "pairs": _pairs(model),
        "frames": _frames(model),
        "notes": list(model.notes),
    }


def _links(model: Model) -> list[dict[str, Any]]:
    t = model.tree
    return [
        {
            "name": t.links[i],
            "parent": t.links[p] if p >= 0 else "world",
            "joint": t.joints[i],
            "type": t.types[i],
            "depth": int(t.depth[i]),
            "mass": _plain(model.link.mass[i]),
            "com": _plain(model.link.com[i]),
            "inertia": _plain(model.link.inertia[i]),
        }
        for i, p in enumerate(t.parent)
    ]


def _joints(model: Model) -> list[dict[str, Any]]:
    t, j = model.tree, model.joint
    return [
        {
            "dof": t.dofs[row],
            "type": t.types[i],
            "unit": t.dof_units[row],
            "axis": _plain(j.axis[i]) if t.joint_types[i].axial else None,
            **{k: _plain(getattr(j, k)[row]) for k in PASSIVE},
        }
        for row, i in enumerate(t.link_of_dof)
    ]


def _actuators(model: Model) -> list[dict[str, Any]]:
    a, dofs = model.actuator, model.tree.dofs
    return [
        {
            "name": a.names[k],
            "kind": a.kinds[k],
            **({"tendon": model.tendon.names[a.tendon[k]]} if a.tendon[k] >= 0 else {}),
            **_site(model, a.names[k]),
            "dof": dofs[a.dof[k]] if a.dof[k] >= 0 else None,
        }
        | {n: _plain(getattr(a, n)[k]) for n in DRIVE if n in ALWAYS or _unusual(a, n, k)}
        | {"time_constant": _plain(a.time_constant[k]) if a.lagged[k] else None}
        | ({"delay": _plain(a.delay[k])} if a.longest_delay[k] else {})
        | ({"inputs": list(a.inputs[k])} if a.inputs[k] else {})
        for k in range(len(a.names))
    ]


def _site(model: Model, name: str) -> dict[str, Any]:
    """Frame, reference and wrench of an actuator that pushes a site."""
    a, frames = model.actuator, (*model.frame.names, None)
    if name not in a.on_sites:
        return {}
    i = a.on_sites.index(name)
    site, other = a.sites[i]
    wrench = {k: _plain(getattr(a, k)[i]) for k in ("site_force", "site_torque")}
    return {"site": frames[site], "reference": frames[other]} | wrench


def _unusual(a: Actuators, name: str, k: int) -> bool:
    return float(getattr(a, name)[k]) != ACTUATOR[name]


def _tendons(model: Model) -> list[dict[str, Any]]:
    t, dofs = model.tendon, model.tree.dofs
    return [
        {
            "name": name,
            "joints": {
                dofs[d]: _plain(c)
                for (i, d), c in zip(t.entries, np.asarray(t.coefficient), strict=True)
                if i == k
            },
            "path": [
                [x.kind.name, x.share, *(model.frame.names[f] for f in x.frames)]
                for x in t.path
                if x.tendon == k
            ],
        }
        | {
            n: _plain(getattr(t, n)[k])
            for n in ("slack_lower", "slack_upper", "lower", "upper", *TENDON)
        }
        for k, name in enumerate(t.names)
    ]


def _loops(model: Model) -> list[dict[str, Any]]:
    loop, owner = model.loop, (*model.tree.links, "world")
    return [
        {
            "name": name,
            "kind": loop.types[k].name,
            "first": owner[loop.links[k][0]],
            "second": owner[loop.links[k][1]],
            "anchor": _plain(loop.anchor[k]),
            "opposite": _plain(loop.opposite[k]),
            "rotation": _plain(loop.rotation[k]) if loop.types[k].turns else None,
        }
        for k, name in enumerate(loop.names)
    ]


def _couplings(model: Model) -> list[dict[str, Any]]:
    c, dofs, tendons = model.coupling, model.tree.dofs, model.tendon.names
    out = []
    for k, name in enumerate(c.names):
        known, ends = (tendons, c.tendons[k]) if c.tendons[k][0] >= 0 else (dofs, c.dofs[k])
        first, second = (known[i] if i >= 0 else None for i in ends)
        item = {"name": name, "of": "tendons" if known is tendons else "joints"}
        item |= {"first": first, "second": second}
        out.append(item | {n: _plain(getattr(c, n)[k]) for n in (*POWERS, "reference")})
    return out


def _shapes(model: Model) -> list[dict[str, Any]]:
    g, owner = model.geom, (*model.tree.links, "world")  # index -1 is the world
    return [
        {
            "name": g.names[k],
            "kind": kind.name,
            "link": owner[g.link[k]],
            "size": _plain(g.size[k][: len(kind.sizes)]),
            "position": _plain(g.position[k]),
            "rotation": _plain(g.rotation[k]),
            "corners": len(g.vertices[k]),
        }
        for k, kind in enumerate(g.types)
    ]


def _frames(model: Model) -> list[dict[str, Any]]:
    f, owner = model.frame, (*model.tree.links, "world")
    return [
        {
            "name": f.names[k],
            "link": owner[f.link[k]],
            "position": _plain(f.position[k]),
            "rotation": _plain(f.rotation[k]),
        }
        for k in range(len(f.names))
    ]


def _pairs(model: Model) -> list[dict[str, Any]]:
    pair, names = model.pair, model.geom.names
    return [
        {"name": pair.names[k], "shapes": [names[i] for i in pair.geoms[k]]}
        | {n: _plain(getattr(pair, n)[k]) for n in SURFACE}
        for k in range(len(pair.names))
    ]


def _plain(values: Any) -> Any:
    """Numbers as Python floats and lists; infinite ones as None."""
    array = np.asarray(values, float)
    if array.ndim:
        return [_plain(x) for x in array]
    return float(array) if np.isfinite(array) else None
