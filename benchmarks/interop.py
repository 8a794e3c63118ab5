"""What calls from other programs add: a layer in PyTorch, grafts inside MuJoCo's step.

Each function of PyTorch tensors takes turns with the same one of JAX, jitted, waited for: a trivial
one, and a roll-out of 100 steps in contact, both with their pull-backs. Beside it a large argument,
which is shared: what a copy of it costs and what its sum. In MuJoCo a step with the graft of a
floating robot against one without.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
import mujoco
import torch

import graftsim as gs
from graftsim.interop.mujoco import passive_force
from graftsim.interop.torch import layer
from graftsim.targets import Figures

CALL_TARGET = 100.0  # us more than a call from JAX
LARGE = 1_000_000


def ball() -> gs.Simulator:
    """A ball on the floor."""
    b = gs.Builder("ball")
    b.link("ball", joint="free", mass=0.5, inertia=0.002)
    b.geom("plane", (), name="floor", friction=0.4)
    b.geom("sphere", 0.1, "ball", name="ball")
    return gs.Simulator(b.build(), 0.002, contact=gs.contact.Complementarity())


def microseconds(functions: dict[str, Callable[[], Any]], calls: int) -> dict[str, float]:
    """Median time of a call, the functions taking turns."""
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(10):
        for name, f in functions.items():
            f()
            for _ in range(calls // 10):
                began = time.perf_counter()
                f()
                taken[name].append(1e6 * (time.perf_counter() - began))
    return {name: statistics.median(times) for name, times in taken.items()}


def pytorch(figures: Figures, calls: int) -> None:
    """Calls with and without a gradient, and the way back."""
    here = ball()
    start = here.initial_state({"ball.z": 0.1}, {"ball.x": 1.0})

    def slide(qd: jax.Array) -> jax.Array:
        return here.rollout(here.initial_state(start.q, qd), steps=100).q[-1]

    cases = {
        "a sum": (lambda x: x + 1, jnp.ones(4), calls),
        "100 steps in contact": (slide, start.qd, calls),
    }
    for name, (f, x, n) in cases.items():
        measure(figures, name, f, x, n)
    large, total = torch.ones(LARGE, dtype=torch.float64), layer(jnp.sum)
    taken = microseconds({"copied": large.clone, "summed": lambda: total(large)}, calls // 10)
    for which, us in taken.items():
        figures.note(f"8 MB from PyTorch, {which}", us, "us")


def measure(figures: Figures, name: str, f: Callable, x: jax.Array, calls: int) -> None:
    """One function from JAX and from PyTorch."""
    jitted, ones = jax.jit(f), jnp.ones_like(f(x))
    back = jax.jit(lambda x, c: jax.vjp(f, x)[1](c))
    ours = layer(f)
    tensor, cotangent = torch.from_dlpack(x).clone(), torch.from_dlpack(ones).clone()
    tracked = tensor.clone().requires_grad_()

    def both() -> None:
        tracked.grad = None
        ours(tracked).backward(cotangent)

    taken = microseconds(
        {
            "from JAX": lambda: jax.block_until_ready(jitted(x)),
            "from PyTorch": lambda: ours(tensor),
            "from PyTorch, recorded": lambda: ours(tracked),
            "from JAX, and the way back": lambda: jax.block_until_ready((jitted(x), back(x, ones))),
            "from PyTorch, and the way back": both,
        },
        calls,
    )
    for which, us in taken.items():
        figures.note(f"{name}, {which}", us, "us")
    base = taken["from JAX"]
    for which in ("from PyTorch", "from PyTorch, recorded"):
        figures.at_most(f"{name}, {which}, more", taken[which] - base, CALL_TARGET, "us")
    more = taken["from PyTorch, and the way back"] - taken["from JAX, and the way back"]
    # Two calls: forward and back.
    figures.at_most(f"{name}, and the way back, more", more, 2 * CALL_TARGET, "us")


def in_mujoco(figures: Figures, calls: int) -> None:
    """A step of a floating body with two links, and a network on all its joints."""
    b = gs.Builder("flyer")
    b.link("base", joint="free", mass=2.0, inertia=0.05)
    for name, side in (("left", -0.2), ("right", 0.2)):
        b.link(name, "base", axis=(0, 1, 0), origin=(0, side, 0), mass=0.3, inertia=0.01)
    graft = gs.Graft("joint.tau_passive[*]", ("joint.q[*]", "joint.qd[*]"), gs.MLP(16))
    simulator = gs.Simulator(b.build(), 0.002).graft(gs.Blueprint(graft), key=jax.random.key(0))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flyer.xml"
        gs.write_mjcf(simulator.model, path)
        host = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(host)
    step = {"step": lambda: mujoco.mj_step(host, data)}
    without = microseconds(step, calls)["step"]
    mujoco.mj_resetData(host, data)
    with passive_force(simulator, host):
        grafted = microseconds(step, calls)["step"]
    figures.note("MuJoCo's step", without, "us")
    figures.note("MuJoCo's step with a graft", grafted, "us")


def main() -> int:
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    options = parser.parse_args()
    figures = Figures("Interop", seed=options.seed, json_path=options.json)
    torch.set_num_threads(1)
    calls = 500 if options.quick else 5000
    figures.note("load average at the start, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    pytorch(figures, calls)
    in_mujoco(figures, calls)
    figures.note("load average at the end, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
