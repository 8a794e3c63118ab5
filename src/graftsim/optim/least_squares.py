"""Levenberg-Marquardt for residuals in groups, from one start or from many side by side.

Local unknowns of each group are eliminated (`arrowhead`). Bounds are kept by an active set: an
entry of theta on its bound is held only while the gradient pushes it outwards. Damping follows
Nielsen (1999), scaled by the largest diagonal seen (More 1978). After a step that gains what was
predicted, Nielsen divides the damping by at most 3; we by at most 10 (Marquardt 1963): what is left
of it only delays the weakly determined directions.

There is one loop; arrays have a leading axis of starts n, and each evaluation computes all of them
at once. A start that has ended stands still while the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from graftsim.optim.arrowhead import (
    NormalEquations,
    damped_step,
    gradient_size,
    normal_equations,
    penalised_damped_step,
    predicted_decrease,
    pushed_outwards,
)
from graftsim.optim.bounded import Bounded
from graftsim.optim.local_solver import After, Arrays, LeastSquares, LocalSolver, Point
from graftsim.optim.outcome import Outcome
from graftsim.optim.subset import Subset

# A step that gained all that was predicted leaves this share of the damping.
EASE = 0.1
# Residuals this far below their unit are rounding: there is nothing left to fit.
EXACT = 1e-10
# Tries of larger damping before all starts are evaluated anew; one start alone tries to its limit.
TRIES = 6
# A start is dominated if its cost is more than BEHIND times the best one, and has fallen by less
# than this SHARE in PATIENCE iterations.
BEHIND, SHARE, PATIENCE = 10.0, 0.1, 5

Residual = Callable[[np.ndarray, np.ndarray], np.ndarray]
Jacobian = Callable[[np.ndarray, np.ndarray], Arrays]


@dataclass(frozen=True)
class LevenbergMarquardt(LocalSolver):
    """Damped Gauss-Newton steps on residuals, with a Jacobian structured by windows.

    Tolerances are relative: of the cost, of the step, of the scaled gradient.
    """

    name: ClassVar[str] = "levenberg_marquardt"
    help: ClassVar[str] = "residuals and their Jacobian"
    exact_zeros: ClassVar[bool] = True

    iterations: int = 50
    cost_tolerance: float = 1e-7
    step_tolerance: float = 1e-8
    gradient_tolerance: float = 1e-8
    damping: float = 1e-3
    damping_limit: float = 1e12

    def minimise(
        self, problem: LeastSquares, start: Point, bounds: Bounded, after: After | None = None
    ) -> Point:
        """From a start; entries whose bounds meet stay there, and no derivative is taken by them.

        Outcomes: converged, stalled, iteration limit, or non-finite if the start is.
        """
        active = np.flatnonzero(bounds.upper > bounds.lower)
        moving = Subset(active, np.clip(start.theta, bounds.lower, bounds.upper))
        inside = bounds.only(active)
        # What fixed parameters cost, so that costs of different choices can be compared.
        none = np.zeros((0, bounds.local_std.size))
        fixed = bounds.prior_cost(moving.whole, none)
        fixed -= inside.prior_cost(moving.whole[active], none)

        def expand(p: Point) -> Point:
            scale = p.scale
            if scale is not None:
                scale = Subset(active, np.ones_like(moving.whole)).embed(scale)
            theta, cost = moving.embed(p.theta), float(p.cost + fixed)
            return replace(p, theta=theta, cost=cost, scale=scale)

        scale = None if start.scale is None else start.scale[active]
        found = levenberg_marquardt(
            lambda t, l: problem.residual(moving.embed(t), l),
            lambda t, l: problem.jacobian(moving.embed(t), l, active),
            replace(start, theta=moving.whole[active], scale=scale),
            inside,
            self,
            None if after is None else lambda p, size: after(expand(p), size),
        )
        return expand(found)


@dataclass(frozen=True)
class Points:
    """States of minimisations side by side; a cost of infinity: it could not be evaluated."""

    theta: Float[np.ndarray, "n p"]
    local: Float[np.ndarray, "n w s"]
    cost: Float[np.ndarray, " n"]
    damping: Float[np.ndarray, " n"]
    growth: Float[np.ndarray, " n"]
    iteration: np.ndarray
    scale: Float[np.ndarray, "n p"]
    outcome: np.ndarray

    @classmethod
    def at(cls, theta: np.ndarray, local: np.ndarray, damping: float) -> Points:
        """States before the first iteration, from theta [n, p] and local [n, w, s]."""
        n = len(theta)
        return cls(
            theta, local, np.full(n, np.inf), np.full(n, damping), np.full(n, 2.0),
            np.zeros(n, int), np.zeros_like(theta), np.full(n, None, dtype=object),
        )  # fmt: skip

    @classmethod
    def of(cls, point: Point, damping: float) -> Points:
        """One point; `damping` is for one that has none yet."""
        damping = damping if point.damping is None else point.damping
        start = cls.at(point.theta[None], point.local[None], damping)
        return replace(
            start,
            cost=np.array([point.cost]),
            growth=np.array([point.growth]),
            iteration=np.array([point.iteration]),
            scale=start.scale if point.scale is None else point.scale[None],
        )

    def __getitem__(self, i: int) -> Point:
        return Point(
            self.theta[i], self.local[i], float(self.cost[i]), float(self.damping[i]),
            float(self.growth[i]), int(self.iteration[i]), self.scale[i], self.outcome[i],
        )  # fmt: skip

    @property
    def going(self) -> np.ndarray:
        """Which have not ended [n]."""
        return np.array([outcome is None for outcome in self.outcome])

    def ended(self, which: np.ndarray, outcome: Outcome) -> Points:
        """With an outcome for those among `which` [n] that are still going."""
        found = self.outcome.copy()
        found[which & self.going] = outcome
        return replace(self, outcome=found)


def levenberg_marquardt(
    residual: Residual,
    jacobian: Jacobian,
    start: Point,
    bounds: Bounded,
    options: LevenbergMarquardt,
    after: After | None = None,
) -> Point:
    """Minimise half the sum of squares of residuals [w, m] over theta [p] and local [w, s].

    `jacobian` returns (r, J_theta, J_local). `after(point, gradient)` runs in each iteration.
    """

    def jacobians(theta: np.ndarray, local: np.ndarray) -> Arrays:
        r, J_t, J_l = jacobian(theta[0], local[0])
        return r[None], J_t[None], J_l[None]

    return minimise_many(
        lambda t, l: residual(t[0], l[0])[None],
        jacobians,
        Points.of(start, options.damping),
        bounds,
        options,
        after=None if after is None else lambda p, sizes: after(p[0], float(sizes[0])),
    )[0]


def minimise_many(
    residuals: Residual,
    jacobians: Jacobian,
    start: Points,
    bounds: Bounded,
    options: LevenbergMarquardt,
    *,
    rivals: bool = False,
    after: Callable[[Points, np.ndarray], None] | None = None,
) -> Points:
    """Local minima from many starts at once: functions of theta [n, p] and local [n, w, s] return
    residuals [n, w, m], and Jacobians [n, w, m, p], [n, w, m, s].

    rivals: the starts look for one minimum, so those that are dominated are given up.
    """
    state = replace(start, theta=np.clip(start.theta, bounds.lower, bounds.upper))
    costs: list[np.ndarray] = []
    while True:
        r, J_t, J_l = jacobians(state.theta, state.local)
        state = _evaluated(state, r, J_t, J_l, bounds)
        costs.append(state.cost)
        if rivals:
            state = state.ended(_dominated(costs), Outcome.DOMINATED)
        if not state.going.any():
            return state
        n = _equations(state, r, J_t, J_l, bounds)
        scale = np.maximum(n.A.diagonal(axis1=-2, axis2=-1), state.scale)
        state = replace(state, scale=np.where(scale > 0, scale, 1.0))
        free = ~pushed_outwards(n, state.theta, bounds)
        size = gradient_size(n, state.scale, free, state.cost)
        if after is not None:
            after(state, size)
        if bounds.penalty is None:
            exact = state.cost <= 0.5 * EXACT**2 * r[0].size
            state = state.ended((size < options.gradient_tolerance) | exact, Outcome.CONVERGED)
        state = state.ended(state.iteration >= options.iterations, Outcome.ITERATION_LIMIT)
        if not state.going.any():
            return state
        state = _search(residuals, n, state, bounds, options, free)


def _evaluated(
    state: Points, r: np.ndarray, J_t: np.ndarray, J_l: np.ndarray, bounds: Bounded
) -> Points:
    """With the cost where each stands; those whose derivatives are not finite have ended."""
    with np.errstate(over="ignore", invalid="ignore"):
        derivatives = J_t.sum((1, 2, 3)) + J_l.sum((1, 2, 3))
    cost = np.where(np.isfinite(derivatives), _cost(r, state.theta, state.local, bounds), np.inf)
    return replace(state, cost=cost).ended(~np.isfinite(cost), Outcome.NON_FINITE)


def _equations(
    state: Points, r: np.ndarray, J_t: np.ndarray, J_l: np.ndarray, bounds: Bounded
) -> NormalEquations:
    """Normal equations; those of starts that have ended are empty, for they may not be finite."""
    if not state.going.all():
        r = np.where(state.going[:, None, None], r, 0.0)
        J_t, J_l = (np.where(state.going[:, None, None, None], J, 0.0) for J in (J_t, J_l))
    return normal_equations(r, J_t, J_l, state.theta, state.local, bounds)


def _search(
    residuals: Residual,
    n: NormalEquations,
    state: Points,
    bounds: Bounded,
    options: LevenbergMarquardt,
    free: np.ndarray,
) -> Points:
    """Raise the damping of each start until a step lowers its cost."""
    waiting, base = state.going, state.cost
    state = replace(state, iteration=state.iteration + waiting)
    tries = 0
    while waiting.any() and (tries < TRIES or len(base) == 1):
        tries += 1
        step, local_step, predicted = _step(n, state, free, bounds)
        theta = np.clip(state.theta + step, bounds.lower, bounds.upper)
        local = state.local + local_step
        cost = _cost(residuals(theta, local), theta, local, bounds)
        better = waiting & (cost < base)
        gain = np.subtract(base, cost, out=np.zeros_like(base), where=better)
        ratio = gain / np.maximum(predicted, 1e-300)
        moved = np.abs(theta - state.theta) > options.step_tolerance * (np.abs(theta) + 1e-12)
        done = (gain <= options.cost_tolerance * base) & ((ratio > 0.25) | ~moved.any(-1))
        nothing = waiting & ~better & (predicted >= 0) & (predicted <= 1e-14 * base)
        waiting = waiting & ~better & ~nothing
        state = replace(
            state,
            theta=np.where(better[:, None], theta, state.theta),
            local=np.where(better[:, None, None], local, state.local),
            cost=np.where(better, cost, state.cost),
            damping=np.select(
                [better, waiting],
                [eased(state.damping, ratio), state.damping * state.growth],
                state.damping,
            ),
            growth=np.select([better, waiting], [np.full_like(gain, 2.0), 2 * state.growth], 2.0),
        ).ended((better & done) | nothing, Outcome.CONVERGED)
        state = state.ended(waiting & (state.damping >= options.damping_limit), Outcome.STALLED)
        waiting = waiting & state.going
    return state


def _step(
    n: NormalEquations, state: Points, free: np.ndarray, bounds: Bounded
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Steps of theta [n, p] and local [n, w, s], and the decrease that each predicts [n]."""
    penalty = bounds.penalty
    if penalty is None or not (free & (penalty.group >= 0)).any():
        step, local = damped_step(n, state.damping, state.scale, free)
        return step, local, predicted_decrease(n, step, local)
    each = [
        penalised_damped_step(
            NormalEquations(*(x[i] for x in n)), state.damping[i], state.scale[i], free[i],
            state.theta[i], bounds,
        )
        for i in range(len(state.theta))
    ]  # fmt: skip
    step, local = (np.stack(x) for x in zip(*each, strict=True))
    decrease = predicted_decrease(n, step, local)
    value = [
        penalty.value(t) - penalty.value(t + d) for t, d in zip(state.theta, step, strict=True)
    ]
    return step, local, decrease + value


def eased(damping: ArrayLike, ratio: ArrayLike) -> np.ndarray:
    """Damping after a step that gained `ratio` times what was predicted."""
    factor = np.maximum(EASE, 1 - (2 * np.minimum(ratio, 1.0) - 1) ** 3)
    return np.maximum(damping * factor, 1e-15)


def _cost(r: np.ndarray, theta: np.ndarray, local: np.ndarray, bounds: Bounded) -> np.ndarray:
    """Half the sum of squares and priors of each start; infinite where it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        cost = 0.5 * np.sum(r * r, (-1, -2)) + bounds.prior_cost(theta, local)
    return np.where(np.isfinite(cost), cost, np.inf)


def _dominated(costs: list[np.ndarray]) -> np.ndarray:
    """Which of the starts are dominated [n]: see BEHIND, SHARE and PATIENCE."""
    now = costs[-1]
    if len(costs) <= PATIENCE:
        return np.zeros(len(now), bool)
    before = costs[-1 - PATIENCE]
    behind = now > BEHIND * now.min()
    return behind & np.isfinite(before) & (now > (1 - SHARE) * before)
