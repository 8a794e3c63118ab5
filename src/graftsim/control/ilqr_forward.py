"""Motions under feedback, and what they cost: the forward pass of iLQR, a step length a lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.control.cost import Cost, Quadratic
from graftsim.control.ilqr_backward import Limits
from graftsim.control.ilqr_programs import Form
from graftsim.control.linear import difference, displace
from graftsim.model.state import State


class Motion(NamedTuple):
    """States (leading axis T + 1), the commands that led to them, and their cost."""

    states: State
    controls: Float[Array, "t m"]
    cost: Float[Array, ""]


class Feedback(NamedTuple):
    """u = u_t + k_t + K_t (x - x_t), within limits if there are any."""

    states: State
    controls: Float[Array, "t m"]
    k: Float[Array, "t m"]
    K: Float[Array, "t m n"]
    limits: Limits | None


@dataclass(frozen=True)
class Forward:
    """(numbers, start, feedback, reference, step length) -> Motion.

    reference: () or a pytree with leading axis T + 1, of which each step gets a row.
    """

    form: Form
    cost: Cost

    def __call__(
        self, numbers: Array, start: State, law: Feedback, reference: Any, length: Array
    ) -> Motion:
        """One simulation. The states of the law are without the last."""
        simulator = self.form.unpack(numbers)
        tree = simulator.model.tree

        def step(carry: tuple[State, Array], given: Any) -> tuple[Any, tuple[State, Array]]:
            (state, cost), (nominal, u, k, K, r) = carry, given
            u = u + length * k + K @ difference(tree, nominal, state)
            if law.limits is not None:
                u = jnp.clip(u, *law.limits)
            cost = cost + self.cost.weigh(self.cost.running(state, u, *r))
            after = simulator.step(state, u)
            return (after, cost), (after, u)

        first, last = split(reference)
        rows = law.states, law.controls, law.k, law.K, first
        zero = jnp.zeros((), law.controls.dtype)
        (end, cost), (after, controls) = jax.lax.scan(step, (start, zero), rows)
        cost = cost + self.cost.weigh(self.cost.terminal(end, *last))
        states = jax.tree.map(lambda x, rest: jnp.concatenate([x[None], rest]), start, after)
        return Motion(states, controls, cost)


@dataclass(frozen=True)
class RunningExpansion:
    """(numbers, state, u, reference row) -> the running cost about them, in (dx, du)."""

    form: Form
    cost: Cost
    n: int

    def __call__(self, numbers: Array, state: State, u: Array, r: Any) -> Quadratic:
        """Of one step."""
        tree = self.form.unpack(numbers).model.tree

        def at(z: Array) -> Any:
            return self.cost.running(displace(tree, state, z[: self.n]), u + z[self.n :], *r)

        return self.cost.expand(at, jnp.zeros(self.n + u.shape[0], u.dtype))


@dataclass(frozen=True)
class TerminalExpansion:
    """(numbers, state, reference row) -> the terminal cost about it, in dx."""

    form: Form
    cost: Cost
    n: int

    def __call__(self, numbers: Array, state: State, r: Any) -> Quadratic:
        """Of the last state."""
        tree = self.form.unpack(numbers).model.tree

        def at(dx: Array) -> Any:
            return self.cost.terminal(displace(tree, state, dx), *r)

        return self.cost.expand(at, jnp.zeros(self.n, state.q.dtype))


def split(reference: Any) -> tuple[Any, Any]:
    """Rows of all steps and of the end, as further arguments of a cost: () if there is none."""
    if isinstance(reference, tuple) and not reference:
        return (), ()
    rows = jax.tree.map(lambda x: x[:-1], reference)
    return (rows,), (jax.tree.map(lambda x: x[-1], reference),)
