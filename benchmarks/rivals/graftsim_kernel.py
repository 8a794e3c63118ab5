"""graftsim on its own compiler. All use of `graftsim.kernels` in the benchmarks is here."""

from __future__ import annotations

import statistics
import time
from typing import Any

from rivals import Job, Measured, Skip
from rivals.graftsim_model import final_state, weights
from rivals.jax_function import measure_function


def measure(job: Job) -> Measured:
    """The roll-out as one kernel, with the simulator's numbers built in."""
    kernels = _kernels()
    layers = weights(job)
    made = []

    def make(q: Any, qd: Any, reverse: bool) -> Any:
        shared = () if layers is None else (layers,)
        made.append(kernels.compile(final_state(job, checkpoint=True), q, qd, *shared))
        return made[-1]

    with kernels.threads(job.threads):
        measured = measure_function(job, make, layers)
    if job.batch is not None:
        kernel = made[0]
        measured.extra["operations"] = float(kernel.operations)
        measured.extra["lanes"] = float(_lanes(kernel))
    return measured


def peak(job: Job) -> dict[str, float]:
    """Vector operations a cycle of the forward roll-out, the clock measured before and after."""
    from clock import cycles_per_second

    rates = [cycles_per_second()]
    measured = measure(job)
    rates.append(cycles_per_second())
    hertz = statistics.mean(rates)
    assert measured.forward is not None
    operations, lanes = measured.extra["operations"], measured.extra["lanes"]
    cycles = 1e-6 * measured.forward * hertz
    return {
        "scalar operations a step": operations,
        "lanes": lanes,
        "clock, GHz": 1e-9 * hertz,
        "vector operations a cycle": operations / lanes / cycles,
    }


def calling_overhead(repeats: int, calls: int) -> dict[str, float]:
    """Microseconds of a call from Python of a kernel and of an empty function, taking turns."""
    import jax
    import jax.numpy as jnp

    kernels = _kernels()
    q, qd = jnp.zeros(2), jnp.ones(2)
    functions = {
        "empty jitted call": jax.jit(lambda q, qd: (q, qd)),
        "jitted addition": jax.jit(lambda q, qd: (q + qd, qd + 1)),
        "kernel of an addition": kernels.compile(lambda q, qd: (q + qd, qd + 1), q, qd),
    }
    functions["kernel of an addition, jitted"] = jax.jit(functions["kernel of an addition"])
    taken: dict[str, list[float]] = {name: [] for name in functions}
    with kernels.threads(1):
        for function in functions.values():
            jax.block_until_ready(function(q, qd))
        for _ in range(repeats):
            for name, function in functions.items():
                began = time.perf_counter()
                for _ in range(calls):
                    jax.block_until_ready(function(q, qd))
                taken[name].append(1e6 * (time.perf_counter() - began) / calls)
    found = {f"{name}, us": statistics.median(times) for name, times in taken.items()}
    empty = found["empty jitted call, us"]
    found["kernel, more than empty, us"] = found["kernel of an addition, us"] - empty
    found["kernel, jitted, more than empty, us"] = (
        found["kernel of an addition, jitted, us"] - empty
    )
    return found


def _kernels() -> Any:
    try:
        from graftsim import kernels
    except ImportError as error:
        raise Skip(f"graftsim.kernels: {error}") from None
    if not hasattr(kernels, "compile"):
        raise Skip("graftsim.kernels has no compile")
    return kernels


def _lanes(kernel: Any) -> int:
    """Simulations in a vector."""
    batched = (True,) * len(kernel.function.in_avals)
    return kernel.function.code(batched, True).lanes
