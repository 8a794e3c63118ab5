"""Iterative LQR: the commands that make a motion cheap [Li and Todorov 2004; Tassa 2012, 2014]."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.control.cost import Cost
from graftsim.control.ilqr_backward import Improvement, Limits, riccati
from graftsim.control.ilqr_curvature import with_curvature
from graftsim.control.ilqr_forward import (
    Feedback,
    Forward,
    Motion,
    RunningExpansion,
    TerminalExpansion,
    split,
)
from graftsim.control.ilqr_programs import Form, program
from graftsim.control.ilqr_result import Outcome, Solution
from graftsim.control.ilqr_task import Task
from graftsim.control.linear import linear_steps, tangent_size
from graftsim.engine.simulator import Simulator
from graftsim.model.state import State

# States and commands up to which the backward pass is straight code; matrix products by XLA beyond.
_UNROLLED = 24
# Regularisation with which the promise of a step is taken at its word.
_LITTLE = 1e-3


@dataclass(frozen=True)
class ILQR:
    """How `ilqr` goes about it.

    iterations: at most. tolerance: it has converged where the next iteration promises less than
    this share of the cost. lengths: step lengths, all tried at once. enough: share of the promised
    decrease that a step must bring. regularisation: mu at the start, `least` and `most` of it;
    `factor` by which its own factor grows [Tassa 2012, II.F]. newton: once a step lowers the cost
    by less than this share, iterations are Newton's, with the curvature of the steps: dearer, far
    from a minimum often worse, and quadratic near one. 0: never. time_limit: seconds of a call,
    looked at between iterations.
    """

    iterations: int = 200
    tolerance: float = 1e-7
    lengths: tuple[float, ...] = (1.0, 0.6, 0.36, 0.2, 0.1, 0.05, 0.02, 0.005)
    enough: float = 0.05
    regularisation: float = 1e-6
    least: float = 1e-6
    most: float = 1e8
    factor: float = 1.6
    newton: float = 0.0
    time_limit: float = float("inf")


class Damping(NamedTuple):
    """mu and the factor that it was last changed by."""

    mu: float
    change: float

    def more(self, solver: ILQR) -> Damping:
        """After a step that failed."""
        change = max(solver.factor, self.change * solver.factor)
        return Damping(max(solver.least, self.mu * change), change)

    def less(self, solver: ILQR) -> Damping:
        """After one that was taken."""
        change = min(1 / solver.factor, self.change / solver.factor)
        mu = self.mu * change
        return Damping(mu if mu > solver.least else 0.0, change)


def ilqr(
    simulator: Simulator,
    state: State,
    cost: Cost,
    horizon: int,
    *,
    controls: Float[Array, "t nu"] | None = None,
    limits: tuple[Any, Any] | None = None,
    reference: Any = (),
    warm: Solution | None = None,
    solver: ILQR = ILQR(),
) -> Solution:
    """Commands [horizon, nu] that make the cost of the motion from `state` a local minimum.

    controls: where it begins, zeros by default (or what `warm`, an earlier solution, has; of which
    the feedback steers the first motion too). limits: (low, high) of commands, numbers or [nu]; by
    default what the actuators can do. reference: pytree with leading axis horizon + 1, of which the
    cost's functions get the row of their time. Code is compiled on the first call for a form of
    simulator, cost and horizon.

    Raises ControlError: a horizon below 1, a state or commands that are not finite, shapes that do
    not fit, limits that cross, a cost that returns what its kind does not take.
    """
    began = time.perf_counter()
    task = Task.of(simulator, state, cost, horizon, controls, limits, reference, warm)
    return optimise(task, solver, began)


class Iterate(NamedTuple):
    """A motion, its feedback, and in a row what the loop looks at: see `Status`."""

    motion: Motion
    improvement: Improvement
    status: Float[Array, " s"]


class Spec(NamedTuple):
    """What the program of an iteration is made for."""

    form: Form
    cost: Cost
    lengths: tuple[float, ...]
    enough: float
    second_order: bool


class Status(NamedTuple):
    """Cost, what a full step promises, was a step taken, could all commands be improved."""

    cost: float
    promised: float
    taken: bool
    definite: bool


def optimise(task: Task, solver: ILQR, began: float) -> Solution:
    """The loop: iterations until one of the outcomes."""
    motion = _first(task.form, task.cost, task.numbers, task.start, task.law, task.reference)
    gains, costs, decrease = task.law.K, [float(motion.cost)], np.inf
    damping, outcome = Damping(solver.regularisation, 1.0), Outcome.ITERATION_LIMIT
    if not np.isfinite(costs[0]):
        outcome = Outcome.NON_FINITE
        motion = motion._replace(controls=jnp.asarray(task.law.controls))
    spec = Spec(task.form, task.cost, solver.lengths, solver.enough, False)
    rest = (task.numbers, task.law.limits, task.reference)
    while outcome == Outcome.ITERATION_LIMIT and len(costs) <= solver.iterations:
        if time.perf_counter() - began > solver.time_limit:
            outcome = Outcome.TIME_LIMIT
            break
        found = _iterate(spec, *rest, motion, damping.mu)
        status = Status(*np.asarray(found.status).tolist())
        motion, taken = found.motion, bool(status.taken)
        if status.definite:
            gains, decrease = found.improvement.K, status.promised
        enough = solver.tolerance * abs(status.cost)
        # Great damping promises little everywhere: that is no minimum.
        still = decrease <= enough or (taken and costs[-1] - status.cost <= enough)
        if still and status.definite and damping.mu <= _LITTLE:
            outcome = Outcome.CONVERGED
        elif not taken and damping.mu >= solver.most:
            outcome = Outcome.STALLED
        near = costs[-1] - status.cost <= solver.newton * abs(status.cost)
        if spec.second_order and not taken:
            # The curvature leads nowhere from here: a step without it, as if nothing had been.
            spec = spec._replace(second_order=False)
        else:
            spec = spec._replace(second_order=taken and near and damping.mu <= _LITTLE)
            damping = damping.less(solver) if taken else damping.more(solver)
        costs.append(status.cost)
    seconds = time.perf_counter() - began
    return Solution(
        motion.states, motion.controls, jnp.asarray(gains), costs[-1], tuple(costs),
        float(decrease), damping.mu, outcome, seconds,
    )  # fmt: skip


@partial(jax.jit, static_argnums=(0, 1))
def _first(
    form: Form, cost: Cost, numbers: Array, start: State, law: Feedback, reference: Any
) -> Motion:
    length = jnp.zeros((), law.controls.dtype)
    f = program(Forward(form, cost), numbers, start, law, reference, length, form=form)
    return f(numbers, start, law, reference, length)


@partial(jax.jit, static_argnums=0)
def _iterate(
    spec: Spec,
    numbers: Array,
    limits: Limits | None,
    reference: Any,
    motion: Motion,
    mu: Float[Array, ""],
) -> Iterate:
    """Linearise, improve the commands, try all step lengths, take the best that is good enough."""
    form, cost, lengths, enough, _ = spec
    dtype = motion.controls.dtype
    mu, every = jnp.asarray(mu, dtype), jnp.asarray(lengths, dtype)
    better = improve(spec, numbers, limits, reference, motion, mu)
    nominal = jax.tree.map(lambda x: x[:-1], motion.states)
    start = jax.tree.map(lambda x: x[0], motion.states)
    law = Feedback(nominal, motion.controls, better.k, better.K, limits)
    forward = program(Forward(form, cost), numbers, start, law, reference, every[0], form=form)
    tried = jax.vmap(forward, (None, None, None, None, 0))(numbers, start, law, reference, every)
    promised = -(every * better.slope + every**2 * better.curvature)
    won = motion.cost - tried.cost
    good = better.definite & jnp.isfinite(tried.cost) & (won >= enough * promised) & (won > 0)
    best = jnp.argmin(jnp.where(good, tried.cost, jnp.inf))
    taken = jnp.any(good)
    new = jax.tree.map(lambda all_, old: jnp.where(taken, all_[best], old), tried, motion)
    whole = -(better.slope + better.curvature)
    row = jnp.stack([x.astype(dtype) for x in (new.cost, whole, taken, better.definite)])
    return Iterate(new, better, row)


def improve(
    spec: Spec,
    numbers: Array,
    limits: Limits | None,
    reference: Any,
    motion: Motion,
    mu: Float[Array, ""],
) -> Improvement:
    """Feed-forward and feedback about a motion, to be traced inside a jitted function."""
    (form, cost), (states, controls, _) = spec[:2], motion
    first, last = split(reference)
    nominal = jax.tree.map(lambda x: x[:-1], states)
    end = jax.tree.map(lambda x: x[-1], states)
    n = tangent_size(end)
    linear = linear_steps(form, numbers, nominal, controls)
    one = jax.tree.map(lambda x: x[0], (nominal, controls, first))
    running = program(RunningExpansion(form, cost, n), numbers, *one, form=form)
    terminal = program(TerminalExpansion(form, cost, n), numbers, end, last, form=form)
    stages = jax.vmap(running, (None, 0, 0, 0))(numbers, nominal, controls, first)
    ending = terminal(numbers, end, last)
    if spec.second_order:
        stages = with_curvature(form, numbers, nominal, controls, linear.A, stages, ending)
    room = None if limits is None else Limits(limits.low - controls, limits.high - controls)
    args = (jnp.concatenate(linear, -1), stages, ending, room, mu)
    small = n + controls.shape[1] <= _UNROLLED
    return program(riccati, *args)(*args) if small else riccati(*args)
