"""Brax's generalized pipeline: dense mass matrix, inverted by iteration from step to step."""

from __future__ import annotations

from typing import Any

from rivals import Job, Measured, Skip
from rivals.jax_function import measure_function

# Brax checks the first shape of a model, so there must be one.
SHAPE = '<geom size="0.01" mass="0" contype="0" conaffinity="0"/>'


def measure(job: Job) -> Measured:
    """A scan of the pipeline's step."""
    try:
        from brax.generalized import pipeline
        from brax.io import mjcf
    except ImportError as error:
        raise Skip(f"brax does not import: {error}") from None
    import jax
    import jax.numpy as jnp

    try:
        text = job.scene.mjcf.replace("<joint", f"{SHAPE}<joint", 1)
        text = text if SHAPE in text else text.replace("<freejoint", f"{SHAPE}<freejoint", 1)
        system = mjcf.loads(text)
    except Exception as error:
        raise Skip(f"Brax cannot read the scene: {_line(error)}") from None

    def make(q: Any, qd: Any, reverse: bool) -> Any:
        def body(state: Any, _: None) -> tuple[Any, None]:
            return pipeline.step(system, state, jnp.zeros(system.act_size(), q.dtype)), None

        step = jax.checkpoint(body) if reverse and job.batch is not None else body

        def run(q: Any, qd: Any) -> tuple[Any, Any]:
            state = jax.lax.scan(step, pipeline.init(system, q, qd), None, length=job.steps)[0]
            return state.q, state.qd

        return run

    return measure_function(job, make)


def _line(error: Exception) -> str:
    return f"{type(error).__name__} {error}".split("\n")[0][:120]
