"""What joints whose motion is prescribed must be like: checks when a model is built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graftsim.errors import ModelError
from graftsim.model.tree import Tree


def check_prescribed(
    tree: Tree, actuators: Mapping[str, Mapping[str, Any]], targets: Sequence[tuple[int, int]]
) -> None:
    """Raises ModelError: a path on a tendon, on a rotation in space, on a part of a joint, beside
    another one, or with a delay, lag or limit.
    """
    paths = {
        name: (item, dof)
        for (name, item), (dof, _) in zip(actuators.items(), targets, strict=True)
        if item["drive"].prescribes
    }
    for name, (item, dof) in paths.items():
        where = f"Actuator '{name}'"
        if dof < 0:
            raise ModelError(f"{where}: a path prescribes the motion of a joint, not of a tendon.")
        link = int(tree.link_of_dof[dof])
        joint, kind = tree.joints[link], tree.joint_types[link]
        if not (kind.one_by_one and kind.nq == kind.nv):
            raise ModelError(
                f"{where}: a path needs a position that is one number for each degree of freedom; "
                f"joint '{joint}' is {kind.name}. A chain of prismatic and revolute joints has it."
            )
        twice = [other for other, (_, d) in paths.items() if d == dof and other != name]
        if twice:
            raise ModelError(f"{where} and '{twice[0]}' both prescribe {tree.dofs[dof]}.")
        driven = {d for _, d in paths.values()}
        free = [tree.dofs[d] for d in tree.v_index[link] if d not in driven]
        if free:
            raise ModelError(
                f"{where} prescribes a part of joint '{joint}'; {', '.join(free)} need paths too, "
                "or joints of their own."
            )
        _check_chain(where, item)


def _check_chain(where: str, item: Mapping[str, Any]) -> None:
    limits = ("control_lower", "control_upper", "force_lower", "force_upper", "stall_force")
    limited = [k for k in limits if np.isfinite(item[k])]
    if item["lagged"] or item["longest_delay"] or limited:
        what = "lag" if item["lagged"] else "delay" if item["longest_delay"] else limited[0]
        raise ModelError(
            f"{where}: a path is followed exactly and at once; it takes no {what}. Shift or filter "
            "the path itself, or use a position drive."
        )
    if item["gear"] == 0:
        raise ModelError(f"{where}: the gear of a path must not be zero.")
