"""MJX, MuJoCo's engine in JAX: a scan of `mjx.step`, state and velocity carried."""

from __future__ import annotations

from typing import Any

from rivals import Job, Measured, Skip
from rivals.jax_function import measure_function
from rivals.mujoco_step import load


def measure(job: Job) -> Measured:
    """Side by side, reverse mode computes steps again: what it would keep does not fit."""
    try:
        from mujoco import mjx
    except ImportError as error:
        raise Skip(f"mujoco.mjx does not import: {error}") from None
    import jax

    model = mjx.put_model(load(job))
    empty = mjx.make_data(model)

    def make(q: Any, qd: Any, reverse: bool) -> Any:
        def body(state: tuple[Any, Any], _: None) -> tuple[tuple[Any, Any], None]:
            data = mjx.step(model, empty.replace(qpos=state[0], qvel=state[1]))
            return (data.qpos, data.qvel), None

        step = jax.checkpoint(body) if reverse and job.batch is not None else body

        def run(q: Any, qd: Any) -> tuple[Any, Any]:
            return jax.lax.scan(step, (q, qd), None, length=job.steps)[0]

        return run

    return measure_function(job, make)
