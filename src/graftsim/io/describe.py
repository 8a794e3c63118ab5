"""What is in a model, as plain data for `--json` and as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from graftsim.io.numbers import SIZES, floats
from graftsim.model.model import Model
from graftsim.model.pairs import SURFACE

if TYPE_CHECKING:
    from rich.console import Console

# A longer table of pairs is cut to its first rows.
MOST_PAIRS, SHOWN_PAIRS = 20, 8
PASSIVE = ("lower", "upper", "damping", "friction", "stiffness", "armature")


def describe_dict(model: Model) -> dict[str, Any]:
    """Everything of a model in lists and numbers that JSON can hold (no infinities: None).

    SI units, rad. Keys: name, counts, total_mass, gravity, links, joints (one row a degree of
    freedom), actuators, shapes, pairs (of shapes that may touch), frames, notes (what was skipped
    or assumed, and why).
    """
    t, j = model.tree, model.joint
    parents = [t.links[p] if p >= 0 else "world" for p in t.parent]
    links = [
        {
            "name": t.links[i],
            "parent": parents[i],
            "joint": t.joints[i],
            "type": t.types[i],
            "depth": int(t.depth[i]),
            "mass": _plain(model.link.mass[i]),
            "com": _plain(model.link.com[i]),
            "inertia": _plain(model.link.inertia[i]),
        }
        for i in range(t.nl)
    ]
    joints = [
        {
            "dof": t.dofs[row],
            "type": t.types[i],
            "unit": t.dof_units[row],
            "axis": _plain(j.axis[i])
            if t.types[i] in ("revolute", "prismatic", "planar")
            else None,
            **{k: _plain(getattr(j, k)[row]) for k in PASSIVE},
        }
        for row, i in enumerate(t.link_of_dof)
    ]
    a, g, f = model.actuator, model.geom, model.frame
    numbers = (
        "gear",
        "gain",
        "kp",
        "kd",
        "control_lower",
        "control_upper",
        "force_lower",
        "force_upper",
    )
    actuators = [
        {"name": a.names[k], "kind": a.kinds[k], "dof": t.dofs[a.dof[k]]}
        | {n: _plain(getattr(a, n)[k]) for n in numbers}
        | {"time_constant": _plain(a.time_constant[k]) if a.lagged[k] else None}
        for k in range(a.nu)
    ]
    owner = (*t.links, "world")  # index -1 is the world
    shapes = [
        {
            "name": g.names[k],
            "kind": g.kinds[k],
            "link": owner[g.link[k]],
            "size": _plain(g.size[k][: SIZES.get(g.kinds[k], 0)]),
            "position": _plain(g.position[k]),
            "rotation": _plain(g.rotation[k]),
            "corners": len(g.vertices[k]),
        }
        for k in range(len(g.names))
    ]
    frames = [
        {
            "name": f.names[k],
            "link": owner[f.link[k]],
            "position": _plain(f.position[k]),
            "rotation": _plain(f.rotation[k]),
        }
        for k in range(len(f.names))
    ]
    return {
        "name": model.name,
        "counts": {
            "links": t.nl,
            "moving_joints": sum(k != "fixed" for k in t.types),
            "nq": t.nq,
            "nv": t.nv,
            "nu": a.nu,
        },
        "total_mass": _plain(floats(model.link.mass).sum()),
        "gravity": _plain(model.world.gravity),
        "links": links,
        "joints": joints,
        "actuators": actuators,
        "shapes": shapes,
        "pairs": _pairs(model),
        "frames": frames,
        "notes": list(model.notes),
    }


def describe(model: Model) -> str:
    """The same as text without colours: the tree, tables, and what was skipped and why."""
    from rich.console import Console

    console = Console(width=120, color_system=None, highlight=False)
    with console.capture() as capture:
        print_description(model, console)
    return capture.get()


def print_description(model: Model, console: Console) -> None:
    """Print a description to a rich console, whether or not it reads markup."""
    from rich.text import Text
    from rich.tree import Tree as Branch

    d = describe_dict(model)
    c = d["counts"]
    summary = (
        f"  {c['links']} links, {c['moving_joints']} moving joints, {c['nv']} degrees of freedom "
        f"(nq {c['nq']}), {c['nu']} actuators, {d['total_mass']:.6g} kg, "
        f"gravity {_vector(d['gravity'])} m/s^2"
    )
    console.print(Text.assemble((model.name, "bold"), summary))
    branches = {"world": Branch(Text("world"))}
    for x in d["links"]:
        weight = f"{x['mass']:.6g} kg, com {_vector(x['com'])} m" if x["mass"] else "massless"
        joint = f"  {x['type']} '{x['joint']}'  "
        label = Text.assemble((x["name"], "bold"), joint, (weight, "dim"))
        branches[x["name"]] = branches[x["parent"]].add(label)
    console.print(branches["world"])
    columns = {"dof": "joint", "type": "type", "axis": "axis"} | {k: k for k in PASSIVE}
    _table(console, "Joints (N m and rad, or N and m)", d["joints"], columns)
    _table(console, "Actuators", d["actuators"], {k: k for k in (*d["actuators"], {})[0]})
    columns = {"kind": "kind", "link": "link", "size": "size (m)", "position": "position (m)"}
    _table(console, "Shapes", d["shapes"], {"name": "shape"} | columns | {"corners": "corners"})
    _print_pairs(d["pairs"], console)
    columns = {"name": "frame", "link": "link", "position": "position (m)"}
    _table(console, "Frames", d["frames"], columns)
    if model.notes:
        console.print(Text("Skipped, assumed, or different here", "bold"))
        for note in model.notes:
            console.print(Text(f"- {note}"))


def _pairs(model: Model) -> list[dict[str, Any]]:
    pair, names = model.pair, model.geom.names
    return [
        {"name": pair.names[k], "shapes": [names[i] for i in pair.geoms[k]]}
        | {n: _plain(getattr(pair, n)[k]) for n in SURFACE}
        for k in range(len(pair.names))
    ]


def _print_pairs(pairs: list[dict[str, Any]], console: Console) -> None:
    """The table of pairs; of many the first, and how many there are."""
    title = "Pairs that may touch"
    if len(pairs) > MOST_PAIRS:
        title += f" (the first {SHOWN_PAIRS} of {len(pairs)}; all of them in JSON)"
        pairs = pairs[:SHOWN_PAIRS]
    units = {"stiffness": "stiffness (N/m^n)", "dissipation": "dissipation (s/m)"}
    named = {k: k for k in ("friction", "restitution", "stiffness", "dissipation")}
    _table(console, title, pairs, {"name": "pair"} | named | units)


def _table(
    console: Console, title: str, rows: list[dict[str, Any]], columns: dict[str, str]
) -> None:
    """Print rows under headings (key: heading); a column with nothing in it is left out."""
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    shown = {k: v for k, v in columns.items() if any(r[k] not in (None, 0.0, []) for r in rows)}
    table = Table(title=Text(title, "bold"), title_justify="left")
    for key, heading in shown.items():
        numeric = any(isinstance(r[key], int | float) for r in rows)
        table.add_column(Text(heading), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(_cell(row[k])) for k in shown))
    console.print(table)


def _plain(values: Any) -> Any:
    """Numbers as Python floats and lists; infinite ones as None."""
    array = floats(values)
    if array.ndim:
        return [_plain(x) for x in array]
    return float(array) if np.isfinite(array) else None


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return _vector(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _vector(values: list[float]) -> str:
    return "(" + " ".join(f"{v + 0.0:.5g}" for v in values) + ")"
