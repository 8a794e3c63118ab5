"""MuJoCo's `rollout`: a batch over threads, every state kept."""

from __future__ import annotations

import numpy as np

from rivals import Job, Measured
from rivals.mujoco_step import load


def measure(job: Job) -> Measured:
    """Forward only."""
    import mujoco
    from mujoco.rollout import Rollout

    model = load(job)
    q, qd = job.states()
    start = np.concatenate([np.zeros((len(q), 1)), q, qd], axis=1)
    states = np.zeros((len(q), job.steps, start.shape[1]))
    measured = Measured()
    # Zero: no pool, on the calling thread.
    threads = 0 if job.threads == 1 else job.threads
    with Rollout(nthread=threads) as pool:
        data = [mujoco.MjData(model) for _ in range(job.threads)]
        measured.set_forward(
            job, lambda: pool.rollout(model, data, start, nstep=job.steps, state=states)
        )
    measured.q = states[0, -1, 1 : 1 + model.nq].tolist()
    return measured
