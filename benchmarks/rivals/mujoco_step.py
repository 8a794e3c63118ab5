"""MuJoCo's C engine, one simulation; its derivatives are finite differences of each step."""

from __future__ import annotations

from typing import Any

import numpy as np

from rivals import Job, Measured


def load(job: Job) -> Any:
    """MuJoCo's model of the scene."""
    import mujoco

    return mujoco.MjModel.from_xml_string(job.scene.mjcf)


def measure(job: Job) -> Measured:
    """`mj_step` with a number of steps; `mjd_transitionFD` in each step and the adjoint of it."""
    import mujoco

    model = load(job)
    data = mujoco.MjData(model)
    nv = model.nv

    def reset() -> None:
        data.qpos[:], data.qvel[:] = job.scene.q, job.scene.qd
        data.time = 0.0

    def forward() -> None:
        reset()
        mujoco.mj_step(model, data, job.steps)

    jacobians = np.zeros((job.steps, 2 * nv, 2 * nv))

    def gradient() -> np.ndarray:
        reset()
        for a in jacobians:
            mujoco.mjd_transitionFD(model, data, 1e-6, True, a, None, None, None)
            mujoco.mj_step(model, data)
        pull = np.concatenate([_pull(mujoco, model, data), np.zeros(nv)])
        for a in jacobians[::-1]:
            pull = pull @ a
        return pull

    measured = Measured(note="reverse: central finite differences in each step, called from Python")
    measured.set_forward(job, forward)
    measured.q = data.qpos.tolist()
    if job.gradient:
        measured.set_gradient(job, gradient)
        measured.slope = gradient().tolist()
    return measured


def _pull(mujoco: Any, model: Any, data: Any) -> np.ndarray:
    """Gradient of the sum of squares of q in MuJoCo's tangent space."""
    nv, h = model.nv, 1e-6
    out = np.zeros(nv)
    for k in range(nv):
        for sign in (1.0, -1.0):
            moved = data.qpos.copy()
            mujoco.mj_integratePos(model, moved, sign * np.eye(nv)[k], h)
            out[k] += sign * np.sum(moved**2) / (2 * h)
    return out
