"""First-order minimisers of a smooth cost with bounds: L-BFGS-B (SciPy) and Adam (Optax).

They work on x in units of each unknown's size, so that one rate suits masses and frictions alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]


@dataclass(frozen=True)
class LBFGS:
    """Limited-memory BFGS with bounds (Byrd et al. 1995); `memory` pairs of steps are kept."""

    iterations: int = 200
    memory: int = 30


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma & Ba 2015) with a cosine decay of its rate from `rate` to zero.

    rate: step in units of each unknown's size.
    """

    iterations: int = 200
    rate: float = 0.05


class Scaled(NamedTuple):
    """A cost with gradient, where to start, each unknown's size, and bounds, all [n]."""

    evaluate: Evaluate
    start: np.ndarray
    unit: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


class Minimum(NamedTuple):
    """Best point, its cost, iterations, and the outcome: that of `levenberg_marquardt`."""

    x: np.ndarray
    cost: float
    iterations: int
    outcome: str


# Called after each iteration with x, cost, largest scaled gradient and iteration.
Callback = Callable[[np.ndarray, float, float, int], None]


def minimise(problem: Scaled, solver: LBFGS | Adam, callback: Callback) -> Minimum:
    """Minimise a cost within bounds."""
    if isinstance(solver, Adam):
        return _adam(problem, solver, callback)
    return _lbfgs(problem, solver, callback)


def _lbfgs(p: Scaled, solver: LBFGS, callback: Callback) -> Minimum:
    from scipy.optimize import Bounds, minimize

    last = (np.inf, np.zeros_like(p.start))
    count = 0

    def scaled(y: np.ndarray) -> tuple[float, np.ndarray]:
        nonlocal last
        cost, gradient = p.evaluate(y * p.unit)
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            # A wall that the line search backs away from.
            return 1e300, np.zeros_like(y)
        last = (cost, gradient * p.unit)
        return last

    def after(y: np.ndarray) -> None:
        nonlocal count
        count += 1
        callback(y * p.unit, last[0], float(np.abs(last[1]).max()), count)

    if not np.isfinite(p.evaluate(p.start)[0]):
        return Minimum(p.start, np.inf, 0, "non-finite")
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
    outcome = {0: "converged", 1: "iteration limit"}.get(found.status, "stalled")
    x = np.clip(found.x * p.unit, p.lower, p.upper)
    return Minimum(x, float(found.fun), count, outcome)


def _adam(p: Scaled, solver: Adam, callback: Callback) -> Minimum:
    import jax.numpy as jnp
    import optax

    step = optax.adam(optax.cosine_decay_schedule(solver.rate, solver.iterations))
    y = jnp.asarray(p.start / p.unit)
    state = step.init(y)
    best = Minimum(p.start, np.inf, 0, "non-finite")
    for n in range(solver.iterations):
        x = np.clip(np.asarray(y) * p.unit, p.lower, p.upper)
        cost, gradient = p.evaluate(x)
        if not (np.isfinite(cost) and np.isfinite(gradient).all()):
            return best._replace(outcome="non-finite")
        if cost < best.cost:
            best = Minimum(x, cost, n, "iteration limit")
        callback(x, cost, float(np.abs(gradient * p.unit).max()), n)
        update, state = step.update(jnp.asarray(gradient * p.unit), state)
        moved = jnp.asarray(optax.apply_updates(y, update))
        y = jnp.clip(moved, p.lower / p.unit, p.upper / p.unit)
    return best
