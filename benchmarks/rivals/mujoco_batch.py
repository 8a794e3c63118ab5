"""MuJoCo's `batch` (4.0 and later): a batch over threads, final states kept."""

from __future__ import annotations

from rivals import Job, Measured, Skip
from rivals.mujoco_step import load


def measure(job: Job) -> Measured:
    """Forward only."""
    try:
        from mujoco.batch import Batch
    except ImportError:
        raise Skip("this MuJoCo has no batch module (4.0 has)") from None

    model = load(job)
    q, qd = job.states()
    batch = Batch(model, nsim=len(q), nthread=job.threads)
    qpos, qvel = batch.bind("qpos"), batch.bind("qvel")

    def forward() -> None:
        qpos[:], qvel[:] = q, qd
        batch.step(nstep=job.steps)

    measured = Measured()
    measured.set_forward(job, forward)
    measured.q = qpos[0].tolist()
    return measured
