"""Starting weights from a formula: a network that begins near the truth does not get stuck.

Fitted from nothing through long, unstable trajectories, a network can end where no small step
helps. A formula that explains the data is a good place to begin; the fit to the recordings that
follows is free to leave it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.graft.bound import BoundGrafts
from graftsim.identify.fit.graft_summary import visited
from graftsim.identify.problem.problem import Problem
from graftsim.identify.problem.windows import Windows
from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt, levenberg_marquardt
from graftsim.optim.local_solver import Point

SAMPLES = 400
# Error of the network, as a share of the output's scale, that counts as one in its training.
PRECISION = 0.01

# Output [n, m] of a graft from its raw inputs [n, k].
Teacher = Callable[[np.ndarray], np.ndarray]


def taught(
    problem: Problem, windows: Windows, theta: np.ndarray, teachers: Mapping[str, Teacher]
) -> np.ndarray:
    """theta [p] with the weights of the named grafts (of one law) as their teachers have it."""
    grafts = problem.setup.simulator.grafts
    assert isinstance(grafts, BoundGrafts)
    theta, seen = theta.copy(), visited(problem.setup.simulator, windows)
    names = {n: i for i, n in enumerate(problem.parameters.names)}
    for label, teacher in teachers.items():
        graft = grafts[label]
        x = seen[label][0].reshape(-1, seen[label][0].shape[-1])
        x = x[np.linspace(0, len(x) - 1, min(len(x), SAMPLES)).astype(int)]
        y = teacher(x)
        start = np.asarray(graft.trainable, float)
        scale = np.asarray(graft.output_scale, float)
        points = jnp.asarray(x[:, None], graft.output_scale.dtype)

        def outputs(v: Any, graft: Any = graft, points: Any = points) -> Any:
            return jax.vmap(lambda p: graft.with_trainable(v)(p)[0][0])(points)

        run, slope = jax.jit(outputs), jax.jit(jax.jacfwd(outputs))

        def residual(
            v: np.ndarray, _: np.ndarray, run: Any = run, y: np.ndarray = y, s: np.ndarray = scale
        ) -> np.ndarray:
            return ((np.asarray(run(v), float) - y) / s / PRECISION).reshape(1, -1)

        def jacobian(
            v: np.ndarray, l: np.ndarray, slope: Any = slope, s: np.ndarray = scale,
            residual: Any = residual,
        ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
            r = residual(v, l)
            J = np.asarray(slope(v), float) / s[:, None] / PRECISION
            return r, J.reshape(1, r.size, -1), np.zeros((1, r.size, 0))

        free = np.full(len(start), np.inf)
        bounds = Bounded(
            -free, free, np.zeros(len(start)), np.full(len(start), graft.wiring.prior), np.zeros(0)
        )
        found = levenberg_marquardt(
            residual, jacobian, Point(start, np.zeros((1, 0))), bounds,
            LevenbergMarquardt(iterations=100, cost_tolerance=1e-6),
        )  # fmt: skip
        theta[[names[f"graft.{label}.{i}"] for i in range(len(start))]] = found.theta
    return theta
