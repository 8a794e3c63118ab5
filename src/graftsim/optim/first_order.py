"""First-order minimisers of a smooth cost with bounds: L-BFGS-B (SciPy) and Adam (Optax).

They work on x = [theta, local] in units of each unknown's size, so that one rate suits masses and
frictions alike.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.optim.bounded import Bounded
from graftsim.optim.local_solver import After, Evaluate, LeastSquares, LocalSolver, Point
from graftsim.optim.outcome import Outcome

# Stands for the cost of a simulation that diverged, with a zero gradient: the line search then
# shortens its step.
_DIVERGED = 1e300


class Scaled(NamedTuple):
    """A cost with gradient, where to start, each unknown's size, and bounds."""

    evaluate: Evaluate
    start: Float[np.ndarray, " n"]
    unit: Float[np.ndarray, " n"]
    lower: Float[np.ndarray, " n"]
    upper: Float[np.ndarray, " n"]


class Minimum(NamedTuple):
    """Best point, its cost, iterations, and how it ended."""

    x: Float[np.ndarray, " n"]
    cost: float
    iterations: int
    outcome: Outcome


# Called after each iteration with x, cost, largest scaled gradient and iteration.
Callback = Callable[[np.ndarray, float, float, int], None]


@dataclass(frozen=True)
class FirstOrder(LocalSolver):
    """A solver that sees one cost of one vector, and its gradient."""

    @abstractmethod
    def descend(self, p: Scaled, callback: Callback) -> Minimum:
        """Where it ends in x [n]; the callback runs after each iteration."""

    def minimise(
        self, problem: LeastSquares, start: Point, bounds: Bounded, after: After | None = None
    ) -> Point:
        """See `LocalSolver.minimise`: over theta and the local unknowns in one vector."""
        p, shape = len(start.theta), start.local.shape
        open_ = np.full(start.local.size, np.inf)
        unit, local_unit = problem.sizes(start.theta)
        scaled = Scaled(
            evaluate=problem.cost_and_gradient(bounds),
            start=np.concatenate([start.theta, start.local.reshape(-1)]),
            unit=np.concatenate([unit, np.tile(local_unit, shape[0])]),
            lower=np.concatenate([bounds.lower, -open_]),
            upper=np.concatenate([bounds.upper, open_]),
        )

        def point(x: np.ndarray, cost: float, iteration: int) -> Point:
            theta, local = x[:p], x[p:].reshape(shape)
            return replace(start, theta=theta, local=local, cost=cost, iteration=iteration)

        def callback(x: np.ndarray, cost: float, gradient: float, iteration: int) -> None:
            if after is not None:
                after(point(x, cost, iteration), gradient)

        found = self.descend(scaled, callback)
        return replace(point(found.x, found.cost, found.iterations), outcome=found.outcome)


@dataclass(frozen=True)
class LBFGS(FirstOrder):
    """Limited-memory BFGS with bounds (Byrd et al. 1995); `memory` pairs of steps are kept."""

    name: ClassVar[str] = "lbfgs"
    help: ClassVar[str] = "L-BFGS-B on the gradient: for very many unknowns"

    iterations: int = 200
    memory: int = 30

    def descend(self, p: Scaled, callback: Callback) -> Minimum:
        """See `FirstOrder.descend`."""
        return _lbfgs(p, self, callback)


@dataclass(frozen=True)
class Adam(FirstOrder):
    """Adam (Kingma & Ba 2015) with a cosine decay of its rate from `rate` to zero.

    rate: step in units of each unknown's size.
    """

    name: ClassVar[str] = "adam"
    help: ClassVar[str] = "Adam on the gradient"

    iterations: int = 200
    rate: float = 0.05

    def descend(self, p: Scaled, callback: Callback) -> Minimum:
        """See `FirstOrder.descend`."""
        return _adam(p, self, callback)


def _lbfgs(p: Scaled, solver: LBFGS, callback: Callback) -> Minimum:
    from scipy.optimize import Bounds, minimize

    last = (np.inf, np.zeros_like(p.start))
    count = 0

    def scaled(y: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        cost, gradient = p.evaluate(y * p.unit)
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return _DIVERGED, np.zeros_like(y)
        last = (cost, gradient * p.unit)
        return last

    def after(y: np.ndarray) -> None:
        nonlocal count
        count += 1
        callback(y * p.unit, last[0], float(np.abs(last[1]).max()), count)

    if not np.isfinite(p.evaluate(p.start)[0]):
        return Minimum(p.start, np.inf, 0, Outcome.NON_FINITE)
    found = minimize(
        scaled,
        p.start / p.unit,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(p.lower / p.unit, p.upper / p.unit),  # type: ignore[arg-type]
        callback=after,
        options={
            "maxiter": solver.iterations,
            "maxfun": 20 * solver.iterations,
            "maxcor": solver.memory,
            "ftol": 1e-12,
            "gtol": 1e-8,
        },
    )
    ended = {0: Outcome.CONVERGED, 1: Outcome.ITERATION_LIMIT}
    x = np.clip(found.x * p.unit, p.lower, p.upper)
    return Minimum(x, float(found.fun), count, ended.get(found.status, Outcome.STALLED))


def _adam(p: Scaled, solver: Adam, callback: Callback) -> Minimum:
    import jax.numpy as jnp
    import optax

    step = optax.adam(optax.cosine_decay_schedule(solver.rate, solver.iterations))
    y = jnp.asarray(p.start / p.unit)
    state = step.init(y)
    best = Minimum(p.start, np.inf, 0, Outcome.NON_FINITE)
    for n in range(solver.iterations):
        x = np.clip(np.asarray(y) * p.unit, p.lower, p.upper)
        cost, gradient = p.evaluate(x)
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return best._replace(outcome=Outcome.NON_FINITE)
        if cost < best.cost:
            best = Minimum(x, cost, n, Outcome.ITERATION_LIMIT)
        callback(x, cost, float(np.abs(gradient * p.unit).max()), n)
        update, state = step.update(jnp.asarray(gradient * p.unit), state)
        moved = jnp.asarray(optax.apply_updates(y, update))
        y = jnp.clip(moved, p.lower / p.unit, p.upper / p.unit)
    return best
