"""Where a fit stands between two iterations: enough to go on from, or to report."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from graftsim.identify.results.result import Iteration
from graftsim.identify.runs.failures import SimulationCount, WindowSubset
from graftsim.optim.local_solver import Point
from graftsim.optim.outcome import Outcome


@dataclass(frozen=True)
class FitState:
    """State of a fit.

    stage: which of the plan. point: where its solver stands; before the stage begins (`begun`),
    only its theta counts. kept: [k] which windows of the stage take part, None for all; part: those
    windows with their programs, None before the first stage. unused: mask [p] of parameters on
    which nothing depended in this stage's windows nor in those before, which stay where they start.
    alone: [p] where the parameters alone had ended, once networks are trained. searched: what a
    search did, in words.
    """

    point: Point
    stage: int = 0
    begun: bool = False
    kept: Int[np.ndarray, " k"] | None = None
    part: WindowSubset | None = None
    unused: Bool[np.ndarray, " p"] | None = None
    alone: Float[np.ndarray, " p"] | None = None
    history: tuple[Iteration, ...] = ()
    tally: SimulationCount = field(default_factory=SimulationCount)
    searched: str = "none"

    @classmethod
    def at(cls, theta: Float[np.ndarray, " p"], alone: np.ndarray | None = None) -> FitState:
        """Before the first stage."""
        return cls(Point(theta, np.zeros((0, 0))), alone=alone)

    @property
    def theta(self) -> Float[np.ndarray, " p"]:
        """The unknowns that all windows share."""
        return self.point.theta

    @property
    def ended(self) -> bool:
        """Has the stage ended, and would not go on if it were given more iterations?"""
        return self.point.outcome not in (None, Outcome.ITERATION_LIMIT)

    def with_part(self, part: WindowSubset) -> FitState:
        """With other windows taking part."""
        return replace(self, part=part, kept=part.chosen)

    def advanced(self) -> FitState:
        """Before the next stage."""
        return replace(self, stage=self.stage + 1, begun=False)

    def noted(self, entry: Iteration) -> FitState:
        """With one more iteration; it replaces the last if it is the same, as after a resume."""
        history = self.history
        if history and (history[-1].stage, history[-1].iteration) == (entry.stage, entry.iteration):
            history = history[:-1]
        return replace(self, history=(*history, entry))
