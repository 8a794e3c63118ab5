"""E12: the total mass of a chain from a collision's motion, and what a gradient costs (paper E).

The ball hits the hanging chain (`chain.py`), all poses are seen for 10 s, and RMSprop (rate 0.5)
seeks the chain's mass from five random starts below 1 kg; the truth is 7. The same gradient is
compared with central differences, and with an event-driven reference (`chain_events.py`) as steps
become shorter. Then the price of a gradient in the masses of n links: reverse mode once, against n
or 2n further simulations one after the other, and side by side in lanes.

Joints cannot open in joint coordinates. Beside: the same chain of loose bodies held by closed
loops, and the gaps of the original (maximal coordinates), with post-stabilisation 0.009 px, without
6.6 px.

    python experiments/e12_chain_mass.py [--only mass gradient cost drift] [--json FILE]
"""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import chain
import chain_events
import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.targets import Figures

PARTS = ("mass", "gradient", "cost", "drift")
STARTS, UPDATES, RATE, MEMORY = 5, 100, 0.5, 0.99
COUNTS = (1, 2, 5, 10, 20)
Loss = Callable[[Any], tuple[Any, Any]]


def simulator(links: int = 10, dt: float = chain.DT) -> gs.Simulator:
    """The scene with the linear complementarity law."""
    return gs.Simulator(chain.model(links), dt, contact=chain.LAW)


def loss(
    scene: gs.Simulator, seen: np.ndarray, seconds: float, every: int = 1
) -> Callable[[Any], Any]:
    """Mean square of all poses, angles included, against what was seen; of the links' masses."""

    def cost(masses: jax.Array) -> jax.Array:
        return jnp.mean((chain.motion(scene, masses, seconds)[::every] - seen) ** 2)

    return cost


def even(total: Any) -> Any:
    """The links' masses for a chain of this mass."""
    return jnp.full(10, total / 10)


def rmsprop(slope: Loss, start: float, updates: int) -> list[float]:
    """Masses along the way, as PyTorch's RMSprop goes; ends where the loss changes by < 1e-3."""
    x, size, path, before = start, 0.0, [start], np.inf
    for _ in range(updates):
        value, g = (float(v) for v in slope(x))
        if abs(value - before) < 1e-3:
            break
        before = value
        size = MEMORY * size + (1 - MEMORY) * g * g
        x -= RATE * g / (size**0.5 + 1e-8)
        path.append(x)
    return path


def learn(figures: Figures, updates: int) -> None:
    """The mass from five random starts."""
    scene = simulator()
    seen = np.asarray(jax.jit(lambda m: chain.motion(scene, even(m)))(chain.TOTAL))
    cost = loss(scene, seen, chain.SECONDS)
    slope = jax.jit(jax.value_and_grad(lambda total: cost(even(total))))
    off, needed = [], []
    for start in np.random.default_rng(0).uniform(0, 1, STARTS):
        began = time.process_time()
        path = np.array(rmsprop(slope, float(start), updates))
        error = np.abs(path - chain.TOTAL) / chain.TOTAL
        off.append(error[-1])
        outside = np.flatnonzero(error > 0.02)
        needed.append(len(path) if error[-1] > 0.02 else outside[-1] + 1 if len(outside) else 0)
        print(f"from {start:.3f}: {path[-1]:.4f} after {len(path) - 1} updates, within 2 % after "
              f"{needed[-1]}, {time.process_time() - began:.1f} CPU-s")  # fmt: skip
    figures.at_most("mass, worst of five starts, off by", max(off), 0.02)
    figures.at_most("updates until within 2 %, worst", max(needed), 100)


def compare(figures: Figures) -> None:
    """Slopes against central differences, and against events at shorter steps."""
    seconds, h = 4.0, 1e-5
    times = chain.DT * np.arange(round(seconds / chain.DT) + 1)
    seen = chain_events.poses(chain.TOTAL, times)
    exact = {
        m: (np.mean((chain_events.poses(m + h, times) - seen) ** 2)
            - np.mean((chain_events.poses(m - h, times) - seen) ** 2)) / (2 * h)
        for m in (5.0, 6.5, 8.0)
    }  # fmt: skip
    for k in (1, 4, 16):
        cost = loss(simulator(dt=chain.DT / k), seen, seconds, k)
        slope = jax.jit(jax.value_and_grad(lambda total, cost=cost: cost(even(total))))
        for m, right in exact.items():
            g = float(slope(m)[1])
            differences = float(slope(m + h)[0] - slope(m - h)[0]) / (2 * h)
            print(f"mass {m}, dt {chain.DT / k:.4g} s: slope {g:.6f}, differences "
                  f"{differences:.6f}, events {right:.6f}")  # fmt: skip
            if k == 1:
                off = abs(g / differences - 1)
                figures.at_most(f"slope against central differences, mass {m:g}", off, 1e-4)
            figures.note(f"slope against events, mass {m:g}, dt {1e3 * chain.DT / k:.3g} ms",
                         abs(g / right - 1))  # fmt: skip


def seconds_of(f: Callable[[], Any], tries: int = 60) -> float:
    """Median time of a call, after one that compiles."""
    jax.block_until_ready(f())
    found = []
    for _ in range(tries):
        began = time.perf_counter()
        jax.block_until_ready(f())
        found.append(time.perf_counter() - began)
    return statistics.median(found)


def price(figures: Figures, counts: tuple[int, ...]) -> None:
    """One gradient in n masses against differences, in one process."""
    for links in sorted({max(n, 10) for n in counts}):
        scene = simulator(links)
        masses = jnp.full(links, chain.TOTAL / links)
        seen = np.asarray(jax.jit(lambda m, s=scene: chain.motion(s, m))(masses))
        cost = loss(scene, seen, chain.SECONDS)
        forward, reverse = jax.jit(cost), jax.jit(jax.value_and_grad(cost))
        lanes = jax.jit(jax.vmap(cost))
        one, both = seconds_of(lambda: forward(masses)), seconds_of(lambda: reverse(masses))  # noqa: B023
        print(f"{links} links: loss {1e3 * one:.2f} ms, loss and gradient {1e3 * both:.2f} ms")
        for n in (n for n in counts if max(n, 10) == links):
            points = jnp.concatenate([masses + d * jnp.eye(links)[:n] for d in (1e-5, -1e-5)])
            side = seconds_of(lambda: lanes(points))  # noqa: B023
            figures.note(f"{n} masses: gradient over one-sided differences", both / (n + 1) / one)
            ratio = both / (2 * n * one)
            if n == 10:
                figures.at_most(f"{n} masses: gradient over central differences", ratio, 0.2)
            else:
                figures.note(f"{n} masses: gradient over central differences", ratio)
            figures.note(f"{n} masses: gradient over central differences in lanes", both / side)


def drift(figures: Figures) -> None:
    """Largest gap of a pin over 10 s, of loose bodies held by loops."""
    b = gs.Builder("loose", gravity=(0.0, -100.0, 0.0))
    for i in range(10):
        b.link(f"link{i}", joint="planar", axis=(0, 0, 1),
               origin=(chain.PIN[0], -50 - chain.PITCH * i, 0), mass=0.7,
               inertia=0.7 * (chain.WIDTH**2 + chain.HEIGHT**2) / 12)  # fmt: skip
        half = chain.PITCH / 2
        above = ("world", (*chain.PIN, 0)) if i == 0 else (f"link{i - 1}", (0, -half, 0))
        b.loop(f"pin{i}", above[0], f"link{i}", anchor=above[1],
               opposite=(0, chain.FIRST if i == 0 else half, 0))  # fmt: skip
    scene = gs.Simulator(b.build(), chain.DT)
    fast = np.zeros(30)
    fast[27] = 150.0
    start = scene.assemble(scene.initial_state(qd=fast))
    run = scene.rollout(start, steps=round(chain.SECONDS / chain.DT), record=["loop.error"])
    figures.at_most("largest gap of a pin, loose bodies in closed loops",
                    float(np.abs(run.recorded["loop.error"]).max()), 0.009, "px")  # fmt: skip


def main() -> int:
    """All parts, or those of --only."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    figures = Figures("E12 chain mass", seed=0, json_path=arguments.json)
    if "mass" in arguments.only:
        learn(figures, 3 if arguments.quick else UPDATES)
    if "gradient" in arguments.only:
        compare(figures)
    if "cost" in arguments.only:
        price(figures, (1,) if arguments.quick else COUNTS)
    if "drift" in arguments.only:
        drift(figures)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
