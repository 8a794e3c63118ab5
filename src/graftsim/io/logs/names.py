"""Names of a robot beside names of a log: which column belongs to which joint."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from graftsim.selectors import row_name

if TYPE_CHECKING:
    from graftsim.model.model import Model


@dataclass(frozen=True)
class Drive:
    """An actuator as a log meets it: its name, its kind, the label of what it drives, and what it
    can take beside its command.
    """

    name: str
    kind: str
    dof: str
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True)
class RobotNames:
    """What channels of a robot may be called.

    joints: labels of joints of one degree of freedom, in the robot's order; travel: their limits
    (rad, m), infinite where there are none; turning: those that turn. dofs: all labels of `joint`
    channels; bodies: of `link` channels.
    """

    joints: tuple[str, ...]
    travel: Mapping[str, tuple[float, float]]
    turning: frozenset[str]
    drives: tuple[Drive, ...]
    dofs: tuple[str, ...]
    bodies: tuple[str, ...]

    @staticmethod
    def of(model: Model) -> RobotNames:
        """Of a model."""
        from graftsim.model.catalogue import dofs_by_row, labels  # brings JAX

        tree, act = model.tree, model.actuator
        lower, upper = np.asarray(model.joint.lower), np.asarray(model.joint.upper)
        links = zip(tree.dofs, tree.link_of_dof, strict=True)
        single = [dof for dof, i in links if tree.joint_types[i].nv == 1]
        at = {dof: k for k, dof in enumerate(tree.dofs)}
        return RobotNames(
            tuple(single),
            {dof: (float(lower[at[dof]]), float(upper[at[dof]])) for dof in single},
            frozenset(d for d in single if tree.dof_units[at[d]] == "rad"),
            tuple(
                Drive(name, drive.name, tree.dofs[rows[0]], drive.inputs)
                for name, drive, rows in zip(
                    act.names, act.drives, dofs_by_row(model, "actuator"), strict=True
                )
                if len(rows) == 1
            ),
            tuple(dict.fromkeys((*tree.dofs, *tree.joints))),
            (*tree.links, *labels(model, "frame")),
        )

    def labels(self, quantity: str) -> tuple[str, ...] | None:
        """Labels that channels of a quantity can have; None where any is right."""
        if quantity == "control":
            own = tuple(drive.name for drive in self.drives)
            return own + tuple(f"{drive.name}.{x}" for drive in self.drives for x in drive.inputs)
        family = quantity.partition(".")[0]
        return {"joint": self.dofs, "link": self.bodies}.get(family)

    def control(self, joint: str, kind: str, *, beside: bool = False) -> str | None:
        """The channel of commands to the only actuator of a kind on a joint, if there is one.

        beside: else of the only one which takes such a command beside its own, `NAME.torque`.
        """
        own = [d for d in self.drives if d.dof == joint]
        found = [d.name for d in own if d.kind == kind]
        if beside and not found:
            found = [f"{d.name}.{kind}" for d in own if kind in d.inputs]
        return row_name("control", found[0]) if len(found) == 1 else None


def matched(logged: Iterable[str], known: Sequence[str]) -> dict[str, str]:
    """Names of a log -> names of a robot: the same; else where one ends in the other, after a
    separator, and no second pair does (`left/elbow`, `elbow`).
    """
    logged = list(dict.fromkeys(logged))
    found = {name: name for name in logged if name in known}
    left = [name for name in logged if name not in found]
    free = [name for name in known if name not in found.values()]
    pairs = [(a, b) for a in left for b in free if _ends(a, b) or _ends(b, a)]
    for a, b in pairs:
        if sum(a == x for x, _ in pairs) == 1 and sum(b == y for _, y in pairs) == 1:
            found[a] = b
    return {name: found[name] for name in logged if name in found}


def _ends(long: str, short: str) -> bool:
    return bool(short) and re.search(rf"(?:^|[^A-Za-z0-9]){re.escape(short)}$", long) is not None
