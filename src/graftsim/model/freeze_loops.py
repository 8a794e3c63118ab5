"""Loops and couplings as a builder has declared them, checked and frozen into arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from graftsim.errors import ModelError, suggest
from graftsim.model import checks
from graftsim.model.loops import COUPLING, CouplingNumbers, Couplings, Loops
from graftsim.model.tree import Tree

if TYPE_CHECKING:
    from graftsim.model.freeze import Declared


def coupling_numbers(name: str, given: CouplingNumbers) -> dict[str, float]:
    """All numbers of a coupling; raises ModelError for a wrong name or one that is not finite."""
    for k in given:
        if k not in COUPLING:
            raise ModelError(f"Coupling '{name}': there is no number '{k}'. {suggest(k, COUPLING)}")
    values: Mapping[str, Any] = COUPLING | dict(given)
    return {
        k: float(checks.vector((v,), 1, f"Coupling '{name}': {k}")[0]) for k, v in values.items()
    }


def freeze_loops(declared: Declared, dtype: Any) -> Loops:
    """Loops in the order of declaration; raises ModelError for an end that is not there."""
    items = declared.loops
    ends = [
        [_end(declared, name, item[k]) for k in ("first", "second")] for name, item in items.items()
    ]
    links, points, rotations = [], [], []
    for item, ((a, p_a, q_a), (b, p_b, q_b)) in zip(items.values(), ends, strict=True):
        links.append((a, b))
        points.append((p_a + _turn(q_a, item["anchor"]), p_b + _turn(q_b, item["opposite"])))
        turned = _multiply(_multiply(q_a, item["rotation"]), q_b * [1, -1, -1, -1])
        rotations.append(turned)
    both = np.array(points, float).reshape(len(items), 2, 3)
    return Loops(
        names=tuple(items),
        types=tuple(item["kind"] for item in items.values()),
        links=tuple(links),
        anchor=jnp.asarray(both[:, 0], dtype),
        opposite=jnp.asarray(both[:, 1], dtype),
        rotation=jnp.asarray(np.array(rotations, float).reshape(-1, 4), dtype),
    )


def freeze_couplings(declared: Declared, tree: Tree, dtype: Any) -> Couplings:
    """Couplings in the order of declaration.

    Raises ModelError: an unknown degree of freedom or tendon, one that is no plain displacement.
    """
    items = declared.couplings
    dofs, tendons = [], []
    for name, item in items.items():
        own = tuple(_displacement(declared, tree, name, item, k) for k in ("first", "second"))
        if own[0] == own[1]:
            raise ModelError(f"Coupling '{name}' couples '{item['first']}' to itself.")
        of_tendons = item["tendons"]
        dofs.append((-1, -1) if of_tendons else own)
        tendons.append(own if of_tendons else (-1, -1))
    return Couplings(
        names=tuple(items),
        dofs=tuple(dofs),
        tendons=tuple(tendons),
        **{
            k: jnp.asarray(np.array([x[k] for x in items.values()], float), dtype) for k in COUPLING
        },
    )


def _end(declared: Declared, name: str, end: str) -> tuple[int, np.ndarray, np.ndarray]:
    """Link index, position and orientation in it of a link, a frame or the world."""
    index = declared.index
    if end in index:
        return index[end], np.zeros(3), np.array([1.0, 0, 0, 0])
    if end not in declared.frames:
        known = suggest(end, [*index, *declared.frames])
        raise ModelError(f"Loop '{name}': no link or frame named '{end}'. {known}")
    frame = declared.frames[end]
    if frame["link"] not in index:
        raise ModelError(
            f"Loop '{name}': no link '{frame['link']}'. {suggest(frame['link'], index)}"
        )
    return index[frame["link"]], np.asarray(frame["position"]), np.asarray(frame["rotation"])


def _displacement(declared: Declared, tree: Tree, name: str, item: dict[str, Any], end: str) -> int:
    """Index of a degree of freedom or tendon; -1: there is none."""
    label = item[end]
    if label is None:
        return -1
    kind = "tendon" if item["tendons"] else "degree of freedom"
    known = tuple(declared.tendons) if item["tendons"] else tree.dofs
    if label not in known:
        raise ModelError(f"Coupling '{name}': no {kind} named '{label}'. {suggest(label, known)}")
    at = known.index(label)
    over = declared.tendons[label]["joints"] if item["tendons"] else {label: 1.0}
    for dof in over:
        joint = tree.joint_types[tree.link_of_dof[tree.dofs.index(dof)]]
        if not joint.one_by_one:
            raise ModelError(
                f"Coupling '{name}': '{dof}' belongs to a {joint.name} joint, whose displacements "
                "are not its coordinates. Hinges, slides and planar joints can be coupled."
            )
    return at


def _turn(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    across = np.cross(q[1:], v)
    return v + 2 * (q[0] * across + np.cross(q[1:], across))


def _multiply(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    w = p[0] * q[0] - p[1:] @ q[1:]
    return np.concatenate([[w], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])
