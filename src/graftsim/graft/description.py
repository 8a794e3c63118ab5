"""Grafts in words: what a file says of a bound graft, and the blueprint that it stands for.

Networks and structures with a name are described by it and their fields. A user's own module,
feature function or class without a name is code, which no file can hold; of these only the class is
kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from graftsim.errors import VariableError
from graftsim.graft.blueprint import Graft
from graftsim.graft.bound import BoundGraft
from graftsim.graft.described import describe_part, part_of
from graftsim.graft.network import NETWORKS
from graftsim.graft.structure import STRUCTURES
from graftsim.graft.wiring import Computed


def describe(graft: BoundGraft) -> dict[str, Any]:
    """A bound graft in lists, texts and numbers, as JSON has them; without weights and scales."""
    w = graft.wiring
    inputs, settled = [], iter(w.scaled[0])
    for text, i in zip(w.texts, w.inputs, strict=True):
        columns = [
            {"column": c, "unit": u, "settled": next(settled)}
            for c, u in zip(i.columns, i.units, strict=True)
        ]
        inputs.append({"text": text, "feature": isinstance(i, Computed), "columns": columns})
    outputs = [
        {"column": c, "unit": u, "settled": w.scaled[1]}
        for t in w.targets
        for c, u in zip(t.columns, t.units, strict=True)
    ]
    network: Any = graft.form if w.specification is None else w.specification
    found = {
        "name": w.label,
        "target": w.selectors,
        "mode": w.mode,
        "shared": w.shared,
        "rows": w.row_labels,
        "inputs": inputs,
        "outputs": outputs,
        "network": describe_part(network, NETWORKS),
        "structure": [describe_part(s, STRUCTURES) for s in w.structure],
        "prior": w.prior,
    }
    try:
        # Numbers may be NumPy's, as in MLP(*widths) of an array.
        return json.loads(json.dumps(found, default=lambda x: x.tolist()))
    except (AttributeError, TypeError) as error:
        raise VariableError(
            f"Graft '{w.label}': {network} or one of its structures has a field that is no number, "
            f"text or list of these, and cannot be described in a file ({error})."
        ) from error


def undescribed(entry: Mapping[str, Any]) -> list[str]:
    """The parts of a description that are somebody's own code, in words."""
    own = [f"the function of input '{i['text']}'" for i in entry["inputs"] if i["feature"]]
    parts = [("network", entry["network"], NETWORKS)]
    parts += [("structure", s, STRUCTURES) for s in entry["structure"]]
    for what, part, known in parts:
        name = part["class"]
        if name not in known:
            # A name without a dot is one that a class has stated.
            hint = "" if "." in name else " (or import the module that defines it)"
            own.append(f"the {what} {name}{hint}")
    return own


def graft_of(entry: Mapping[str, Any]) -> Graft:
    """The graft that a description stands for; its scales are set by who has them."""
    return Graft(
        tuple(entry["target"]),
        tuple(i["text"] for i in entry["inputs"]),
        part_of(entry["network"], NETWORKS),
        mode=entry["mode"],
        shared=entry["shared"],
        structure=tuple(part_of(s, STRUCTURES) for s in entry["structure"]),
        prior=entry["prior"],
        name=entry["name"],
    )


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Lines that say by name where two descriptions differ, settled scales apart."""
    for what in ("target", "mode", "shared", "network", "structure", "prior"):
        if there[what] != here[what]:
            yield f"{what}: {_shown(there[what])} in the file, {_shown(here[what])} here"
    yield from _lists("rows", there["rows"], here["rows"])
    yield from _lists(
        "inputs", [i["text"] for i in there["inputs"]], [i["text"] for i in here["inputs"]]
    )
    sides = [
        [c for i in side["inputs"] for c in i["columns"]] + side["outputs"]
        for side in (there, here)
    ]
    yield from _lists("columns", *([c["column"] for c in side] for side in sides))
    units = [{c["column"]: c["unit"] for c in side} for side in sides]
    for column in units[0]:
        first, second = units[0][column], units[1].get(column)
        if second is not None and first != second:
            yield f"unit of {column}: {first} in the file, {second} here"


def _lists(what: str, there: list[str], here: list[str]) -> Iterator[str]:
    """How two lists of names differ."""
    if there == here:
        return
    sides = {"file": there, "simulator": here}
    missing = [[n for n in a if n not in b] for a, b in ((there, here), (here, there))]
    if not any(missing):
        yield f"{what} in another order: " + "; ".join(
            f"{side}: {', '.join(names)}" for side, names in sides.items()
        )
    for side, names in zip(sides, missing, strict=True):
        if names:
            yield f"{what} only in the {side}: {', '.join(names)}"


def _shown(value: Any) -> str:
    """A value of a description as a reader would write it."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{k}={_shown(v)}" for k, v in value.items() if k != "class")
        return f"{value['class']}({inside})"
    return f"[{', '.join(map(_shown, value))}]" if isinstance(value, list) else str(value)
