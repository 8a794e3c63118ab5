"""What a graft costs: a 2 x 16 network on each joint of a 5-link chain, over the same step without.

One simulation alone, and 1024 side by side, on kernels, one thread; both are timed in turns in one
run, the least of many. Also: the program of an ungrafted simulator has no trace of grafts.

    python benchmarks/graft_cost.py [--dtype float32] [--json FILE]
"""

import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import kernels
from graftsim.targets import Figures

STEPS, LINKS, MANY = 500, 5, 1024
SECONDS = 4.0


def chain(dtype: Any) -> gs.Simulator:
    """Rods of 0.5 m, hanging, about y."""
    b, parent = gs.Builder("chain"), "world"
    for i in range(LINKS):
        b.link(
            f"rod{i}",
            parent,
            joint_name=f"j{i}",
            axis=(0, 1, 0),
            origin=(0, 0, -0.5 if i else 0),
            mass=1.0,
            com=(0, 0, -0.25),
            inertia=(0.02, 0.02, 0.001),
        )
        parent = f"rod{i}"
    return gs.Simulator(b.build(dtype), 0.002)


def grafted(simulator: gs.Simulator, shared: bool) -> gs.Simulator:
    """With weights as they are after training: none of them zero."""
    graft = gs.Graft(
        "joint.tau_passive[*]",
        ("joint.q[*]", "joint.qd[*]"),
        network=gs.MLP(16, 16),
        shared=shared,
        name="net",
    )
    hybrid = simulator.graft(gs.Blueprint(graft))
    bound = hybrid.grafts["net"]  # type: ignore[index]
    rng = np.random.default_rng(0)
    weights = jnp.asarray(0.1 * rng.standard_normal(bound.trainable.shape), simulator.dt.dtype)
    new = hybrid.grafts.replace("net", bound.with_trainable(weights))  # type: ignore[union-attr]
    return eqx.tree_at(lambda s: s.grafts, hybrid, new)


def call(simulator: gs.Simulator, many: bool) -> Callable[[], None]:
    """A compiled roll-out."""
    rng = np.random.default_rng(1)
    dtype = simulator.dt.dtype
    q = jnp.asarray(rng.uniform(-0.5, 0.5, (MANY, LINKS)), dtype)

    def one(q: Any) -> Any:
        return simulator.rollout(simulator.initial_state(q=q), steps=STEPS, backend="kernel").q[-1]

    run = jax.jit(jax.vmap(one) if many else one)
    start = q if many else q[0]
    jax.block_until_ready(run(start))
    return lambda: jax.block_until_ready(run(start))


def least(calls: Sequence[Callable[[], None]]) -> list[float]:
    """Least time of each, timed in turns."""
    times = [np.inf] * len(calls)
    end = time.perf_counter() + SECONDS
    while time.perf_counter() < end:
        for k, c in enumerate(calls):
            began = time.perf_counter()
            c()
            times[k] = min(times[k], time.perf_counter() - began)
    return times


def main() -> int:
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    arguments = parser.parse_args()
    jax.config.update("jax_enable_x64", arguments.dtype == "float64")
    figures = Figures("Cost of a graft", seed=arguments.seed, json_path=arguments.json)
    bare = chain(arguments.dtype)
    for many, name, each in ((False, "one simulation", 1), (True, f"{MANY} side by side", MANY)):
        with kernels.threads(1):
            calls = [call(s, many) for s in (bare, grafted(bare, True), grafted(bare, False))]
            plain, shared, own = (1e6 * t / STEPS / each for t in least(calls))
        figures.note(f"{name}: step without", plain, "us")
        figures.note(f"{name}: step with a shared network", shared, "us")
        figures.note(f"{name}: step with a network for each joint", own, "us")
        figures.at_most(f"{name}: shared network, times", shared / plain, 3.0)
        figures.note(f"{name}: a network for each joint, times", own / plain)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
