"""E11: how long gradients take, by differences, forward and reverse mode, on XLA and on kernels.

(i) A network 4-9-9-4 (175 parameters), mean square over 100 inputs. (ii') Five links of 0.5 m and
1 kg in free motion, 5000 steps of 1 ms: squared distance of the bob from the pivot, in lengths and
masses. (iii) A double pendulum, 500 steps of 1/500 s: mean of q1^2 + q2^2, in lengths and masses.
(ii) is the same chain falling on a plane.

Everything runs on one thread, medians of 7 unless the table says otherwise; a call from Python is
part of a time. Compilation is cold, and tracing is part of it. Differences are one-sided: "loop"
evaluates one after the other, "lanes" all at once under `jax.vmap`. A single reverse sweep leaves a
kernel's vector lanes idle, differences in lanes do not: what both cost when the lanes are full is
measured with 64 gradients at once. Over 5000 steps (ii') bends so quickly that central differences
need a step of 1e-5 to be a reference; 1e-3 does elsewhere.
"""

import os
import subprocess
import sys

os.environ.setdefault("JAX_ENABLE_X64", "1")
os.environ["GRAFTSIM_KERNEL_CACHE"] = ""
os.environ["GRAFTSIM_THREADS"] = "1"
os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_cpu_multi_thread_eigen=false"

import argparse
import ctypes
import json
import statistics
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import kernels
from graftsim.engine.rollout import scan_steps
from graftsim.targets import Figures, write_json

Loss = Callable[[jax.Array], jax.Array]
SIZES = (4, 9, 9, 4)
CHAIN_STEPS, PENDULUM_STEPS = 5000, 500
SHORT, EAGER_CHAIN, EAGER_PENDULUM = 200, (5, 15), 50
REPEATS, BATCH = 7, 64
STEP = 1e-7  # of one-sided differences
LOOP, LANES, FORWARD, REVERSE = "differences, loop", "differences, lanes", "forward", "reverse"
UNCOMPILED = "not compiled"

# Thread CPU time on a core of 2.5 GHz, measured elsewhere: value and gradient, seconds. The network
# sees one input; the pendulum has 4 parameters, the chain 5 and a plane to fall on.
ELSEWHERE: dict[str, tuple[float | None, float | None, float | None]] = {
    "double, central differences": (0.79e-3, 1.38, 8.9e-3),
    "ceres Jet, forward": (0.57e-3, 1.21, 5.1e-3),
    "CppAD tape, reverse": (10.4e-6, 0.96, 5.5e-3),
    "CppAD optimised tape, reverse": (9.4e-6, 0.35, 1.00e-3),
    "CppADCodeGen -O1/-O2, reverse": (2.1e-6, None, 0.141e-3),
}


# -- problems -------------------------------------------------------------------------------


def network(weights: jax.Array, x: jax.Array) -> jax.Array:
    """4-9-9-4, tanh in between; the 175 weights and biases layer by layer."""
    at = 0
    for n, m in pairwise(SIZES):
        W, b = weights[at : at + n * m].reshape(m, n), weights[at + n * m : at + n * m + m]
        at += n * m + m
        x = W @ x + b
        if at < len(weights):
            x = jnp.tanh(x)
    return x


def hinges(links: int, length: float) -> gs.Model:
    """Links along y that turn about x, each with its mass at its end."""
    b = gs.Builder(f"chain of {links}")
    for i in range(links):
        b.link(
            f"link{i}",
            f"link{i - 1}" if i else "world",
            axis=(1, 0, 0),
            origin=(0, length if i else 0, 0),
            mass=1.0,
            com=(0, length, 0),
            inertia=1e-3,
        )
    return b.build()


def with_parameters(
    base: gs.Model, ends: jax.Array, joints: jax.Array, masses: jax.Array, radius: float
) -> gs.Model:
    """Spheres of so much mass at `ends` (m) along the links; the next joint is at `joints` (m)."""
    z = jnp.zeros(len(ends))
    inertia = 0.4 * radius**2 * masses
    leaves = {
        "link.mass": masses,
        "link.com": jnp.stack([z, ends, z], -1),
        "link.inertia": jnp.stack([inertia, inertia, inertia, z, z, z], -1),
        "joint.origin": jnp.stack([z, jnp.concatenate([z[:1], joints]), z], -1),
    }
    for name, value in leaves.items():
        base = gs.model.with_leaf(base, name, value)
    return base


def chain_loss(steps: int, *, checkpoint: bool = True) -> Loss:
    """(ii') of 5 lengths and 5 masses: squared distance (m^2) of the bob from the pivot."""
    base = hinges(5, 0.5)

    def loss(x: jax.Array) -> jax.Array:
        lengths, masses = x[:5], x[5:]
        model = with_parameters(base, lengths, lengths[:-1], masses, 0.05)
        simulator = gs.Simulator(model, 1e-3)
        state = simulator.initial_state(qd=[0.1, -0.2, 0.3, 0.0, 0.2])
        controls = jnp.zeros((steps, 0))
        q = scan_steps(simulator, state, controls, checkpoint=checkpoint).q[-1]
        R, p = gs.dynamics.link_poses(model, q)
        return jnp.sum((p[-1] + R[-1] @ model.link.com[-1]) ** 2)

    return loss


def pendulum_loss(steps: int, dt: float = 1 / 500) -> Loss:
    """(iii) of 2 lengths and 2 masses, released horizontally. Both links measure their joints'
    distance by the second length, as in the program whose numbers are known."""
    base = hinges(2, 1.0)

    def loss(x: jax.Array) -> jax.Array:
        model = with_parameters(base, x[:2], x[1:2], x[2:], 0.15)
        simulator = gs.Simulator(model, dt)
        controls = jnp.zeros((steps, 0))
        q = scan_steps(simulator, simulator.initial_state(), controls, checkpoint=True).q
        return jnp.mean(jnp.sum(q[1:] ** 2, axis=-1))

    return loss


CHAIN_AT = jnp.array([0.5] * 5 + [1.0] * 5)
PENDULUM_AT = jnp.array([1.0, 1.2, 1.0, 1.0])


@dataclass(frozen=True)
class Task:
    """A loss, where its gradient is taken, and the ways to compile it, by engine."""

    name: str
    loss: Loss
    at: jax.Array
    engines: dict[str, Callable[[], Loss]]


def task(name: str, loss: Loss, at: jax.Array) -> Task:
    """On XLA and as one kernel."""
    return Task(name, loss, at, {"XLA": lambda: loss, "kernel": lambda: kernels.compile(loss, at)})


def network_task(inputs: int, seed: int) -> Task:
    """(i). There are two kernels: one of all inputs, and one of an input that lanes are made of."""
    rng = np.random.default_rng(seed)
    X, Y = jnp.asarray(rng.standard_normal((2, inputs, 4)))
    weights = jnp.asarray(0.5 * rng.standard_normal(175))

    def one(w: jax.Array, x: jax.Array, y: jax.Array) -> jax.Array:
        return jnp.mean((network(w, x) - y) ** 2)

    def over(f: Callable[..., jax.Array]) -> Loss:
        return lambda w: jnp.mean(jax.vmap(f, (None, 0, 0))(w, X, Y))

    whole = task("(i)", over(one), weights)
    lanes = {"kernel of an input": lambda: over(kernels.compile(one, weights, X[0], Y[0]))}
    return Task("(i)", whole.loss, weights, whole.engines | lanes)


# -- methods --------------------------------------------------------------------------------


def differences_loop(f: Loss) -> Loss:
    """One-sided, one evaluation after the other."""

    def gradient(x: jax.Array) -> jax.Array:
        moved = jax.lax.map(lambda d: f(x + d), STEP * jnp.eye(x.size))
        return (moved - f(x)) / STEP

    return gradient


def differences_lanes(f: Loss) -> Loss:
    """One-sided, all evaluations side by side."""

    def gradient(x: jax.Array) -> jax.Array:
        values = jax.vmap(f)(x + STEP * jnp.eye(x.size + 1, x.size))
        return (values[:-1] - values[-1]) / STEP

    return gradient


METHODS: dict[str, Callable[[Loss], Loss]] = {
    "value": lambda f: f,
    LOOP: differences_loop,
    LANES: differences_lanes,
    FORWARD: jax.jacfwd,
    REVERSE: jax.grad,
}


def central(f: Loss, x: jax.Array, h: float = 1e-3) -> np.ndarray:
    """Gradient by fourth-order central differences."""
    values = jax.jit(jax.vmap(jax.vmap(f)))(
        x + h * jnp.array([-2.0, -1.0, 1.0, 2.0])[:, None, None] * jnp.eye(x.size)
    )
    a, b, c, d = np.asarray(values)
    return (a - 8 * b + 8 * c - d) / (12 * h)


def apart(found: Any, reference: Any) -> float:
    """Largest difference of the entries, relative to the largest entry."""
    found, reference = np.asarray(found), np.asarray(reference)
    return float(np.max(np.abs(found - reference)) / np.max(np.abs(reference)))


# -- measuring ------------------------------------------------------------------------------


@dataclass
class Timing:
    """A line of the table."""

    problem: str
    method: str
    engine: str
    compile_s: float | None
    run_s: float
    error: float | None
    note: str = ""


def build(make: Callable[[], Loss], x: jax.Array) -> tuple[Loss, float]:
    """Compile from nothing; seconds that takes."""
    jax.clear_caches()
    began = time.perf_counter()
    compiled = jax.jit(make()).lower(x).compile()
    return compiled, time.perf_counter() - began


def median_seconds(runs: list[Loss], x: jax.Array, repeats: int = REPEATS) -> list[float]:
    """Median times of warm calls. The runs take turns, so that a busy moment of the machine does
    not fall on one of them; short calls are timed several together."""

    def seconds(run: Loss, calls: int) -> float:
        began = time.perf_counter()
        for _ in range(calls):
            jax.block_until_ready(run(x))
        return (time.perf_counter() - began) / calls

    for run in runs:
        jax.block_until_ready(run(x))
    calls = [max(1, min(1000, int(5e-3 / seconds(run, 1)))) for run in runs]
    taken = [[seconds(*each) for each in zip(runs, calls, strict=True)] for _ in range(repeats)]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def compiled(of: Task, reference: np.ndarray) -> list[Timing]:
    """Every method on every engine."""
    rows, runs = [], []
    for method, derive in METHODS.items():
        for engine, make in of.engines.items():
            run, seconds = build(lambda d=derive, m=make: d(m()), of.at)
            error = None if method == "value" else apart(run(of.at), reference)
            rows.append(Timing(of.name, method, engine, seconds, 0.0, error))
            runs.append(run)
    for row, took in zip(rows, median_seconds(runs, of.at), strict=True):
        row.run_s = took
    return rows


def uncompiled(of: Task, note: str, reference: np.ndarray) -> Iterator[Timing]:
    """Operation by operation."""
    with jax.disable_jit():
        for method in (LOOP, REVERSE):
            run = METHODS[method](of.loss)
            error = apart(run(of.at), reference)
            took = median_seconds([run], of.at)[0]
            yield Timing(of.name, method, UNCOMPILED, None, took, error, note)


def extrapolated_chain() -> Iterator[Timing]:
    """(ii') operation by operation: a straight line through the times of two short falls."""
    few, more = EAGER_CHAIN
    note = f"extrapolated from {few} and {more} steps, medians of 3"
    with jax.disable_jit():
        for method in (LOOP, REVERSE):
            short, long = (
                median_seconds([METHODS[method](chain_loss(n))], CHAIN_AT, 3)[0]
                for n in EAGER_CHAIN
            )
            took = short + (long - short) / (more - few) * (CHAIN_STEPS - few)
            yield Timing("(ii')", method, UNCOMPILED, None, took, None, note)


def batch_ratio(of: Task) -> float:
    """Kernels, differences in lanes against reverse, when BATCH gradients are wanted at once."""
    noise = 1 + 0.01 * np.random.default_rng(0).standard_normal((BATCH, of.at.size))
    points = of.at * jnp.asarray(noise)
    runs = [
        build(lambda m=method: jax.vmap(METHODS[m](of.engines["kernel"]())), points)[0]
        for method in (LANES, REVERSE)
    ]
    lanes, reverse = median_seconds(runs, points)
    return lanes / reverse


def measure_memory(engine: str, checkpoint: bool) -> None:
    """In a process of its own: how far memory grows during one gradient of (ii')."""
    loss = chain_loss(CHAIN_STEPS, checkpoint=checkpoint)
    if engine == "kernel":
        loss = kernels.compile(loss, CHAIN_AT)
    run = jax.jit(jax.grad(loss)).lower(CHAIN_AT).compile()
    ctypes.CDLL(None).malloc_trim(0)  # what compilation left behind
    Path("/proc/self/clear_refs").write_text("5")  # forgets the peak
    before = _status("VmRSS")
    jax.block_until_ready(run(CHAIN_AT))
    print(json.dumps((_status("VmHWM") - before) / 1024))


def _status(key: str) -> int:
    """KiB, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(x.split()[1]) for x in lines if x.startswith(key))


def peak_memory(engine: str, checkpoint: bool) -> float:
    """MiB."""
    mode = "checkpoint" if checkpoint else "keep"
    command = [sys.executable, __file__, "--memory", engine, mode]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


# -- what is shown --------------------------------------------------------------------------


def table(timings: list[Timing]) -> None:
    """Times of every method, and those of other programs."""
    print(
        f"{'problem':<8} {'method':<20} {'engine':<20} {'compile, s':>10} {'run, ms':>11} "
        f"{'off':>8}"
    )
    for t in timings:
        compile_s = "" if t.compile_s is None else f"{t.compile_s:.2f}"
        error = "" if t.error is None else f"{t.error:.1e}"
        print(
            f"{t.problem:<8} {t.method:<20} {t.engine:<20} {compile_s:>10} "
            f"{1e3 * t.run_s:>11.4g} {error:>8}  {t.note}".rstrip()
        )
    print("off: from fourth-order central differences, relative to the largest entry")
    print("(ii) 5-link chain with contact: not run, waits for the contact models")
    print(
        "\nMeasured elsewhere, thread CPU time on a 2.5 GHz core, ms, for orientation. (i) has one "
        "input,\n(ii) 5 parameters and contact with a plane, (iii) the same 4 parameters and steps."
    )
    print(f"{'':<32} {'(i)':>9} {'(ii)':>9} {'(iii)':>9}")
    for name, seconds in ELSEWHERE.items():
        cells = " ".join(f"{'' if s is None else f'{1e3 * s:.4g}':>9}" for s in seconds)
        print(f"{name:<32} {cells}".rstrip())


def picture(timings: list[Timing], path: Path) -> None:
    """Bars of seconds on a logarithmic scale, a panel per problem."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    titles = {
        "(i)": "(i) network, 175 parameters",
        "(ii')": "(ii') 5 links without contact, 5000 steps",
        "(iii)": "(iii) double pendulum, 500 steps",
    }
    colors = {UNCOMPILED: "0.65", "XLA": "tab:orange", "kernel": "tab:blue"}
    figure = Figure(figsize=(13, 5), layout="constrained")
    FigureCanvasAgg(figure)
    for ax, (problem, title) in zip(figure.subplots(1, 3), titles.items(), strict=True):
        rows = [t for t in timings if t.problem == problem and t.method != "value"]
        bars = [
            (f"{t.method}\n{t.engine}{', ' if t.note else ''}{t.note.partition(' from')[0]}",
             t.run_s, colors.get(t.engine, "tab:cyan"), "//" if t.note else "")
            for t in rows
        ]  # fmt: skip
        if problem == "(iii)":
            bars += [(f"{n}\nelsewhere", s[2], "white", "") for n, s in ELSEWHERE.items() if s[2]]
        for i, (_, seconds, color, hatch) in enumerate(bars):
            bar = ax.barh(i, seconds, color=color, hatch=hatch, edgecolor="0.3", linewidth=0.5)
            ax.bar_label(bar, [f"{1e3 * seconds:.3g} ms"], padding=2, fontsize=6)
        ax.set_yticks(range(len(bars)), [label for label, *_ in bars], fontsize=6)
        ax.invert_yaxis()
        ax.set_xscale("log")
        ax.set_xlim(1e-5, 1e4)
        ax.set_xlabel("time of a gradient (s)")
        ax.set_title(title, fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, metadata={"Date": None})
    print(f"\n{path}")


# -- figures --------------------------------------------------------------------------------


def known_numbers(figures: Figures) -> None:
    """Cost and gradients of two double pendulums that another program has computed."""
    run = jax.jit(jax.value_and_grad(pendulum_loss(500, 0.01)))
    cost, slope = run(PENDULUM_AT)
    error = max(apart(cost, 4.41233338115), apart(slope[:2], [5.794045817, -7.770439104]))
    figures.at_most("known numbers, masses 1 and 1: error", error, 1e-9)
    cost, slope = run(PENDULUM_AT.at[3].set(0.8))
    expected = [-1.023281055, -1.378159811, 0.2739469514, -0.3424336893]
    error = max(apart(cost, 4.15887070574), apart(slope, expected))
    figures.at_most("known numbers, masses 1 and 0.8: error", error, 1e-9)


def agreement(figures: Figures, of: Task) -> None:
    """Automatic derivatives on both engines against central differences."""
    reference = central(of.loss, of.at)
    for method in (FORWARD, REVERSE):
        for engine, make in of.engines.items():
            error = apart(jax.jit(METHODS[method](make()))(of.at), reference)
            figures.at_most(f"{of.name}: {method}, {engine}, off", error, 1e-5)


def ratios(figures: Figures, timings: list[Timing], of: Task, target: float) -> None:
    """How many times longer than reverse mode the differences take, compiled."""
    took = {(t.method, t.engine): t.run_s for t in timings if t.problem == of.name}

    def best(method: str) -> float:
        return min(took[method, engine] for engine in of.engines)

    name = f"{of.name}: best differences in a loop / best reverse"
    figures.at_least(name, best(LOOP) / best(REVERSE), target)
    figures.note(
        f"{of.name}: best differences in lanes / best reverse", best(LANES) / best(REVERSE)
    )
    for engine in of.engines:
        ratio = took[LOOP, engine] / took[REVERSE, engine]
        figures.note(f"{of.name}: differences in a loop / reverse, {engine}", ratio)
    for engine in of.engines:
        ratio = took[REVERSE, engine] / took["value", engine]
        figures.note(f"{of.name}: reverse / value, {engine}", ratio)


def arguments() -> argparse.Namespace:
    parser = Figures.arguments(__doc__ or "")
    default = Path(__file__).resolve().parents[1] / "docs" / "images"
    parser.add_argument("--out", type=Path, default=default, help="folder of the picture")
    parser.add_argument("--memory", nargs=2, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    options = arguments()
    if options.memory:
        measure_memory(options.memory[0], options.memory[1] == "checkpoint")
        return 0
    figures = Figures("E11 run time of gradients", seed=options.seed, json_path=options.json)
    first = kernels.compile(jnp.sin, 1.0)  # the compilers' own start belongs to no problem
    jax.block_until_ready(first(1.0) + jax.jit(jnp.cos)(1.0))

    if options.quick:
        one = network_task(1, options.seed)
        return written(figures, options, compiled(one, central(one.loss, one.at)))

    net = network_task(100, options.seed)
    chain = task("(ii')", chain_loss(CHAIN_STEPS), CHAIN_AT)
    pendulum = task("(iii)", pendulum_loss(PENDULUM_STEPS), PENDULUM_AT)
    short_chain = task(f"(ii'), {SHORT} steps", chain_loss(SHORT), CHAIN_AT)
    eager_pendulum = task("(iii)", pendulum_loss(EAGER_PENDULUM), PENDULUM_AT)

    known_numbers(figures)
    timings: list[Timing] = []
    slope = central(net.loss, net.at)
    timings += uncompiled(net, "", slope)
    timings += compiled(net, slope)
    timings += extrapolated_chain()
    timings += compiled(chain, central(chain.loss, CHAIN_AT, 1e-5))
    slope = central(eager_pendulum.loss, PENDULUM_AT)
    eager = list(uncompiled(eager_pendulum, f"{EAGER_PENDULUM} steps", slope))
    timings += eager
    timings += compiled(pendulum, central(pendulum.loss, PENDULUM_AT))

    for of, target in ((net, 5.0), (chain, 1.0), (pendulum, 1.0)):
        ratios(figures, timings, of, target)
    for of in (chain, pendulum):
        name = f"{of.name}: {BATCH} gradients at once, lanes / reverse"
        figures.at_least(name, batch_ratio(of), 1.0)
    for engine, make in eager_pendulum.engines.items():
        run, _ = build(lambda m=make: jax.grad(m()), PENDULUM_AT)
        ratio = eager[1].run_s / median_seconds([run], PENDULUM_AT)[0]
        name = f"(iii), {EAGER_PENDULUM} steps: reverse not compiled / {engine}"
        figures.at_least(name, ratio, 100)
    for of in (net, short_chain, pendulum):
        agreement(figures, of)
    ends = {e: jax.jit(jax.grad(make()))(CHAIN_AT) for e, make in chain.engines.items()}
    figures.note("(ii'): gradient's largest entry", float(np.max(np.abs(ends["XLA"]))))
    figures.note("(ii'): kernel off XLA after 5000 steps", apart(ends["kernel"], ends["XLA"]))
    for t in timings:
        if t.problem == "(ii')" and t.method == REVERSE and t.compile_s is not None:
            figures.note(f"(ii'): reverse, {t.engine}, off after 5000 steps", t.error or 0.0)
            figures.at_most(f"(ii'): reverse, {t.engine}, run", t.run_s, 60, "s")
    if Path("/proc/self/clear_refs").exists():
        for engine in chain.engines:
            for checkpoint in (True, False):
                name = (
                    f"(ii'): memory of reverse, {engine}, {'' if checkpoint else 'no '}checkpoint"
                )
                figures.note(name, peak_memory(engine, checkpoint), "MiB")
    one = network_task(1, options.seed)
    for engine in ("XLA", "kernel"):
        run, _ = build(lambda m=one.engines[engine]: jax.grad(m()), one.at)
        figures.note(
            f"(i), one input: reverse, {engine}", 1e6 * median_seconds([run], one.at)[0], "us"
        )

    picture(timings, options.out / "gradient_run_time.svg")
    return written(figures, options, timings)


def written(figures: Figures, options: argparse.Namespace, timings: Iterable[Timing]) -> int:
    """Print and write what was found; the exit code."""
    timings = list(timings)
    table(timings)
    holds = figures.finish()
    if options.json:
        path = Path(options.json)
        content = json.loads(path.read_text(encoding="utf-8"))
        write_json(path, content | {"timings": timings})
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
