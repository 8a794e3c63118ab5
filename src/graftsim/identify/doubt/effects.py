"""Forces that hardly any robot file has, added to a joint's: what they would do to a fit.

Each is a size (N m, N) times a function of the motion, named `effect.KIND[joint]`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.selectors import row_name
from graftsim.taps import Scope

# Harmonics of a revolute joint's turn, each twice the one before: they stand for any torque that
# depends on its angle.
ORDERS = (1, 2, 4, 8)


class Shapes(NamedTuple):
    """What effects are made of: displacement, rate [.., nv], sine and cosine of each harmonic.

    load: the actuators' torque at the joint; width: of friction's change of sign [.., nv].
    """

    q: Any
    qd: Any
    waves: Mapping[int, tuple[Any, Any]]
    load: Any = 0.0
    width: Any = 1.0

    @classmethod
    def of(cls, q: Any, qd: Any, load: Any = 0.0, width: Any = 1.0) -> Shapes:
        """Of a motion; harmonics by doubling the angle, from one sine and one cosine."""
        xp = np if isinstance(q, np.ndarray) else jnp
        wave = xp.sin(q), xp.cos(q)
        waves = {1: wave}
        for n in ORDERS[1:]:
            s, c = wave
            wave = waves[n] = 2 * s * c, 1 - 2 * s * s
        return cls(q, qd, waves, load, width)


def _drag(at: Shapes) -> Any:
    return -at.qd * abs(at.qd)


def _wave(order: int, which: int, at: Shapes) -> Any:
    return at.waves[order][which]


def _load_friction(at: Shapes) -> Any:
    return -abs(at.load) * jnp.tanh(at.qd / at.width)


RIPPLES: dict[str, Callable[[Shapes], Any]] = {
    f"effect.ripple{n}{name}": partial(_wave, n, which)
    for n in ORDERS
    for which, name in enumerate("sc")
}
LOAD = "effect.load_friction"
EFFECTS: dict[str, Callable[[Shapes], Any]] = {
    "effect.drag": _drag,
    LOAD: _load_friction,
} | RIPPLES


class Effects:
    """Some effects on some joints, all of size zero unless a program says otherwise."""

    def __init__(self, dofs: tuple[str, ...], names: Sequence[str], width: Any = 1.0) -> None:
        """dofs: labels of the degrees of freedom. names: `effect.KIND[dof]`. width [nv]: of the
        change of sign of friction.
        """
        self.names, self._width = tuple(names), width
        self._nv = len(dofs)
        place = {row_name(kind, d): (kind, i) for kind in EFFECTS for i, d in enumerate(dofs)}
        # Per kind: which of the names, and their degrees of freedom.
        self._of: dict[str, tuple[list[int], list[int]]] = {}
        for k, name in enumerate(self.names):
            kind, dof = place[name]
            mine = self._of.setdefault(kind, ([], []))
            mine[0].append(k)
            mine[1].append(dof)

    def augmentations(self, sizes: Float[Array, " k"]) -> Mapping[str, Callable[..., Array]]:
        """What they change in a step, by variable."""

        def total(tau: Array, scope: Scope) -> Array:
            load = scope["joint.tau_actuator"] if LOAD in self._of else 0.0
            at = Shapes.of(scope["joint.q"], scope["joint.qd"], load, self._width)
            for kind, (which, dofs) in self._of.items():
                size = jnp.zeros(self._nv, tau.dtype).at[np.array(dofs)].set(sizes[np.array(which)])
                tau = tau + size * EFFECTS[kind](at)
            return tau

        return {"joint.tau": total} if self.names else {}
