"""How a robot moves in the windows of a fit, and the torques that move it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from graftsim import kernels
from graftsim.dynamics.rnea import inverse_dynamics
from graftsim.identify.doubt.standard import Motion
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs.residual_program import ResidualProgram


def motion_of(
    problem: Problem, program: ResidualProgram, theta: np.ndarray, local: np.ndarray
) -> Motion:
    """How the robot moves in the windows, and the torques that move it."""
    tree, dt = problem.simulator.model.tree, problem.dt
    q = program.readings(theta, local)[1]
    plain = [i for i, kind in enumerate(tree.joint_types) if kind.one_by_one]
    d = np.zeros((*q.shape[:2], tree.nv))
    for i in plain:
        d[..., tree.v_index[i]] = q[..., tree.q_index[i]]
    rate = np.gradient(d, dt, axis=1)
    acceleration = np.gradient(rate, dt, axis=1)
    few = slice(None, None, max(q.shape[1] // 25, 1))
    flat = [x[:, few].reshape(-1, x.shape[-1]) for x in (q, d, rate, acceleration)]
    flat = [x[np.isfinite(x).all(1)] for x in flat]
    model = problem.setup_at(theta).simulator.model
    arrays = [jnp.asarray(x, problem.simulator.dt.dtype) for x in (flat[0], flat[2], flat[3])]
    # Of the model too, so that one kernel serves all fits of a robot.
    kernel = kernels.compile(inverse_dynamics, model, *(x[0] for x in arrays))
    moving = np.asarray(jax.vmap(kernel, (None, 0, 0, 0))(model, *arrays), float)
    return Motion(flat[1], flat[2], flat[3], np.sqrt(np.mean(moving**2, 0)))
