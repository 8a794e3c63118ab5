"""The cost as one number, its gradient by reverse mode: what first-order solvers ask for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.residuals import WindowData
from graftsim.identify.runs.window_function import WindowFunction, reader
from graftsim.optim.bounded import Bounded


def cost_and_gradient(
    problem: Problem, data: WindowData, bounds: Bounded
) -> Callable[[np.ndarray], tuple[float, np.ndarray]]:
    """Half the weighted sum of squares of x = [theta, locals], and its gradient by reverse mode."""
    dtype = problem.simulator.dt.dtype
    p, w, s = len(problem.parameters), len(data.controls), problem.nlocal
    mean, std = jnp.asarray(bounds.prior_mean, dtype), jnp.asarray(bounds.prior_std, dtype)
    local_std = jnp.asarray(bounds.local_std, dtype)

    one = WindowFunction(reader(problem), problem.criterion)

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


def sizes(problem: Problem, theta: np.ndarray) -> np.ndarray:
    """Magnitudes; weights are of size one by the scales of their graft."""
    size = np.where(theta != 0, np.abs(theta), 0.1)
    return np.where(problem.parameters.physical, size, 1.0)


def local_sizes(problem: Problem) -> np.ndarray:
    """Of displacements of initial states [s], in rad or m, 1/s of them, and units of memories."""
    model = problem.simulator.model
    return np.repeat([0.01, 0.1, 0.01], [model.nv, model.nv, model.actuator.na])[: problem.nlocal]
