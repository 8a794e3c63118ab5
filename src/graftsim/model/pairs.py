"""Which shapes may touch, and what their surfaces make of it: from shapes to `Pairs`.

Every two shapes on links that can move against each other make a pair, unless their masks say no,
the links are parent and child, or both belong to one mechanism and self-collision was not asked
for.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model.contact_counts import contacts
from graftsim.model.shapes import rank
from graftsim.model.tree import Tree

if TYPE_CHECKING:
    from graftsim.model.model import Model

# Where neither file nor user gives a number. Stiffness has none: it follows from the weight.
DEFAULTS = {
    "friction": 1.0,
    "stribeck": 0.0,
    "friction_velocity": 0.01,
    "restitution": 0.0,
    "dissipation": 10.0,
    "cfm": 0.0,
}
SURFACE = (*DEFAULTS, "stiffness")
# Depth (m) at which the default stiffness carries the whole weight, with the exponent of Hertz.
_DEPTH, _EXPONENT = 1e-3, 1.5


def candidates(
    tree: Tree, geoms: list[dict[str, Any]], excluded: set[frozenset[int]], self_collision: bool
) -> list[tuple[int, int]]:
    """Pairs of shapes that nothing keeps apart, each in the canonical order of kinds."""
    carrier, root = _carriers(tree), _roots(tree)
    above = {carrier[i]: carrier[tree.parent[i]] for i in range(tree.nl) if carrier[i] == i}
    found = []
    for j in range(len(geoms)):
        for i in range(j):
            a, b = (carrier[geoms[k]["link"]] for k in (i, j))
            same_mechanism = a >= 0 and b >= 0 and root[a] == root[b]
            neighbours = a >= 0 and b >= 0 and (above[a] == b or above[b] == a)
            apart = a != b and not neighbours and (self_collision or not same_mechanism)
            links = frozenset(geoms[k]["link"] for k in (i, j))
            (type_a, open_a), (type_b, open_b) = (geoms[k]["mask"] for k in (i, j))
            masked = not (type_a & open_b or type_b & open_a)
            if apart and not masked and links not in excluded:
                found.append(ordered(geoms, i, j))
    return found


def ordered(geoms: list[dict[str, Any]], i: int, j: int) -> tuple[int, int]:
    """Two shapes in the order that collision functions take them in."""
    return (i, j) if rank(geoms[i]["kind"]) <= rank(geoms[j]["kind"]) else (j, i)


def count(geoms: list[dict[str, Any]], i: int, j: int) -> int | None:
    """Number of candidate contacts of two shapes; None when their kinds cannot touch."""
    a, b = (geoms[k] for k in ordered(geoms, i, j))
    return contacts(a["kind"], b["kind"], len(a["vertices"]), len(b["vertices"]))


def cannot_touch(pairs: Iterable[tuple[str, str, str]]) -> list[str]:
    """Sentences on pairs (two kinds, name) that would touch if their kinds could."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for *kinds, name in pairs:
        groups.setdefault(tuple(sorted(kinds)), []).append(name)
    return [
        f"contact between {a} and {b} is not computed, so these pass through each other: "
        f"{listed(names)}."
        for (a, b), names in groups.items()
    ]


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names after commas; of very many the first, and how many more."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def surface(
    a: dict[str, Any], b: dict[str, Any], stated: dict[str, float], weight: float
) -> dict[str, float]:
    """Numbers of a pair: as stated for it, else from its shapes, else the default.

    Of two stated numbers the larger holds, as in MuJoCo; stiffnesses act in series.
    """
    out = {}
    for key in SURFACE:
        own = [x["surface"][key] for x in (a, b) if x["surface"][key] is not None]
        if stated.get(key) is not None:
            out[key] = float(stated[key])
        elif own:
            out[key] = 1 / sum(1 / x for x in own) if key == "stiffness" else max(own)
        else:
            out[key] = weight / _DEPTH**_EXPONENT if key == "stiffness" else DEFAULTS[key]
    return out


def check_surface(numbers: dict[str, float | None], where: str) -> dict[str, float | None]:
    """Raises ModelError for a number that no surface can have."""
    for key, value in numbers.items():
        if key not in SURFACE:
            raise ModelError(f"{where}: '{key}' is not one of {', '.join(SURFACE)}.")
        low = value is not None and not (value > 0 if key in _POSITIVE else value >= 0)
        if low or (value is not None and not np.isfinite(value)):
            need = "positive" if key in _POSITIVE else "zero or more"
            raise ModelError(f"{where}: {key} must be {need} and finite, got {value}.")
    return {key: None if (x := numbers.get(key)) is None else float(x) for key in SURFACE}


_POSITIVE = ("stiffness", "friction_velocity")


def contact_counts(model: Model) -> tuple[int, ...]:
    """Number of candidate contacts of each pair."""
    g = model.geom
    return tuple(
        contacts(g.types[i], g.types[j], len(g.vertices[i]), len(g.vertices[j])) or 0
        for i, j in model.pair.geoms
    )


def contact_labels(model: Model) -> tuple[str, ...]:
    """Names of the candidate contacts: the pair's, with a number where it has several."""
    out: list[str] = []
    for name, n in zip(model.pair.names, contact_counts(model), strict=True):
        out += [name] if n == 1 else [f"{name}.{k}" for k in range(n)]
    return tuple(out)


def _carriers(tree: Tree) -> dict[int, int]:
    """The moving link that carries each link; -1: the world."""
    carrier = {-1: -1}
    for i, parent in enumerate(tree.parent):
        carrier[i] = i if tree.moving[i] else carrier[parent]
    return carrier


def _roots(tree: Tree) -> dict[int, int]:
    """First moving link of the mechanism that each moving link belongs to."""
    carrier, root = _carriers(tree), {}
    for i, parent in enumerate(tree.parent):
        if carrier[i] == i:
            root[i] = i if carrier[parent] < 0 else root[carrier[parent]]
    return root


def keep_pairs(model: Model, *patterns: str) -> Model:
    """The model in which only the pairs named by the patterns may touch: `ground/*foot*`.

    Every candidate contact costs time, so a robot that stands on its feet is best given just those.
    Raises ModelError: a pattern that names no pair.
    """
    pair = model.pair
    kept: set[int] = set()
    for pattern in patterns:
        rows = [k for k, name in enumerate(pair.names) if fnmatchcase(name, pattern)]
        if not rows:
            raise ModelError(f"'{pattern}' names no pair. {suggest(pattern, pair.names)}")
        kept |= set(rows)
    return only_pairs(model, np.array(sorted(kept), int))


def only_pairs(model: Model, index: np.ndarray) -> Model:
    """The model with the pairs of these rows alone."""
    pair = model.pair
    numbers = {key: getattr(pair, key)[index] for key in SURFACE}
    names, geoms = (tuple(x[k] for k in index) for x in (pair.names, pair.geoms))
    return replace(model, pair=type(pair)(names=names, geoms=geoms, **numbers))
