"""One stage of a fit: its windows, its start, its solver."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from graftsim.identify.fit.checkpoint import Checkpoint
from graftsim.identify.fit.effect import hold, start_with_effect, without_effect
from graftsim.identify.fit.plan import Plan, Stage
from graftsim.identify.fit.start import resting, simulated
from graftsim.identify.fit.state import FitState
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Iteration
from graftsim.identify.runs.failures import whole
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.local_solver import Point
from graftsim.optim.outcome import Outcome

# Called after each iteration with it, its stage, and the number of stages.
Progress = Callable[[Iteration, int, int], None]


@dataclass
class Journal:
    """What happens after each iteration: the checkpoint is written, then `progress` is called."""

    checkpoint: Checkpoint
    progress: Progress | None = None
    began: float = field(default_factory=time.perf_counter)

    @property
    def seconds(self) -> float:
        """Since the fit began."""
        return time.perf_counter() - self.began

    def note(self, plan: Plan, state: FitState, gradient: float) -> FitState:
        """The state with its iteration in the history."""
        point, stage = state.point, state.stage
        entry = Iteration(
            stage, plan.stages[stage].horizon, point.iteration, point.cost, gradient,
            point.damping or 0.0, self.seconds,
        )  # fmt: skip
        state = state.noted(entry)
        self.checkpoint.write(state)
        if self.progress is not None:
            self.progress(entry, stage, len(plan.stages))
        return state


def run_stage(problem: Problem, plan: Plan, state: FitState, journal: Journal) -> FitState:
    """A stage from where the last one ended, or from where it was interrupted."""
    stage, part = plan.stages[state.stage], state.part
    if part is None or part.horizon != stage.horizon:
        # Replicas of a bootstrap use the same programs.
        part = whole(problem, stage.horizon, shared=plan.bootstrap is not None)
    state = replace(state, part=part.only(state.kept)) if state.begun else state.with_part(part)
    if not state.begun:
        state = _begun(problem, plan, stage, state)
    if not state.ended:
        state = solve_without_failures(problem, plan, stage, state, journal)
    journal.checkpoint.write(state)
    return state


def _begun(problem: Problem, plan: Plan, stage: Stage, state: FitState) -> FitState:
    """At the start of a stage."""
    theta, part = state.theta, state.part
    assert part is not None
    if state.stage > 0 and not stage.physics and state.alone is None:
        state = replace(state, alone=theta if problem.parameters.physical.any() else None)
    if state.stage == 0:
        part = simulated(problem, part, theta)
        theta, unused = start_with_effect(part, problem, theta, resting(problem, part))
        state = replace(state.with_part(part), unused=unused)
    elif state.unused is not None and state.unused.any():
        # Longer windows may show what shorter ones did not.
        unused = without_effect(part, problem, theta, resting(problem, part))
        state = replace(state, unused=state.unused & unused)
    point = Point(theta, resting(problem, part))
    return replace(state, point=point, begun=True)


def solve_without_failures(
    problem: Problem, plan: Plan, stage: Stage, state: FitState, journal: Journal
) -> FitState:
    """The stage's minimum; windows that diverge where the solver ends have no part in it.

    If the solver cannot go on because of a few of them, it goes on without them.
    """
    bounds = problem.bounds_of(
        state.theta, physics=stage.physics, sparsity=plan.sparsity, zero=plan.zero
    )
    if state.unused is not None:
        bounds = hold(bounds, state.theta, state.unused)
    state = replace(state, point=replace(state.point, outcome=None))
    while True:
        part, tally = state.part, state.tally
        assert part is not None
        cost = WindowCost(problem, part.compiled, part.allowed, tally)

        def after(point: Point, gradient: float) -> None:
            nonlocal state
            state = journal.note(plan, replace(state, point=point), gradient)

        point = plan.solver.minimise(cost, state.point, bounds, after)
        state = replace(state, point=point)
        ended = point.outcome != Outcome.NON_FINITE
        if ended and not tally.lost:
            return state
        finite = part.finite(point.theta, point.local)
        smaller = part.without(finite)
        if smaller is None:
            return state
        state = replace(state.with_part(smaller), point=replace(point, local=point.local[finite]))
        if ended:
            return state
        state = replace(state, point=replace(state.point, cost=np.inf, outcome=None))
