"""First-order fits: the same cost as the residuals', its gradient by reverse mode."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import as_data, window_function
from graftsim.identify.problem.windows import Windows
from graftsim.optim import first_order
from graftsim.optim.first_order import LBFGS, Adam
from graftsim.optim.least_squares import Bounded, Point


def cost_and_gradient(
    problem: Problem, windows: Windows, bounds: Bounded
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Half the weighted sum of squares of x = [theta, locals], and its gradient by reverse mode."""
    dtype = problem.simulator.dt.dtype
    data = as_data(windows, problem.sigma, dtype)
    p, w, s = len(problem.parameters), len(windows), problem.nlocal
    mean, std = jnp.asarray(bounds.prior_mean, dtype), jnp.asarray(bounds.prior_std, dtype)
    local_std = jnp.asarray(bounds.local_std, dtype)

    one = window_function(problem.setup, problem.parameters, data, problem.huber_width, s)

    def cost(x: Any) -> Any:
        theta, local = x[:p], x[p:].reshape(w, s)
        r = jax.vmap(one, (None, 0, 0))(theta, local, data)
        prior = jnp.sum(((theta - mean) / std) ** 2) + jnp.sum((local / local_std) ** 2)
        return 0.5 * (jnp.sum(r * r) + prior)

    run = jax.jit(jax.value_and_grad(cost))

    def evaluate(x: np.ndarray) -> tuple[float, np.ndarray]:
        value, grad = run(jnp.asarray(x, dtype))
        return float(value), np.asarray(grad, float)

    return evaluate


def minimise(
    problem: Problem,
    windows: Windows,
    start: Point,
    bounds: Bounded,
    solver: LBFGS | Adam,
    callback: Callable[[Point, float], None],
) -> Point:
    """Minimise by a first-order solver, in units of each unknown's size; bounds are kept."""
    p, shape = len(start.theta), start.local.shape
    free = np.full(start.local.size, np.inf)
    scaled = first_order.Scaled(
        evaluate=cost_and_gradient(problem, windows, bounds),
        start=np.concatenate([start.theta, start.local.reshape(-1)]),
        unit=np.concatenate(
            [_sizes(problem, start.theta), np.tile(_local_sizes(problem), shape[0])]
        ),
        lower=np.concatenate([bounds.lower, -free]),
        upper=np.concatenate([bounds.upper, free]),
    )

    def point(x: np.ndarray, cost: float, iteration: int) -> Point:
        return replace(
            start, theta=x[:p], local=x[p:].reshape(shape), cost=cost, iteration=iteration
        )

    found = first_order.minimise(
        scaled, solver, lambda x, cost, size, n: callback(point(x, cost, n), size)
    )
    return replace(point(found.x, found.cost, found.iterations), outcome=found.outcome)


def _sizes(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """Magnitudes; weights are of size one by the scales of their graft."""
    size = np.where(theta != 0, np.abs(theta), 0.1)
    return np.where(problem.parameters.physical, size, 1.0)


def _local_sizes(problem: Problem) -> np.ndarray:
    nv = problem.simulator.model.nv
    return np.repeat([0.01, 0.1], nv)[: problem.nlocal]
