"""What trajectory optimisation returns, and how it ended."""

from __future__ import annotations

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.model.state import State
from graftsim.optim.outcome import Advised


class Outcome(Advised):
    """How an optimisation of a motion ended: equal to its name as text, with `advice`."""

    CONVERGED = "converged", ""
    ITERATION_LIMIT = (
        "iteration limit",
        "The commands can still be made better: allow more iterations, or go on with warm=.",
    )
    TIME_LIMIT = (
        "time limit",
        "The time was up before it converged; the motion is the best so far. Go on with warm=.",
    )
    STALLED = (
        "stalled",
        "No change of the commands lowers the cost, and yet its slope is not zero: is the cost "
        "smooth where the motion is, and positive in every command? Try other first commands.",
    )
    NON_FINITE = (
        "non-finite",
        "The first motion leaves the finite numbers, or its cost does: start from other commands, "
        "or with a shorter step.",
    )


@dataclass(frozen=True)
class Solution:
    """A motion with its feedback law, u = controls[t] + gains[t] dx.

    states: leading axis T + 1. gains: by differences of states in tangent coordinates
    (`control.difference`). costs: that of the first commands, then after each iteration. decrease:
    what another iteration promised at the end. seconds: wall time.
    """

    states: State
    controls: Float[Array, "t m"]
    gains: Float[Array, "t m n"]
    cost: float
    costs: tuple[float, ...]
    decrease: float
    regularisation: float
    outcome: Outcome
    seconds: float

    @property
    def iterations(self) -> int:
        """Iterations that were made, those that were refused included."""
        return len(self.costs) - 1

    def shifted(self, steps: int = 1) -> Solution:
        """What is left of it after some steps, the last command repeated: a warm start."""
        rows = jnp.minimum(jnp.arange(len(self.controls)) + steps, len(self.controls) - 1)
        ends = jnp.minimum(jnp.arange(len(self.controls) + 1) + steps, len(self.controls))
        return replace(
            self,
            states=jax.tree.map(lambda x: x[ends], self.states),
            controls=self.controls[rows],
            gains=self.gains[rows],
        )
