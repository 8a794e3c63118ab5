"""A step in pieces: cut where an impact begins, each piece a step of its own.

An impact takes two of them: one up to it, and the impact, without length. Few steps have one, so
what follows the first piece is a branch (`seldom`): a step without impact does not compute it.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from graftsim.contact.law import Felt
from graftsim.model.state import State
from graftsim.seldom import seldom
from graftsim.taps import Tapper


class Piece(NamedTuple):
    """State at the end of a piece, its time (s), and forces of contact; () if none are named."""

    state: State
    time: Float[Array, ""]
    felt: Felt | tuple[()]


class Advance(Protocol):
    """From a state, the time left (s), and whether the piece may be cut."""

    def __call__(
        self, state: State, left: Float[Array, ""], cut: Bool[Array, ""] | bool, scope: Tapper
    ) -> Piece:
        """A piece of at most the time left."""
        ...


def in_pieces(
    advance: Advance, state: State, h: Float[Array, ""], cuts: int, scope: Tapper
) -> State:
    """State after h seconds, cut by at most so many impacts.

    Variables are named in the first piece. Forces of contact are the means over all pieces.
    """
    state, passed, felt = advance(state, h, cuts > 0, scope)
    if cuts == 0:
        _amend(felt, h, scope)
        return state
    may_cut = np.arange(2 * cuts) < 2 * cuts - 1

    def go(carry: Any, cut: Array) -> Any:
        state, left, felt = carry
        state, passed, more = advance(state, left, cut, scope.again())
        return state, left - passed, _together(felt, more)

    def turn(carry: Any, cut: Array) -> tuple[Any, None]:
        return seldom(carry[1] > 0, lambda carry: go(carry, cut), carry), None

    left = h - passed
    state, _, felt = seldom(
        left > 0, lambda carry: jax.lax.scan(turn, carry, jnp.asarray(may_cut))[0],
        (state, left, felt),
    )  # fmt: skip
    if felt:
        scope.amend("contact.force_n", felt.impulse[:, 0] / h)
        scope.amend("contact.force_t", felt.impulse[:, 1:] / h)
        scope.amend("contact.residual", felt.residual)
    _amend(felt, h, scope)
    return state


def _amend(felt: Felt | tuple[()], h: Float[Array, ""], scope: Tapper) -> None:
    """Mean forces of loops and prescribed motion, what answers impulses of contact included."""
    if felt and not isinstance(felt.loops, tuple):
        scope.amend("loop.force", felt.loops / h)
    if felt and not isinstance(felt.motion, tuple):
        scope.amend("joint.reaction", felt.motion / h)


def _together(felt: Felt | tuple[()], more: Felt | tuple[()]) -> Felt | tuple[()]:
    if not felt or not more:
        return ()
    worst = jnp.where(felt.residual > more.residual, felt.residual, more.residual)
    loops, motion = _added(felt.loops, more.loops), _added(felt.motion, more.motion)
    return Felt(felt.impulse + more.impulse, worst, felt.links + more.links, loops, motion)


def _added(a: Array | tuple[()], b: Array | tuple[()]) -> Array | tuple[()]:
    return () if isinstance(a, tuple) or isinstance(b, tuple) else a + b
