"""Which geoms MuJoCo lets touch, and with what friction: each two become a pair that is stated.

The rules are MuJoCo's ("Collision detection" and "Contact parameters" of its documentation): geoms
that cannot move against each other never touch; those of parent and child do not, unless one is
fixed to the world; contype and conaffinity must match; bodies may be excluded. `<pair>` stands
above all of that.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.io.mjcf import checks
from graftsim.io.robot.xml_lines import Notes
from graftsim.model.build import Builder
from graftsim.model.contact_counts import contacts
from graftsim.model.pairs import cannot_touch
from graftsim.model.shape_type import ShapeType

SOFT = (
    "contact: friction is read. solref, solimp, margin and gap are not: what gives way here are "
    "pair.stiffness and pair.dissipation (SpringDamper), pair.restitution and pair.cfm (impulses)."
)
SLIDING = (
    "friction against turning and rolling (condim 4, 6) is left out; sliding friction is read."
)


def add_pairs(
    builder: Builder,
    mujoco: Any,
    mj: Any,
    shapes: dict[int, tuple[ShapeType, str]],
    self_collision: bool,
    notes: Notes,
) -> None:
    """State the pairs of those geoms that became shapes (`shapes`: geom to kind and name)."""
    if any(checks.disabled(mujoco, mj, flag) for flag in ("CONTACT", "CONSTRAINT")):
        notes.add("contact is switched off in the file: its shapes do not touch each other.")
        return
    pairs = _explicit(mujoco, mj, shapes, notes)
    for i, j in matched(mujoco, mj, self_collision=self_collision):
        if i in shapes and j in shapes and (i, j) not in pairs:
            pairs[i, j] = _friction(mujoco, mj, i, j)
    cannot: list[tuple[str, str, str]] = []
    for (i, j), friction in sorted(pairs.items(), key=lambda item: item[0][::-1]):
        (kind_a, a), (kind_b, b) = shapes[i], shapes[j]
        if contacts(kind_a, kind_b, 1, 1) is None:
            cannot.append((kind_a.name, kind_b.name, f"{a}/{b}"))
        else:
            builder.pair(a, b, friction=friction)
    if pairs:
        notes.add(SOFT)
    for g in sorted({g for pair in pairs for g in pair}):
        if mj.geom_condim[g] > 3:
            notes.group(SLIDING, "geom", shapes[g][1])
    for sentence in cannot_touch(cannot):
        notes.add(sentence)


def matched(mujoco: Any, mj: Any, *, self_collision: bool = True) -> list[tuple[int, int]]:
    """Geoms i < j that masks and bodies let touch, `<pair>` aside.

    Without `self_collision` geoms that joints connect, not by way of the world, do not.
    """
    body = mj.geom_bodyid
    # The body that each one moves with, and the one that this hangs on.
    weld, above = mj.body_weldid[body], mj.body_weldid[mj.body_parentid[mj.body_weldid[body]]]
    moves = mj.body_dofnum[weld] > 0
    meets = mj.geom_contype[:, None] & mj.geom_conaffinity
    may = ((meets | meets.T) != 0) & (weld[:, None] != weld) & (moves[:, None] | moves)
    both_move = (weld[:, None] != 0) & (weld != 0)
    if not checks.disabled(mujoco, mj, "FILTERPARENT"):
        hangs = weld[:, None] == above
        may &= ~((hangs | hangs.T) & both_move)
    if not self_collision:
        root = np.array([_root(mj, int(w)) for w in weld], int)
        may &= ~((root[:, None] == root) & both_move)
    for signature in mj.exclude_signature:
        one, other = (body == int(signature) >> 16), (body == int(signature) & 0xFFFF)
        between = one[:, None] & other
        may &= ~(between | between.T)
    return [(int(i), int(j)) for i, j in zip(*np.nonzero(np.triu(may, 1)), strict=True)]


def own_friction(mujoco: Any, mj: Any, g: int) -> float:
    """Coefficient of sliding friction of a geom; none where condim says so."""
    return _friction(mujoco, mj, g, g)


def _friction(mujoco: Any, mj: Any, i: int, j: int) -> float:
    """The larger of both, unless one geom has the higher priority."""
    first = max(mj.geom_priority[i], mj.geom_priority[j])
    say = [g for g in (i, j) if mj.geom_priority[g] == first]
    if max(mj.geom_condim[g] for g in say) == 1:
        return 0.0
    return _overridden(mujoco, mj, max(float(mj.geom_friction[g, 0]) for g in say))


def _explicit(
    mujoco: Any, mj: Any, shapes: dict[int, tuple[ShapeType, str]], notes: Notes
) -> dict[tuple[int, int], float]:
    """Friction of the pairs that the file declares, by their geoms i < j."""
    pairs: dict[tuple[int, int], float] = {}
    for k in range(mj.npair):
        i, j = sorted((int(mj.pair_geom1[k]), int(mj.pair_geom2[k])))
        weld = mj.body_weldid[mj.geom_bodyid[[i, j]]]
        if i not in shapes or j not in shapes:
            continue  # a geom of a kind that has been noted
        name = f"{shapes[i][1]}/{shapes[j][1]}"
        if weld[0] == weld[1] or not np.any(mj.body_dofnum[weld]):
            notes.group("not read: its geoms cannot move against each other.", "pair", name)
            continue
        one, two = mj.pair_friction[k, :2]
        if one != two and mj.pair_dim[k] > 1:
            notes.group("the first of two different coefficients holds.", "friction of pair", name)
        if mj.pair_dim[k] > 3:
            notes.group(SLIDING, "pair", name)
        if (i, j) in pairs:
            notes.group("declared twice; one contact, with the last friction.", "pair", name)
        pairs[i, j] = 0.0 if mj.pair_dim[k] == 1 else _overridden(mujoco, mj, float(one))
    return pairs


def _overridden(mujoco: Any, mj: Any, friction: float) -> float:
    """The file's one friction for all contacts, where it has switched that on."""
    override = mj.opt.enableflags & int(mujoco.mjtEnableBit.mjENBL_OVERRIDE)
    return float(mj.opt.o_friction[0]) if override else friction


def _root(mj: Any, body: int) -> int:
    """First body, of those that carry this one, that moves against the world."""
    while (above := int(mj.body_weldid[mj.body_parentid[body]])) != 0:
        body = above
    return body
