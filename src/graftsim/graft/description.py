"""Grafts in words: what a file says of a bound graft, and the blueprint that it stands for.

Networks and structures of this package are described by class and fields. A user's own module,
structure or feature function is code, which no file can hold; of these only the name is kept.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from graftsim.graft.blueprint import Graft
from graftsim.graft.bound import BoundGraft
from graftsim.graft.networks import GRU, MLP, Library, Specification
from graftsim.graft.structure import (
    ActionReaction,
    Conservative,
    Dissipative,
    Odd,
    Structure,
    ZeroAtRest,
)
from graftsim.graft.wiring import Computed

NETWORKS: dict[str, type[Specification]] = {"MLP": MLP, "GRU": GRU, "Library": Library}
STRUCTURES: dict[str, type[Structure]] = {
    s.__name__: s for s in (ActionReaction, Conservative, Dissipative, Odd, ZeroAtRest)
}


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
        "network": _named(network, NETWORKS),
        "structure": [_named(s, STRUCTURES) for s in w.structure],
        "prior": w.prior,
    }
    # Numbers may be NumPy's, as in MLP(*widths) of an array.
    return json.loads(json.dumps(found, default=lambda x: x.item()))


def undescribed(entry: Mapping[str, Any]) -> list[str]:
    """The parts of a description that are somebody's own code, in words."""
    own = [f"the function of input '{i['text']}'" for i in entry["inputs"] if i["feature"]]
    if entry["network"]["class"] not in NETWORKS:
        own.append(f"the network {entry['network']['class']}")
    return own + [
        f"the structure {s['class']}" for s in entry["structure"] if s["class"] not in STRUCTURES
    ]


def graft_of(entry: Mapping[str, Any]) -> Graft:
    """The graft that a description stands for; its scales are set by who has them."""
    network = entry["network"]
    made = {
        "MLP": lambda widths, **options: MLP(*widths, **options),
        "GRU": GRU,
        "Library": lambda terms: Library(*terms),
    }[network["class"]]
    return Graft(
        tuple(entry["target"]),
        tuple(i["text"] for i in entry["inputs"]),
        made(**_fields(network)),
        mode=entry["mode"],
        shared=entry["shared"],
        structure=tuple(STRUCTURES[s["class"]](**_fields(s)) for s in entry["structure"]),
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


def _named(part: Any, known: Mapping[str, type]) -> dict[str, Any]:
    """Class and fields; of a class that is not this package's, its full name."""
    kind = type(part)
    if known.get(kind.__name__) is not kind:
        return {"class": f"{kind.__module__}.{kind.__qualname__}"}
    assert is_dataclass(part)
    return {"class": kind.__name__} | {f.name: getattr(part, f.name) for f in fields(part)}


def _fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {k: _tuples(v) for k, v in entry.items() if k != "class"}


def _tuples(value: Any) -> Any:
    """JSON has lists where the fields are tuples, which can be hashed."""
    return tuple(_tuples(v) for v in value) if isinstance(value, list) else value
