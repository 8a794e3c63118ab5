"""First-order fits: L-BFGS with bounds (SciPy) and Adam (Optax) on the same cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.identify.problem import Problem
from graftsim.identify.residuals import as_data, window_residual
from graftsim.identify.windows import Windows
from graftsim.optim.least_squares import Bounded, Point

ADAM_RATE = 0.02


def cost_and_gradient(
    problem: Problem, windows: Windows, bounds: Bounded
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Half the weighted sum of squares of x = [theta, locals], and its gradient by reverse mode."""
    dtype = problem.simulator.dt.dtype
    data = as_data(windows, problem.sigma, dtype)
    p, w, s = len(problem.parameters), len(windows), problem.nlocal
    mean, std = jnp.asarray(bounds.prior_mean, dtype), jnp.asarray(bounds.prior_std, dtype)
    local_std = jnp.asarray(bounds.local_std, dtype)

    def cost(x: Any) -> Any:
        theta, local = x[:p], x[p:].reshape(w, s)
        setup = problem.parameters.apply(problem.setup, theta)
        r = jax.vmap(lambda l, d: window_residual(setup, d, l, problem.huber_width))(local, data)
        prior = jnp.sum(((theta - mean) / std) ** 2) + jnp.sum((local / local_std) ** 2)
        return 0.5 * (jnp.sum(r * r) + prior)

    run = jax.jit(jax.value_and_grad(cost))

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = run(jnp.asarray(x, dtype))
        return float(value), np.asarray(grad, float)

    return evaluate


def minimise(
    method: str,
    problem: Problem,
    windows: Windows,
    start: Point,
    bounds: Bounded,
    iterations: int,
    callback: Callable[[Point, float], None],
) -> Point:
    """Minimise by "lbfgs" or "adam", in units of each unknown's size; bounds are kept."""
    evaluate = cost_and_gradient(problem, windows, bounds)
    p, shape = len(start.theta), start.local.shape
    x0 = np.concatenate([start.theta, start.local.reshape(-1)])
    unit = np.concatenate([_sizes(start.theta), np.tile(_local_sizes(problem), shape[0])])
    free = np.full(start.local.size, np.inf)
    lower, upper = np.concatenate([bounds.lower, -free]), np.concatenate([bounds.upper, free])

    def point(x: np.ndarray, cost: float, iteration: int) -> Point:
        return replace(
            start, theta=x[:p], local=x[p:].reshape(shape), cost=cost, iteration=iteration
        )

    if method == "adam":
        return _adam(evaluate, x0, unit, lower, upper, iterations, point, callback)
    return _lbfgs(evaluate, x0, unit, lower, upper, iterations, point, callback)


def _sizes(theta: np.ndarray) -> np.ndarray:
    return np.where(theta != 0, np.abs(theta), 0.1)


def _local_sizes(problem: Problem) -> np.ndarray:
    nv = problem.simulator.model.nv
    return np.repeat([0.01, 0.1], nv)[: problem.nlocal]


def _lbfgs(
    evaluate: Any,
    x0: np.ndarray,
    unit: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    iterations: int,
    point: Any,
    callback: Any,
) -> Point:
    from scipy.optimize import Bounds, minimize

    last: dict[str, Any] = {"n": 0}

    def scaled(y: np.ndarray) -> tuple[float, np.ndarray]:
        cost, grad = evaluate(y * unit)
        if not np.isfinite(cost):
            return 1e300, np.zeros_like(y)
        last.update(cost=cost, grad=grad)
        return cost, grad * unit

    def after(y: np.ndarray) -> None:
        last["n"] += 1
        callback(point(y * unit, last["cost"], last["n"]), float(np.abs(last["grad"] * unit).max()))

    found = minimize(
        scaled,
        x0 / unit,
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(lower / unit, upper / unit),  # type: ignore[arg-type]
        callback=after,
        options={"maxiter": iterations, "ftol": 1e-12, "gtol": 1e-8},
    )
    outcome = {0: "converged", 1: "iteration limit"}.get(found.status, "stalled")
    x = np.clip(found.x * unit, lower, upper)
    return replace(point(x, float(found.fun), last["n"]), outcome=outcome)


def _adam(
    evaluate: Any,
    x0: np.ndarray,
    unit: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    iterations: int,
    point: Any,
    callback: Any,
) -> Point:
    import optax

    solver = optax.adam(ADAM_RATE)
    y = jnp.asarray(x0 / unit)
    state = solver.init(y)
    best = point(x0, np.inf, 0)
    for n in range(iterations):
        x = np.asarray(y) * unit
        cost, grad = evaluate(x)
        if not (np.isfinite(cost) and np.isfinite(grad).all()):
            return replace(best, outcome="non-finite")
        current = point(x, cost, n)
        best = current if cost < best.cost else best
        callback(current, float(np.abs(grad * unit).max()))
        update, state = solver.update(jnp.asarray(grad * unit), state)
        y = jnp.clip(y + update, lower / unit, upper / unit)
    return replace(best, outcome="iteration limit")
