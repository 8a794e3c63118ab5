"""Which feet stand and how far they are in it: a clock, no sensor."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from graftsim.errors import ModelError


@dataclass(frozen=True)
class Gait:
    """A periodic gait: each foot stands for the first `duty` of a period, then swings.

    period (s); phase: where each of FR, FL, RR, RL begins, as a share of the period. The default
    is a trot: diagonal pairs take turns, and all four feet stand for 10 % of the time in between.
    """

    period: float = 0.5
    duty: float = 0.6
    phase: tuple[float, float, float, float] = (0.5, 0.0, 0.0, 0.5)

    def __post_init__(self) -> None:
        """Raises ModelError: a period that is not positive, a duty outside 0 to 1."""
        if not self.period > 0:
            raise ModelError(f"The period of a gait must be positive, got {self.period} s.")
        if not 0 < self.duty < 1:
            raise ModelError(f"The duty of a gait lies between 0 and 1, got {self.duty}.")

    @property
    def stance(self) -> float:
        """How long a foot stands (s)."""
        return self.duty * self.period

    def at(self, time: Float[Array, ""]) -> tuple[Bool[Array, " 4"], Float[Array, " 4"]]:
        """Whether each foot stands, and the share of its stance or swing that is over."""
        phase = jnp.asarray(self.phase, jnp.result_type(time))
        at = jnp.mod(time / self.period + phase, 1.0)
        stands = at < self.duty
        return stands, jnp.where(stands, at / self.duty, (at - self.duty) / (1 - self.duty))
