"""What all JAX contestants share: compile, time and differentiate a function of one simulation."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rivals import Job, Measured

Run = Callable[..., tuple[Any, Any]]


def measure_function(
    job: Job, make: Callable[[Any, Any, bool], Run], weights: Any = None
) -> Measured:
    """Figures of `make(q, qd, reverse)`, which returns run(q, qd[, weights]) -> final (q, qd).

    q and qd are the initial state of one simulation, `reverse` tells that a gradient is wanted.
    Several simulations run under `jax.vmap` and share the weights. The gradient is that of the sum
    of squares of the final q in the initial q and qd, and in the weights if there are any.
    """
    import jax
    import jax.numpy as jnp
    import numpy as np

    q, qd = (jnp.asarray(x, job.dtype) for x in job.states())
    first = (q, qd) if job.batch is None else (q[0], qd[0])
    shared = () if weights is None else (weights,)
    jax.block_until_ready(jax.jit(jnp.sin)(q))  # the backend's own start is not the contestant's

    def over(run: Run) -> Run:
        if job.batch is None:
            return run
        return jax.vmap(run, in_axes=(0, 0, *(None for _ in shared)))

    def build(f: Callable[[], Callable]) -> tuple[Callable, float]:
        jax.clear_caches()
        began = time.perf_counter()
        compiled = jax.jit(f()).lower(q, qd, *shared).compile()
        return compiled, time.perf_counter() - began

    def slope() -> Callable:
        run = over(make(*first, True))

        def loss(*arguments: Any) -> Any:
            return jnp.sum(run(*arguments)[0] ** 2)

        return jax.grad(loss, tuple(range(2 + len(shared))))

    measured = Measured()
    forward, measured.compile_forward = build(lambda: over(make(*first, False)))
    measured.set_forward(job, lambda: jax.block_until_ready(forward(q, qd, *shared)))
    final = np.asarray(forward(q, qd, *shared)[0])
    measured.q = (final if job.batch is None else final[0]).tolist()
    if not job.gradient:
        return measured
    gradient, measured.compile_gradient = build(slope)
    measured.set_gradient(job, lambda: jax.block_until_ready(gradient(q, qd, *shared)))
    found = [np.asarray(g) for g in gradient(q, qd, *shared)[:2]]
    measured.slope = np.concatenate([g if job.batch is None else g[0] for g in found]).tolist()
    return measured
