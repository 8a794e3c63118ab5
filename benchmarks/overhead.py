"""What the library adds to a call of a compiled step, to an import, and to the command line.

A step of the double pendulum, called from Python and waited for, against a compiled function that
hands its arguments' state back. The simulator is closed over (`jax.jit(simulator.step)`) or an
argument, whose leaves are then flattened by every call. Both targets are against the empty call
without a simulator. Where the time goes: the empty call that has a simulator shows the flattening;
the quickest call of a step, the computation itself, in the calling thread; and the median is mostly
the wait for JAX's other threads, to which it hands all but the smallest programs.

`import graftsim` loads almost nothing; "every public name" imports all that its names stand for.
"""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from compile_time import chain

import graftsim as gs
from graftsim.targets import Figures

CALLS, ROUNDS = 500, 10
STEP_TARGET = 100.0  # us more than an empty call
IMPORT_TARGET = 0.5  # s more than what is needed of others

BASE = "import jax, equinox"
PLAIN = "import graftsim"
EVERYTHING = "import graftsim\nfor name in graftsim.__all__: getattr(graftsim, name)"
HELP = "import sys; from graftsim.cli import main; main(['--help'])"


def calls(figures: Figures) -> None:
    """Microseconds a call, median of many, the functions taking turns."""
    simulator = gs.Simulator(chain(2), 0.002)
    state = simulator.initial_state({"link0": 0.3})
    u = jnp.zeros(simulator.model.nu, state.q.dtype)
    functions: dict[str, tuple[Callable, tuple[Any, ...]]] = {
        "empty": (jax.jit(lambda s, u: s), (state, u)),
        "empty, simulator an argument": (jax.jit(lambda m, s, u: s), (simulator, state, u)),
        "adding to the state": (jax.jit(lambda s, u: jax.tree.map(lambda x: x + 1, s)), (state, u)),
        "step, simulator closed over": (jax.jit(simulator.step), (state, u)),
        "step, simulator an argument": (
            jax.jit(lambda m, s, u: m.step(s, u)),
            (simulator, state, u),
        ),
    }
    taken: dict[str, list[float]] = {name: [] for name in functions}
    for function, arguments in functions.values():
        jax.block_until_ready(function(*arguments))
    for _ in range(ROUNDS):
        for name, (function, arguments) in functions.items():
            for _ in range(CALLS):
                began = time.perf_counter()
                jax.block_until_ready(function(*arguments))
                taken[name].append(1e6 * (time.perf_counter() - began))
    median = {name: statistics.median(times) for name, times in taken.items()}
    for name, times in taken.items():
        figures.note(f"{name}, median", median[name], "us")
        figures.note(f"{name}, least", min(times), "us")
    for name in ("step, simulator closed over", "step, simulator an argument"):
        more = median[name] - median["empty"]
        figures.at_most(f"{name}, more than empty", more, STEP_TARGET, "us")


def seconds(code: str) -> float:
    """Wall seconds of a fresh interpreter that runs the code."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def imports(figures: Figures, repeats: int) -> None:
    """Seconds of fresh processes, taking turns. The first of each may write bytecode: dropped."""
    codes = {
        "python alone": "pass",
        BASE: BASE,
        "import graftsim": PLAIN,
        "every public name": EVERYTHING,
        "graftsim --help": HELP,
    }
    taken: dict[str, list[float]] = {name: [] for name in codes}
    for turn in range(repeats + 1):
        for name, code in codes.items():
            s = seconds(code)
            if turn > 0:
                taken[name].append(s)
    median = {name: statistics.median(times) for name, times in taken.items()}
    for name, s in median.items():
        figures.note(name, s, "s")
    for name in ("import graftsim", "every public name"):
        figures.at_most(
            f"{name}, more than {BASE}", median[name] - median[BASE], IMPORT_TARGET, "s"
        )
    without = subprocess.run(
        [sys.executable, "-c", f"{HELP}; sys.exit('jax' in sys.modules)"],
        stdout=subprocess.DEVNULL,
        check=False,
    )
    figures.at_most("graftsim --help, imports of jax", without.returncode, 0)


def main() -> int:
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--repeats", type=int, default=7, help="fresh processes an import")
    options = parser.parse_args()
    figures = Figures("Overhead", seed=options.seed, json_path=options.json)
    figures.note("load average at the start, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    calls(figures)
    imports(figures, options.repeats)
    figures.note("load average at the end, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
