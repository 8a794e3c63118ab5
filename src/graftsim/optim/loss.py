"""Losses: how whitened residuals are weighed before they are squared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.errors import ProblemError, suggest
from graftsim.strategies import LOSSES, find


@dataclass(frozen=True)
class Loss(ABC):
    """A loss rho(r) of whitened residuals r, written as half a square: rho = weighed(r)^2 / 2.

    name, help: for flags and files. gaussian: is it the negative logarithm of a normal density?
    """

    name: ClassVar[str]
    help: ClassVar[str]
    gaussian: ClassVar[bool] = False

    @abstractmethod
    def weighed(self, r: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """Residuals whose halved squares are the loss; differentiable."""


@dataclass(frozen=True)
class Squared(Loss):
    """r^2 / 2."""

    name: ClassVar[str] = "squared"
    help: ClassVar[str] = "least squares"
    gaussian: ClassVar[bool] = True

    def weighed(self, r: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """The residuals themselves."""
        return r


@dataclass(frozen=True)
class Huber(Loss):
    """r^2 / 2 up to a `width` of standard deviations, beyond it linear (Huber 1964)."""

    name: ClassVar[str] = "huber"
    help: ClassVar[str] = "forgives outliers"

    width: float = 3.0

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ProblemError(f"The width of a Huber loss must be positive, got {self.width}.")

    def weighed(self, r: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """sqrt(2 k |r| - k^2) with the sign of r beyond the width k."""
        size, k = jnp.abs(r), self.width
        outside = size > k
        root = jnp.sqrt(jnp.where(outside, 2 * k * size - k * k, 1.0))
        return jnp.where(outside, jnp.sign(r) * root, r)


@dataclass(frozen=True)
class Tukey(Loss):
    """k^2 / 6 (1 - (1 - (r / k)^2)^3) up to a `width` k, beyond it constant (Beaton & Tukey 1974).

    What lies beyond has no pull at all, so start near the solution.
    """

    name: ClassVar[str] = "tukey"
    help: ClassVar[str] = "leaves outliers out"

    width: float = 4.685

    def __post_init__(self) -> None:
        if not self.width > 0:
            raise ProblemError(f"The width of a Tukey loss must be positive, got {self.width}.")

    def weighed(self, r: Float[Array, "*n"]) -> Float[Array, "*n"]:
        """k sqrt((1 - (1 - (r / k)^2)^3) / 3) with the sign of r."""
        k = self.width
        u = jnp.minimum((r / k) ** 2, 1.0)
        # (1 - (1 - u)^3) / u, which does not vanish.
        inner = 3 - 3 * u + u * u
        inside = jnp.abs(r) < k
        return jnp.where(inside, r * jnp.sqrt(inner / 3), jnp.sign(r) * k / jnp.sqrt(3.0))


def choose_loss(loss: str | Loss) -> Loss:
    """A loss by its name, or the one given; ProblemError: an unknown name."""
    if isinstance(loss, Loss):
        return loss
    if loss not in LOSSES:
        raise ProblemError(f"loss '{loss}'. {suggest(loss, LOSSES)}")
    return find(LOSSES[loss])()
