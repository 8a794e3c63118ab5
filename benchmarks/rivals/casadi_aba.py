"""CasADi: Pinocchio's ABA as an expression graph, written out in C and compiled where gcc is.

Where Pinocchio comes without its CasADi half, chain2 alone, by hand. Without gcc, CasADi's virtual
machine evaluates the graph.
"""

from __future__ import annotations

import shutil
import time
from typing import Any

import numpy as np

from rivals import Job, Measured, Skip, double_pendulum
from rivals.pinocchio_aba import _damping, load


def measure(job: Job) -> Measured:
    """The step as a function, repeated by `mapaccum`; reverse mode is CasADi's."""
    try:
        import casadi as ca
    except ImportError as error:
        raise Skip(f"casadi does not import: {error}") from None
    if shutil.which("gcc"):
        flags = {"flags": ["-O3", "-march=native", "-ffast-math"], "compiler": "gcc"}
        options, how = {"jit": True, "compiler": "shell", "jit_options": flags}, "C by gcc"
    else:
        options, how = {}, "virtual machine"
    nv = len(job.scene.qd)
    step, origin = _step(ca, job)
    x = ca.MX.sym("x", 2 * nv)
    start = np.concatenate([job.scene.q, job.scene.qd])

    def build(name: str, of: Any) -> tuple[Any, float]:
        began = time.perf_counter()
        final = step.mapaccum("roll", job.steps)(x)[:, -1]
        function = ca.Function(name, [x], [of(final)], options)
        return function, time.perf_counter() - began

    measured = Measured(note=f"{origin}{how}")
    run, measured.compile_forward = build("run", lambda final: final)
    measured.set_forward(job, lambda: run(start))
    measured.q = np.asarray(run(start)).ravel()[:nv].tolist()
    if job.gradient:
        slope, measured.compile_gradient = build(
            "slope", lambda final: ca.gradient(ca.sumsqr(final[:nv]), x)
        )
        measured.set_gradient(job, lambda: slope(start))
        measured.slope = np.asarray(slope(start)).ravel().tolist()
    return measured


def _step(ca: Any, job: Job) -> tuple[Any, str]:
    """Function (q, v) -> (q, v) of one step, stacked, and whence the dynamics."""
    from scenes import DT

    nv = len(job.scene.qd)
    x = ca.SX.sym("x", 2 * nv)
    q, v = x[:nv], x[nv:]
    try:
        import pinocchio as pin
        import pinocchio.casadi as cpin
    except ImportError:
        if job.scene.name != "chain2":
            raise Skip("Pinocchio comes without pinocchio.casadi; by hand only chain2") from None
        a = ca.vertcat(*double_pendulum((q[0], q[1]), (v[0], v[1]), ca.sin, ca.cos))
        note = "by hand (no pinocchio.casadi), "
    else:
        if len(job.scene.q) != nv:
            raise Skip("scenes with a free base are not written for it")
        model = cpin.Model(load(pin, job))
        a = cpin.aba(model, model.createData(), q, v, -_damping(job, model) * v)
        note = ""
    new = v + DT * a
    return ca.Function("step", [x], [ca.vertcat(q + DT * new, new)]), note
