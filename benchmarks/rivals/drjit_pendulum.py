"""Dr.Jit on LLVM: a double pendulum written out by hand, in a loop recorded as one kernel."""

from __future__ import annotations

import time
from typing import Any

from rivals import Job, Measured, Skip, double_pendulum


def measure(job: Job) -> Measured:
    """One call evaluates the whole loop; reverse mode stores the loop's states."""
    if job.scene.name != "chain2":
        raise Skip("only chain2 is written for it")
    try:
        import drjit as dr
        from drjit.llvm import ad
    except ImportError as error:
        raise Skip(f"drjit does not import: {error}") from None
    kind = ad.Float32 if job.dtype == "float32" else ad.Float64
    # Zero: no pool, on the calling thread.
    dr.set_thread_count(0 if job.threads == 1 else job.threads)
    # Where there is no LLVM the first evaluation fails.
    try:
        dr.eval(kind([1.0]) + 1)
    except Exception as error:
        raise Skip(f"no libLLVM: {str(error).splitlines()[0]}") from None
    from scenes import DT

    q, qd = (x.reshape(-1, 2).T for x in job.states())

    def roll(start: list[Any]) -> list[Any]:
        def body(i: Any, a: Any, b: Any, u: Any, v: Any) -> tuple[Any, ...]:
            du, dv = double_pendulum((a, b), (u, v), dr.sin, dr.cos)
            u, v = u + DT * du, v + DT * dv
            return i + 1, a + DT * u, b + DT * v, u, v

        loop = (ad.UInt32(0), *start)
        out = dr.while_loop(
            loop, lambda i, *_: i < job.steps, body, max_iterations=job.steps, mode="symbolic"
        )
        return list(out[1:])

    def start(grad: bool) -> list[Any]:
        state = [kind(x) for x in (*q, *qd)]
        for x in state:
            dr.make_opaque(x)
            if grad:
                dr.enable_grad(x)
        return state

    def forward() -> Any:
        out = roll(start(False))
        dr.eval(out)
        dr.sync_thread()
        return out

    def gradient() -> Any:
        state = start(True)
        out = roll(state)
        dr.backward(dr.sum(out[0] * out[0] + out[1] * out[1]))
        slopes = [dr.grad(x) for x in state]
        dr.eval(slopes)
        dr.sync_thread()
        return slopes

    measured = Measured()
    measured.compile_forward = _cold(dr, forward)
    measured.set_forward(job, forward)
    measured.q = [float(x[0]) for x in forward()[:2]]
    if job.gradient:
        measured.compile_gradient = _cold(dr, gradient)
        measured.set_gradient(job, gradient)
        measured.slope = [float(x[0]) for x in gradient()]
    return measured


def _cold(dr: Any, call: Any) -> float:
    """Seconds of a first call with an empty cache of kernels."""
    dr.flush_kernel_cache()
    began = time.perf_counter()
    call()
    return time.perf_counter() - began
