"""A model as tables: its tree, joints, actuators, shapes, and what was skipped and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from graftsim.model.describe import PASSIVE, describe_dict
from graftsim.model.loops import POWERS
from graftsim.model.model import Model

if TYPE_CHECKING:
    from rich.console import Console

# A longer table of pairs is cut to its first rows.
MOST_PAIRS, SHOWN_PAIRS = 20, 8


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
    for x in d["loops"]:
        for here, there in ((x["first"], x["second"]), (x["second"], x["first"])):
            label = Text.assemble(("held to ", "dim"), there, (f" by {x['name']}", "dim"))
            branches[here].add(label)
    console.print(branches["world"])
    columns = {"dof": "joint", "type": "type", "axis": "axis"} | {k: k for k in PASSIVE}
    _table(console, "Joints (N m and rad, or N and m)", d["joints"], columns)
    _table(console, "Actuators", d["actuators"], {k: k for x in d["actuators"] for k in x})
    tendons = [t | {"joints": _length(t)} for t in d["tendons"]]
    pulls = {k: k for k in ("stiffness", "damping", "friction")}
    heads = {"name": "tendon", "joints": "length"} | pulls
    _table(console, "Tendons: what their lengths are sums of", tendons, heads)
    named = {k: k for k in ("kind", "first", "second")}
    points = {"anchor": "point of the first (m)", "opposite": "of the second (m)"}
    turned = {"rotation": "second in first (w x y z)"}
    _table(console, "Loops", d["loops"], {"name": "loop"} | named | points | turned)
    follows = [{"name": x["name"], "held": _polynomial(x)} for x in d["couplings"]]
    _table(console, "Couplings", follows, {"name": "coupling", "held": "held (rad, m)"})
    columns = {"kind": "kind", "link": "link", "size": "size (m)", "position": "position (m)"}
    _table(console, "Shapes", d["shapes"], {"name": "shape"} | columns | {"corners": "corners"})
    _print_pairs(d["pairs"], console)
    columns = {"name": "frame", "link": "link", "position": "position (m)"}
    _table(console, "Frames", d["frames"], columns)
    if model.notes:
        console.print(Text("Skipped, assumed, or different here", "bold"))
        for note in model.notes:
            console.print(Text(f"- {note}"))


def _polynomial(x: dict[str, Any]) -> str:
    """A coupling as an equation."""
    variable = x["second"]
    if x["reference"]:
        variable = f"({variable} {_signed(-x['reference'])})"
    factors = [x[k] for k in POWERS] if x["second"] else [x["offset"]]
    powers = ("", f" {variable}", *(f" {variable}^{n}" for n in (2, 3, 4)))
    terms = [_signed(c) + p for c, p in zip(factors, powers, strict=False) if c]
    return f"{x['first']} = {' '.join(terms).removeprefix('+ ') or '0'}"


def _signed(x: float) -> str:
    return f"{'-' if x < 0 else '+'} {abs(x):.6g}"


def _print_pairs(pairs: list[dict[str, Any]], console: Console) -> None:
    """The table of pairs; of many the first, and how many there are."""
    title = "Pairs that may touch"
    if len(pairs) > MOST_PAIRS:
        title += f" (the first {SHOWN_PAIRS} of {len(pairs)}; all of them in JSON)"
        pairs = pairs[:SHOWN_PAIRS]
    units = {"stiffness": "stiffness (N/m^n)", "dissipation": "dissipation (s/m)"}
    named = {k: k for k in ("friction", "restitution", "stiffness", "dissipation")}
    _table(console, title, pairs, {"name": "pair"} | named | units)


def _length(tendon: dict[str, Any]) -> str:
    """Coefficients and joints, and stretches between frames, as a sum."""
    terms = [f"{c:g} {name}" for name, c in tendon["joints"].items()]
    for kind, share, *frames in tendon["path"]:
        between = f"{'' if kind == 'straight' else kind}|{' - '.join(frames)}|"
        terms.append(between if share == 1 else f"{share:g} {between}")
    return " + ".join(terms)


def _table(
    console: Console, title: str, rows: list[dict[str, Any]], columns: dict[str, str]
) -> None:
    """Print rows under headings (key: heading); a column with nothing in it is left out."""
    from rich.table import Table
    from rich.text import Text

    if not rows:
        return
    shown = {k: v for k, v in columns.items() if any(r.get(k) not in (None, 0.0, []) for r in rows)}
    console.print(Text(title, "bold"))  # a table's own title is broken at the table's width
    table = Table()
    for key, heading in shown.items():
        numeric = any(isinstance(r.get(key), int | float) for r in rows)
        table.add_column(Text(heading), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(k))) for k in shown))
    console.print(table)


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, list):
        return _vector(value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _vector(values: list[float]) -> str:
    return "(" + " ".join(f"{v + 0.0:.5g}" for v in values) + ")"
