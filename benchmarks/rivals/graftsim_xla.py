"""graftsim on XLA: the same traced roll-out, a scan over the steps."""

from __future__ import annotations

from typing import Any

from rivals import Job, Measured
from rivals.graftsim_model import final_state, weights
from rivals.jax_function import measure_function


def measure(job: Job) -> Measured:
    """Side by side, reverse mode computes steps again: what it would keep does not fit."""

    def make(q: Any, qd: Any, reverse: bool) -> Any:
        return final_state(job, checkpoint=reverse and job.batch is not None)

    return measure_function(job, make, weights(job))
