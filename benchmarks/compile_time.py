"""Compile time of one step and of the gradient of a roll-out of 500 steps.

The gradient is reverse mode, in the masses of all links, of a sum of squares of the last joint
positions. Peer simulators on JAX need 27 to 130 CPU-seconds to compile such gradients; the target
is the better end of that range. CPU-seconds count all threads of the compiler and feel other work
on the machine less than the clock does. Each mechanism is measured in fresh processes, with no
cache on disk; the figure is the run with the fewest CPU-seconds.

"trace" is Python to XLA's input (jaxpr and lowering), "compile" is XLA; "run" is the quickest call
of the compiled program. "equations" counts a step's jaxpr, those of inner functions included.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ["JAX_ENABLE_COMPILATION_CACHE"] = "0"

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.extend import core as jex

import graftsim as gs
from graftsim.targets import Figures

STEPS = 500
TARGET = 27.0  # CPU-seconds
CHAIN = 12


def chain(links: int) -> gs.Model:
    """Bars of 0.5 m and 1 kg, each on the end of the one before, turning about x."""
    b = gs.Builder("chain")
    for i in range(links):
        b.link(
            f"link{i}",
            "world" if i == 0 else f"link{i - 1}",
            axis=(1, 0, 0),
            origin=(0, 0, 0 if i == 0 else -0.5),
            mass=1.0,
            com=(0, 0, -0.25),
            inertia=(1 / 48, 1 / 48, 1e-4),
        )
        b.actuator(f"motor{i}", f"link{i}")
    return b.build()


def a1() -> Path:
    """The A1 quadruped's file, which may be absent."""
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data"))
    return data.parent / "assets" / "a1" / "a1_primitives.urdf"


MECHANISMS: dict[str, Callable[[], gs.Model]] = {
    "double pendulum": lambda: chain(2),
    f"{CHAIN}-link chain": lambda: chain(CHAIN),
    "A1": lambda: gs.load(a1()),
}


def equations(jaxpr: Any) -> Iterator[Any]:
    """All equations of a jaxpr, those inside calls and loops included, the calls themselves not."""
    for equation in jaxpr.eqns:
        inner = list(jex.jaxprs_in_params(equation.params))
        for one in inner:
            yield from equations(one)
        if not inner:
            yield equation


def clocks() -> tuple[float, float]:
    """Wall and CPU seconds of this process, all threads."""
    return time.perf_counter(), time.process_time()


def measure_program(program: Callable, *arguments: Any) -> tuple[dict[str, float], Any]:
    """Seconds to trace, compile and run; and the jaxpr."""
    start = clocks()
    traced = jax.jit(program).trace(*arguments)
    lowered = traced.lower()
    middle = clocks()
    compiled = lowered.compile()
    end = clocks()
    run = []
    for _ in range(6):
        began = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        run.append(time.perf_counter() - began)
    found = {
        "trace, wall": middle[0] - start[0],
        "trace, CPU": middle[1] - start[1],
        "compile, wall": end[0] - middle[0],
        "compile, CPU": end[1] - middle[1],
        "run": min(run),
    }
    return found, traced.jaxpr.jaxpr


def measure(name: str) -> dict[str, float]:
    """All figures of one mechanism; to be called in a fresh process."""
    simulator = gs.Simulator(MECHANISMS[name](), 0.002)
    state = simulator.initial_state()
    u = jnp.zeros(simulator.model.nu, state.q.dtype)
    jax.jit(jnp.sin)(1.0)  # the backend's own start is not the simulator's

    def step(simulator: gs.Simulator, state: gs.State, u: jax.Array) -> gs.State:
        return simulator.step(state, u)

    def loss(mass: jax.Array, simulator: gs.Simulator, state: gs.State) -> jax.Array:
        simulator = eqx.tree_at(lambda s: s.model.link.mass, simulator, mass)
        return jnp.sum(simulator.rollout(state, steps=STEPS).q[-1] ** 2)

    of_step, jaxpr = measure_program(step, simulator, state, u)
    of_gradient, _ = measure_program(jax.grad(loss), simulator.model.link.mass, simulator, state)
    return (
        {"step, equations": sum(1 for _ in equations(jaxpr))}
        | {f"step, {k}": v for k, v in of_step.items()}
        | {f"gradient, {k}": v for k, v in of_gradient.items()}
        | {"gradient, CPU": of_gradient["trace, CPU"] + of_gradient["compile, CPU"]}
        | {"gradient, wall": of_gradient["trace, wall"] + of_gradient["compile, wall"]}
    )


def best(name: str, repeats: int) -> dict[str, float]:
    """The run with the fewest CPU-seconds for the gradient."""
    runs = []
    for _ in range(repeats):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            runs.append(pool.submit(measure, name).result())
    return min(runs, key=lambda run: run["gradient, CPU"])


def main() -> int:
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=3, help="fresh processes a mechanism")
    parser.add_argument("--only", choices=MECHANISMS, help="one mechanism")
    options = parser.parse_args()
    figures = Figures("Compile time", seed=options.seed, json_path=options.json)
    figures.note("load average at the start, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    for name in [options.only] if options.only else MECHANISMS:
        if name == "A1" and not a1().is_file():
            print(f"A1 is left out: no file {a1()}. Set GRAFTSIM_DATA.", file=sys.stderr)
            continue
        for what, value in best(name, options.repeats).items():
            if what == "gradient, CPU":
                figures.at_most(f"{name}, {what}", value, TARGET, "CPU s")
            elif what.endswith("equations"):
                figures.note(f"{name}, {what}", value)
            elif what.endswith("run"):
                figures.note(f"{name}, {what}", 1e3 * value, "ms")
            else:
                figures.note(f"{name}, {what}", value, "CPU s" if what.endswith("CPU") else "s")
    figures.note("load average at the end, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
