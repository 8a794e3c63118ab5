"""Tendons and actuators as a builder has declared them, checked and frozen into arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model.model import Actuators, Tendons
from graftsim.model.path_type import Stretch
from graftsim.model.prescribed_motion import check_prescribed
from graftsim.model.tree import Tree

if TYPE_CHECKING:
    from graftsim.model.freeze import Declared

# Of those on sites alone.
_SITE = ("site_force", "site_torque")


def freeze_tendons(declared: Declared, tree: Tree, dtype: Any) -> Tendons:
    """Tendons in the order of declaration.

    Raises ModelError: an unknown degree of freedom or frame.
    """
    items = declared.tendons
    known, frames_at = _numbered(tree.dofs), _numbered(declared.frames)
    entries, coefficients, path = [], [], []
    for t, (name, item) in enumerate(items.items()):
        for joint, c in item["joints"].items():
            at = _place(f"Tendon '{name}'", "degree of freedom", joint, known)
            entries.append((t, at))
            coefficients.append(float(c))
        for kind, frames, share in item["path"]:
            at = tuple(_place(f"Tendon '{name}'", "frame", x, frames_at) for x in frames)
            path.append(Stretch(t, kind, at, share))
    fields = Tendons.__dataclass_fields__.items()
    leaves = [k for k, f in fields if not f.metadata.get("static") and k != "coefficient"]
    return Tendons(
        names=tuple(items),
        entries=tuple(entries),
        path=tuple(path),
        coefficient=_column(dtype, coefficients, len(coefficients)),
        **{k: _column(dtype, [x[k] for x in items.values()], len(items)) for k in leaves},
    )


def freeze_actuators(declared: Declared, tree: Tree, dtype: Any) -> Actuators:
    """Actuators in the order of declaration, each on a degree of freedom, a tendon or a site.

    Raises ModelError: something unknown that one acts on.
    """
    items = declared.actuators
    values, fields = list(items.values()), Actuators.__dataclass_fields__.items()
    leaves = [
        k for k, f in fields if not f.metadata.get("static") and k != "own" and k not in _SITE
    ]
    own = {k: n for x in items.values() for k, n in x["drive"].numbers.items()}
    dofs, tendons, sites = [], [], []
    dofs_at, tendons_at = _numbered(tree.dofs), _numbered(declared.tendons)
    frames_at = _numbered(declared.frames)
    for name, item in items.items():
        where = f"Actuator '{name}'"
        joint, tendon, site = (item[k] for k in ("joint", "tendon", "site"))
        dofs.append(-1 if joint is None else _place(where, "degree of freedom", joint, dofs_at))
        tendons.append(-1 if tendon is None else _place(where, "tendon", tendon, tendons_at))
        if site is not None:
            other = item["reference"]
            both = [
                -1 if x is None else _place(where, "frame", x, frames_at) for x in (site, other)
            ]
            sites.append((both[0], both[1]))
    check_prescribed(tree, items, list(zip(dofs, tendons, strict=True)))
    pushed = [x for x in values if x["site"] is not None]
    return Actuators(
        names=tuple(items),
        drives=tuple(x["drive"] for x in values),
        inputs=tuple(x["inputs"] for x in values),
        dof=tuple(dofs),
        tendon=tuple(tendons),
        sites=tuple(sites),
        lagged=tuple(x["lagged"] for x in values),
        longest_delay=tuple(x["longest_delay"] for x in values),
        speed_limited=tuple(x["speed_limited"] for x in values),
        own={k: _column(dtype, [x.get(k, n.default) for x in values], -1) for k, n in own.items()},
        **{k: _column(dtype, [x[k] for x in values], len(items)) for k in leaves},
        **{k: _column(dtype, [x[k] for x in pushed], len(pushed), 3) for k in _SITE},
    )


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """The place of each name."""
    return {name: k for k, name in enumerate(names)}


def _place(where: str, kind: str, name: str, known: Mapping[str, int]) -> int:
    if name not in known:
        raise ModelError(f"{where}: no {kind} named '{name}'. {suggest(name, known)}")
    return known[name]


def _column(dtype: Any, rows: list[Any], *shape: int) -> Any:
    return jnp.asarray(np.array(rows, float).reshape(shape), dtype)
