"""The contestants of the kernel benchmark, one file each, and what their files share.

A rival's file has one function, `measure(job) -> Measured`, and imports its package inside, so that
an absent package is one line in the table. It runs in a process of its own.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from scenes import Scene

JAX_TYPES = ("float32", "float64")


class Skip(Exception):
    """This rival does not take part; the message is a line for the table."""


@dataclass(frozen=True)
class Rival:
    """A row of the contest: which file measures it and what it can do."""

    title: str
    module: str
    batch: bool
    dtypes: tuple[str, ...] = ("float64",)
    threaded: bool = False
    network: bool = False


RIVALS: dict[str, Rival] = {
    "mj_step": Rival("MuJoCo C, mj_step", "mujoco_step", batch=False),
    "kernel": Rival("graftsim kernel", "graftsim_kernel", False, JAX_TYPES),
    "kernel_batch": Rival("graftsim kernel", "graftsim_kernel", True, JAX_TYPES, threaded=True),
    "xla": Rival("graftsim XLA", "graftsim_xla", False, JAX_TYPES),
    "xla_batch": Rival("graftsim XLA", "graftsim_xla", True, JAX_TYPES, threaded=True),
    "mujoco_rollout": Rival("MuJoCo C, rollout", "mujoco_rollout", True, threaded=True),
    "mujoco_batch": Rival("MuJoCo C, batch", "mujoco_batch", True, threaded=True),
    "mjx": Rival("MJX", "mjx", False, JAX_TYPES),
    "mjx_batch": Rival("MJX", "mjx", True, JAX_TYPES, threaded=True),
    "brax": Rival("Brax, generalized", "brax_generalized", False, JAX_TYPES),
    "brax_batch": Rival("Brax, generalized", "brax_generalized", True, JAX_TYPES, threaded=True),
    "drjit": Rival("Dr.Jit, by hand", "drjit_pendulum", False, JAX_TYPES),
    "drjit_batch": Rival("Dr.Jit, by hand", "drjit_pendulum", True, JAX_TYPES, threaded=True),
    "pinocchio": Rival("Pinocchio, from Python", "pinocchio_aba", False),
    "casadi": Rival("CasADi", "casadi_aba", False),
}
NETWORKS: dict[str, Rival] = {
    "kernel": Rival("kernel + network", "graftsim_kernel", False, JAX_TYPES, network=True),
    "kernel_batch": Rival(
        "kernel + network", "graftsim_kernel", True, JAX_TYPES, threaded=True, network=True
    ),
    "xla": Rival("XLA + network", "graftsim_xla", False, JAX_TYPES, network=True),
    "xla_batch": Rival(
        "XLA + network", "graftsim_xla", True, JAX_TYPES, threaded=True, network=True
    ),
}


@dataclass(frozen=True)
class Job:
    """What to measure. `batch` is None for one simulation."""

    scene: Scene
    steps: int
    repeats: int
    patience: float  # seconds that one figure may take; fewer repeats then
    batch: int | None = None
    threads: int = 1
    dtype: str = "float64"
    network: bool = False
    gradient: bool = True

    @property
    def simulated(self) -> int:
        """Steps of single simulations in a call."""
        return self.steps * (self.batch or 1)

    def states(self) -> tuple[Any, Any]:
        """Initial q and qd, [nq] and [nv] or with a leading batch axis."""
        if self.batch is None:
            return self.scene.q, self.scene.qd
        return self.scene.states(self.batch)


@dataclass
class Measured:
    """Microseconds per step and simulation, and seconds to trace and compile."""

    forward: float | None = None
    gradient: float | None = None
    compile_forward: float | None = None
    compile_gradient: float | None = None
    repeats: int | None = None
    cores: float | None = None  # CPU seconds per wall second of the forward calls
    note: str = ""
    absent: bool = False  # it does not take part, in whatever type and number of threads
    q: list[float] = field(default_factory=list)  # the first simulation's final positions
    slope: list[float] = field(default_factory=list)  # its gradient in (q, qd)
    extra: dict[str, float] = field(default_factory=dict)

    def set_forward(self, job: Job, call: Callable[[], Any]) -> None:
        """Time a call that simulates the job once."""
        cpu, wall = time.process_time(), time.perf_counter()
        seconds, self.repeats = median_seconds(call, job.repeats, job.patience)
        self.cores = (time.process_time() - cpu) / (time.perf_counter() - wall)
        self.forward = 1e6 * seconds / job.simulated

    def set_gradient(self, job: Job, call: Callable[[], Any]) -> None:
        """Time a call that gives the gradient once."""
        seconds, _ = median_seconds(call, job.repeats, job.patience)
        self.gradient = 1e6 * seconds / job.simulated

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def median_seconds(
    call: Callable[[], Any], repeats: int, patience: float, least: float = 0.02
) -> tuple[float, int]:
    """Median of a call's seconds after one to warm up, and of how many.

    Quick calls are timed in groups that take `least` seconds.
    """
    call()
    began = time.perf_counter()
    call()
    once = time.perf_counter() - began
    group = max(1, math.ceil(least / max(once, 1e-7)))
    repeats = max(1, min(repeats, int(patience / max(once * group, 1e-7))))
    taken = []
    for _ in range(repeats):
        began = time.perf_counter()
        for _ in range(group):
            call()
        taken.append((time.perf_counter() - began) / group)
    return statistics.median(taken), repeats


def double_pendulum(q: Any, v: Any, sin: Callable, cos: Callable) -> tuple[Any, Any]:
    """Accelerations of scene chain2 in closed form, for engines that cannot read a file.

    Mass matrix and Coriolis terms of two bars of 1 m and 1 kg in joint angles, damping 0.1.
    """
    g, damping, inertia = 9.81, 0.1, 1 / 12
    c, s = 0.5 * cos(q[1]), 0.5 * sin(q[1])
    m22 = inertia + 0.25
    m12 = m22 + c
    m11 = inertia + 0.25 + m22 + 1.0 + 2 * c
    s1, s12 = sin(q[0]), sin(q[0] + q[1])
    # Joints turn about +y and bars hang along -z: gravity pulls every angle back to zero.
    r1 = s * v[1] * (2 * v[0] + v[1]) - g * (1.5 * s1 + 0.5 * s12) - damping * v[0]
    r2 = -s * v[0] * v[0] - g * 0.5 * s12 - damping * v[1]
    scale = 1 / (m11 * m22 - m12 * m12)
    return (m22 * r1 - m12 * r2) * scale, (m11 * r2 - m12 * r1) * scale
