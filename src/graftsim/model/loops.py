"""Closed loops and couplings of a mechanism: what links and joints cannot do against each other."""

from __future__ import annotations

from typing import TypedDict

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float

from graftsim.model.loop_type import LoopType

POWERS = ("offset", "ratio", "quadratic", "cubic", "quartic")
# Of a coupling that is declared without numbers: equal displacements.
COUPLING = {"ratio": 1.0} | {k: 0.0 for k in (*POWERS, "reference") if k != "ratio"}


class CouplingNumbers(TypedDict, total=False):
    """Of a coupling first = offset + ratio x + quadratic x^2 + cubic x^3 + quartic x^4,

    x = second - reference. Units are those of the two (rad, m): ratio 1, m/rad or rad/m.
    """

    offset: float
    ratio: float
    quadratic: float
    cubic: float
    quartic: float
    reference: float


class Loops(eqx.Module):
    """Links that are fastened to each other though neither carries the other.

    links: (first, second) of each (-1: the world). The point `opposite` of the second is held to
    the point `anchor` of the first; `rotation` is the second's orientation in the first (w x y z),
    of kinds that hold it.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    types: tuple[LoopType, ...] = eqx.field(static=True)
    links: tuple[tuple[int, int], ...] = eqx.field(static=True)
    anchor: Float[Array, "n 3"]
    opposite: Float[Array, "n 3"]
    rotation: Float[Array, "n 4"]

    @property
    def groups(self) -> tuple[tuple[LoopType, np.ndarray], ...]:
        """Loops by kind, in the order in which their rows stand."""
        return tuple(
            (kind, np.array([i for i, t in enumerate(self.types) if t == kind]))
            for kind in dict.fromkeys(self.types)
        )


class Couplings(eqx.Module):
    """Displacements that follow others by a polynomial: mimic joints, coupled tendons.

    dofs, tendons: (first, second) of each, -1 for what it is not; of both: there is no second.
    """

    names: tuple[str, ...] = eqx.field(static=True)
    dofs: tuple[tuple[int, int], ...] = eqx.field(static=True)
    tendons: tuple[tuple[int, int], ...] = eqx.field(static=True)
    offset: Float[Array, " n"]
    ratio: Float[Array, " n"]
    quadratic: Float[Array, " n"]
    cubic: Float[Array, " n"]
    quartic: Float[Array, " n"]
    reference: Float[Array, " n"]


def row_labels(loop: Loops, coupling: Couplings) -> tuple[str, ...]:
    """Label of each row: `LOOP.x` ... `LOOP.rz`, then the couplings."""
    own = (f"{loop.names[i]}.{r}" for kind, which in loop.groups for i in which for r in kind.rows)
    return (*own, *coupling.names)


def row_units(loop: Loops, coupling: Couplings, dof_units: tuple[str, ...]) -> tuple[str, ...]:
    """Unit of each row's position error."""
    own = (u for kind, which in loop.groups for _ in which for u in kind.units)
    return (*own, *(dof_units[d] if d >= 0 else "rad" for d, _ in coupling.dofs))
