"""Costs of a motion: JAX functions of state and commands, summed over the steps.

    sum_t running(x_t, u_t) + terminal(x_T)

A kind of cost says how the numbers of these functions are weighed, and what its second derivatives
are: exact, or those of Gauss and Newton.
"""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


class Quadratic(NamedTuple):
    """l + g' z + z' H z / 2 about a point, z = (dx, du)."""

    value: Float[Array, ""]
    gradient: Float[Array, " z"]
    hessian: Float[Array, "z z"]


@dataclass(frozen=True)
class Cost(abc.ABC):
    """What a controller makes small.

    running: of (state, u) at each step, terminal: of the last state. Where the controller is given
    a reference, each has that of its time as one more argument. Both are pure JAX functions; equal
    functions share compiled code, so define them once.
    """

    running: Callable[..., Any]
    terminal: Callable[..., Any]

    @abc.abstractmethod
    def weigh(self, found: Any) -> Float[Array, ""]:
        """The cost, from what a function returned."""

    @abc.abstractmethod
    def expand(self, f: Callable[[Array], Any], z: Float[Array, " z"]) -> Quadratic:
        """Cost, gradient and second derivatives of f at z."""

    @abc.abstractmethod
    def wrong(self, shape: tuple[int, ...]) -> str | None:
        """What is wrong about a function that returns arrays of this shape, if anything."""


@final
@dataclass(frozen=True)
class ScalarCost(Cost):
    """Functions that return a number; second derivatives are exact."""

    def weigh(self, found: Any) -> Float[Array, ""]:
        """As it is."""
        return found

    def expand(self, f: Callable[[Array], Any], z: Float[Array, " z"]) -> Quadratic:
        """Forward over reverse mode."""
        value, gradient = jax.value_and_grad(f)(z)
        return Quadratic(value, gradient, jax.jacfwd(jax.grad(f))(z))

    def wrong(self, shape: tuple[int, ...]) -> str | None:
        """It must be a number."""
        if shape == ():
            return None
        return f"returns an array of shape {shape}; a scalar is expected, or LeastSquares for it"


@final
@dataclass(frozen=True)
class LeastSquares(Cost):
    """Functions that return residuals r [k]: |r|^2 / 2, with J' J for the second derivatives
    (Gauss and Newton), which is never negative.
    """

    def weigh(self, found: Any) -> Float[Array, ""]:
        """|r|^2 / 2."""
        return 0.5 * jnp.sum(found * found)

    def expand(self, f: Callable[[Array], Any], z: Float[Array, " z"]) -> Quadratic:
        """r' r / 2, J' r, J' J."""
        r, J = f(z), jax.jacfwd(f)(z)
        return Quadratic(self.weigh(r), J.T @ r, J.T @ J)

    def wrong(self, shape: tuple[int, ...]) -> str | None:
        """It must be a vector."""
        return None if len(shape) == 1 else f"returns an array of shape {shape}; a vector [k] is " \
            "expected, or ScalarCost for a number"  # fmt: skip
