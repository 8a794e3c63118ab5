"""The problem that `scale` and `faults` spread: a swinging double pendulum on springs.

Its tasks are here too, at the top of a module, so that workers can import them.
"""

from __future__ import annotations

import os
import time
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import numpy as np

import graftsim as gs
from graftsim.identify.fit.global_search import some_minima

DT, NOISE = 0.005, 0.005
STIFFNESS, DAMPING = (6.0, 3.0), (0.05, 0.02)
NAMES = ("joint.q[upper]", "joint.q[lower]")


def model(stiffness: tuple[float, float], damping: tuple[float, float]) -> gs.Model:
    """Two rods on springs, hinged about x."""
    builder = gs.Builder("swing")
    for i, (name, parent) in enumerate((("upper", "world"), ("lower", "upper"))):
        builder.link(
            name,
            parent,
            mass=1.0,
            com=(0, 0, -0.2),
            inertia=(0.02, 0.02, 0.001),
            axis=(1, 0, 0),
            origin=(0, 0, -0.4 * i),
            stiffness=stiffness[i],
            damping=damping[i],
        )
    return builder.build()


def simulator(stiffness: tuple[float, float], damping: tuple[float, float]) -> gs.Simulator:
    """Of the two rods."""
    return gs.Simulator(model(stiffness, damping), DT, integrator=gs.ImplicitDamping())


def recordings(count: int, seconds: float, seed: int) -> list[gs.Recording]:
    """Swings from random angles, with noise."""
    rng, truth, found = np.random.default_rng(seed), simulator(STIFFNESS, DAMPING), []
    steps = round(seconds / DT)
    for k in range(count):
        q0 = rng.uniform(-1.5, 1.5, 2)
        state = truth.initial_state({"upper": q0[0], "lower": q0[1]})
        q = np.asarray(truth.rollout(state, steps=steps).q)
        q = q + rng.normal(0, NOISE, q.shape)
        time = DT * np.arange(steps + 1)
        channels = {n: gs.Channel(n, time, q[:, i], "rad") for i, n in enumerate(NAMES)}
        found.append(gs.Recording(channels, f"swing {k}"))
    return found


def posed(count: int = 10, seconds: float = 2.0, seed: int = 0, **options: Any) -> gs.Problem:
    """From soft springs, which is far away; four numbers are free."""
    return gs.Problem(
        simulator((2.0, 8.0), (0.1, 0.1)),
        recordings(count, seconds, seed),
        {"joint.stiffness[*]": gs.Bounds(0.5, 20.0), "joint.damping[*]": gs.Bounds(0.0, 1.0)},
        noise=dict.fromkeys(NAMES, NOISE),
        horizon=seconds / 4,
        growth=(1.0,),
        **options,
    )


def nothing(problem: gs.Problem, item: Any) -> dict[str, Any]:
    """A task without work: what is left is the overhead."""
    return {"process": os.getpid()}


def timed(problem: gs.Problem, item: Any) -> dict[str, Any]:
    """Local minima, with what they took, and how much code this process built or read."""
    from graftsim.kernels.codegen import cache

    counted = {"built": 0, "read": 0}
    read, write = cache.read, cache.write

    def counting_read(key: str) -> bytes | None:
        code = read(key)
        counted["read"] += code is not None
        return code

    def counting_write(key: str, code: bytes) -> None:
        counted["built"] += 1
        write(key, code)

    cache.read, cache.write = counting_read, counting_write
    began = time.perf_counter()
    found = dict(some_minima(problem, item))
    cache.read, cache.write = read, write
    return found | counted | {"seconds": time.perf_counter() - began, "process": os.getpid()}


def points(problem: gs.Problem, n: int, seed: int) -> np.ndarray:
    """Random starts [n, p] within the bounds."""
    p = problem.parameters
    return p.lower + (p.upper - p.lower) * np.random.default_rng(seed).random((n, len(p)))
