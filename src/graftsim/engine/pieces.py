"""A step in pieces: cut where an impact begins, each piece a step of its own.

Few steps meet an impact. So the pieces are turns of a loop in which all but the first mostly do
nothing: the code of a step is there once, and a step without impact costs what it did.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.model.state import State
from graftsim.taps import OFF, Tapper

Left = Float[Array, ""]


class Piece(Protocol):
    """From a state, the time (s) left, and whether the piece may be cut: what comes after it."""

    def __call__(
        self, state: State, left: Left, cut: Bool[Array, ""] | bool, scope: Tapper
    ) -> tuple[State, Left]:
        """State at the end of the piece, and its length (s)."""
        ...


def in_pieces(piece: Piece, state: State, h: Left, cuts: int, scope: Tapper) -> State:
    """State after h seconds, in at most `cuts` + 1 pieces. Variables are named in the first."""
    if cuts == 0:
        return piece(state, h, False, scope)[0]
    left = h
    if scope is not OFF:
        state, passed = piece(state, h, True, scope)
        left = h - passed
    turns = cuts + (scope is OFF)
    may_cut = np.arange(turns) < turns - 1

    def turn(carry: tuple[State, Left], cut: Array) -> tuple[tuple[State, Left], None]:
        def go() -> tuple[State, Left]:
            after, passed = piece(*carry, cut, scope.again())
            return after, carry[1] - passed

        return jax.lax.cond(carry[1] > 0, go, lambda: carry), None

    return jax.lax.scan(turn, (state, left), jnp.asarray(may_cut))[0][0]
