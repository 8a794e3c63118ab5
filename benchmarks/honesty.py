"""Do intervals hold where the file is wrong? Small fits to logs of machines that differ from it.

Each case is an arm whose truth differs from the file that is fitted, at random with a recorded
seed: not at all; in all numbers of the file by their plausible errors; by an effect that the model
lacks (spring, dry friction, drag, ripple, a delay), of plausible size; by both; or by an effect
that is on no list of the fit (a constant torque, friction that depends on the direction, more
friction at rest). Counted are the numbers called "identified" or "conditional": how
often the truth lies within the 95 % interval if the file is right, and within the one if it may be
wrong, and how far outside it lies at worst.

    python benchmarks/honesty.py [--cases 300] [--rows FILE] [--json FILE]

`--rows`: cases are written there as they end, and those that stand there are not run again.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.engine.rollout import scan_steps
from graftsim.identify.words import Status
from graftsim.model.catalogue import leaf as leaf_of, with_leaf
from graftsim.model.model import Model
from graftsim.targets import Figures

DT, SUBSTEPS, SECONDS, NOISE = 0.005, 2, 6.0, 5e-4
KINDS = ("right", "numbers", "effect", "both", "unlisted")
SHARES = (0.2, 0.3, 0.25, 0.1, 0.15)
LISTED = ("spring", "friction", "drag", "ripple", "delay")
UNLISTED = ("offset", "one-sided friction", "dead band")
# Plausible shares of the torque that moves a joint: see `graftsim.identify.doubt.standard`.
SIZE = {"spring": 0.1, "friction": 0.1, "drag": 0.05, "ripple": 0.03, "offset": 0.05,
        "one-sided friction": 0.1, "dead band": 0.1}  # fmt: skip


class Machine(NamedTuple):
    """A file, what is free in a fit of it, and whether it has servos."""

    model: Model
    free: Mapping[str, Any]
    servos: bool


def machines() -> dict[str, Machine]:
    """One arm under torque with two choices of what is free, and two links with servos."""

    def arm(links: int, drive: str, **numbers: Any) -> Model:
        builder = gs.Builder(f"{links} links")
        above = "world"
        for k in range(links):
            builder.link(
                f"l{k}", above, axis=(0, 1, 0), origin=(0.3 if k else 0.0, 0, 0),
                mass=1.2 - 0.4 * k, com=(0.15, 0, 0.01), inertia=(0.002, 0.01, 0.01),
                armature=0.02, damping=0.15, friction=0.05, friction_velocity=0.05,
            )  # fmt: skip
            builder.actuator(f"l{k}", f"l{k}", drive, **numbers)
            above = f"l{k}"
        return builder.build()

    rotor = {"joint.armature[*]": gs.Positive(), "joint.damping[*]": gs.Positive()}
    torque = arm(1, "torque")
    return {
        "torque, rotor": Machine(torque, rotor, False),
        "torque, mass": Machine(torque, rotor | {"link.mass[*]": gs.Positive()}, False),
        "servo, rotor": Machine(arm(2, "position", kp=40.0, kd=0.8),
                                rotor | {"joint.friction[*]": gs.Positive()}, True),
    }  # fmt: skip


class Truth(NamedTuple):
    """What a machine has that its file has not: numbers by leaf, effects by name, a delay (s)."""

    numbers: dict[str, np.ndarray]
    effects: dict[str, np.ndarray]
    delay: float


def drawn(machine: Machine, kind: str, rng: np.random.Generator) -> tuple[Truth, str]:
    """A truth of a kind, and what it is called."""
    m, n = machine.model, machine.model.nv
    numbers: dict[str, np.ndarray] = {}
    effects: dict[str, np.ndarray] = {}
    delay, label = 0.0, kind
    if kind in ("numbers", "both"):
        numbers = {
            "link.mass": m.link.mass * (1 + 0.05 * rng.normal(size=n)),
            "link.com": m.link.com + 0.0045 * rng.normal(size=(n, 3)),
            "link.inertia": m.link.inertia * (1 + 0.2 * rng.uniform(-1, 1, size=(n, 1))),
        }
        if machine.servos:
            numbers |= {k: getattr(m.actuator, k.split(".")[1]) * (1 + 0.05 * rng.normal(size=n))
                        for k in ("actuator.kp", "actuator.kd")}  # fmt: skip
            numbers["actuator.zero"] = np.deg2rad(0.5) * rng.normal(size=n)
        else:
            numbers["actuator.gain"] = m.actuator.gain * (1 + 0.05 * rng.normal(size=n))
        free = {text.split("[")[0] for text in machine.free}
        numbers = {k: np.asarray(v) for k, v in numbers.items() if k not in free}
    if kind in ("effect", "both", "unlisted"):
        label = str(rng.choice(UNLISTED if kind == "unlisted" else LISTED))
        if label == "friction" and "joint.friction[*]" in machine.free:
            label = "spring"
        if label == "delay":
            delay = abs(0.01 * rng.normal())
        else:
            effects[label] = SIZE[label] * rng.normal(size=n)
    return Truth(numbers, effects, delay), label


def torque_of(effects: Mapping[str, Any], typical: Any) -> Callable[[Any, Any], Any]:
    """What effects add to the joints' torques; their sizes are shares of the typical torque."""

    def total(tau: Any, scope: Any) -> Any:
        q, qd = scope["joint.q"], scope["joint.qd"]
        sign = jnp.tanh(qd / 0.05)
        shapes = {
            "spring": -(q - 0.2) / 0.4,
            "friction": -sign,
            "drag": -qd * jnp.abs(qd) / 4.0,
            "ripple": jnp.sin(6.0 * q + 0.7),
            "offset": jnp.ones_like(q),
            "one-sided friction": -jnp.maximum(sign, 0.0),
            "dead band": -sign * jnp.exp(-((qd / 0.3) ** 2)),
        }
        sizes = {k: jnp.abs(x) if "friction" in k else x for k, x in effects.items()}
        return tau + sum(sizes[k] * typical * shapes[k] for k in effects)

    return total


def commands(machine: Machine, rng: np.random.Generator) -> np.ndarray:
    """Sums of sines and steps [t, nu]."""
    t = DT * np.arange(round(SECONDS / DT))
    n = machine.model.nv
    u = np.zeros((len(t), n))
    for j in range(n):
        for f in (0.3, 0.9, 2.1):
            u[:, j] += rng.normal() / (1 + f) * np.sin(2 * np.pi * f * t + rng.uniform(0, 6.3))
        u[:, j] += np.repeat(rng.normal(0, 0.3, -(-len(t) // 120)), 120)[: len(t)]
    return 0.5 * u if machine.servos else 2.0 * u


def log_of(machine: Machine, truth: Truth, rng: np.random.Generator) -> gs.Recording | None:
    """What the true machine does, with noise; None where it runs away."""
    model = machine.model
    for name, value in truth.numbers.items():
        model = with_leaf(model, name, jnp.asarray(value))
    of = gs.Simulator(model, DT, substeps=SUBSTEPS, integrator=gs.ImplicitDamping())
    u = commands(machine, rng)
    late = u
    if truth.delay:
        # Held commands, late by whole steps and a rest: the mean of what acts in each step.
        whole, rest = divmod(truth.delay / DT, 1.0)
        index = np.arange(len(u))[:, None] - np.array([whole, whole + 1]).astype(int)
        a, b = (u[np.maximum(i, 0)] for i in index.T)
        late = (1 - rest) * a + rest * b
    typical = jnp.asarray(2.0 if machine.servos else 1.0)
    effects = {k: jnp.asarray(v) for k, v in truth.effects.items()}
    run = _simulated(of, jnp.asarray(late), effects, typical)
    q = np.asarray(run.q)
    if not np.isfinite(q).all():
        return None
    columns: dict[str, Any] = {"time": np.asarray(run.time)}
    mapping = {}
    for j, name in enumerate(model.tree.dofs):
        columns[f"q{j}"] = q[:, j] + NOISE * rng.normal(size=len(q))
        columns[f"u{j}"] = np.append(u[:, j], u[-1, j])
        mapping |= {f"joint.q[{name}]": f"q{j}", f"control[{name}]": f"u{j}"}
    return gs.recording_from_arrays(columns, mapping, name="log", time="time")


@jax.jit
def _simulated(of: gs.Simulator, u: Any, effects: Mapping[str, Any], typical: Any) -> Any:
    change = {"joint.tau": torque_of(effects, typical)} if effects else None
    return scan_steps(of, of.initial_state(), u, (), change)


class Counted(NamedTuple):
    """A number that a fit says is known: distances from the truth in deviations, and a name."""

    name: str
    status: Status
    right: float
    with_file: float


def judged(machine: Machine, truth: Truth, recording: gs.Recording) -> list[Counted]:
    """Each number of a fit against the truth."""
    start = machine.model
    for text in machine.free:
        leaf = text.split("[")[0]
        value = leaf_of(start, leaf)
        start = with_leaf(start, leaf, 1.3 * value)
    of = gs.Simulator(start, DT, substeps=SUBSTEPS, integrator=gs.ImplicitDamping())
    noise = {f"joint.q[{d}]": NOISE for d in start.tree.dofs}
    problem = gs.Problem(of, recording, machine.free, noise=noise, holdout=0.0)
    result = gs.fit(problem)
    out = []
    for row in result.parameters:
        if row.status not in (Status.IDENTIFIED, Status.CONDITIONAL) or not np.isfinite(row.std):
            continue
        leaf, label = row.name[:-1].split("[")
        index = list(start.tree.dofs).index(label)
        true = float(np.asarray(truth.numbers.get(leaf, leaf_of(machine.model, leaf)))[index])
        wide = row.std_with_file if np.isfinite(row.std_with_file) else row.std
        off = row.value - true
        out.append(Counted(row.name, row.status, off / row.std, off / wide))
    return out


def report(figures: Figures, found: Mapping[tuple[str, str], Sequence[Counted]]) -> None:
    """Coverage by kind, and overall where the nuisance is on the list."""
    print(
        f"{'kind':28} numbers  called identified   within 95 %: file right   may be wrong   worst"
    )
    groups: dict[str, list[Counted]] = defaultdict(list)
    for (kind, label), rows in found.items():
        groups[f"{kind}: {label}" if kind != label else kind] += rows
        groups["all on the list" if kind != "unlisted" else "all not on the list"] += rows
    for name in sorted(groups):
        rows = groups[name]
        if not rows:
            continue
        plain = np.abs([c.right for c in rows])
        wide = np.abs([c.with_file for c in rows])
        called = 100 * np.mean([c.status == Status.IDENTIFIED for c in rows])
        inside, with_file = (100 * np.mean(x < 1.96) for x in (plain, wide))
        print(f"{name:28} {len(rows):7} {called:16.0f} % {inside:24.1f} %"
              f" {with_file:13.1f} % {wide.max():7.1f}")  # fmt: skip
        figures.note(f"{name}: within the interval, file right", inside, "%")
        figures.note(f"{name}: within the interval with file", with_file, "%")
        figures.note(f"{name}: farthest, interval with file", float(wide.max()), "deviations")
    on = np.abs([c.with_file for c in groups["all on the list"]])
    figures.at_least(
        "on the list: within the interval with file", 100 * np.mean(on < 1.96), 90, "%"
    )
    figures.at_most("on the list: within the interval with file", 100 * np.mean(on < 1.96), 99, "%")
    figures.at_most("on the list: farthest, interval with file", float(on.max()), 4, "deviations")
    if groups["right"]:
        right = 100 * np.mean(np.abs([c.right for c in groups["right"]]) < 1.96)
        figures.at_least("right models: within the interval", right, 92, "%")
        figures.at_most("right models: within the interval", right, 98, "%")


class Case(NamedTuple):
    """What a case is about, and what was found."""

    kind: str
    label: str
    found: list[Counted]


def run(case: int, seed: int) -> Case:
    """Draw a case, simulate it, fit it."""
    rng, all_of = np.random.default_rng([seed, case]), machines()
    name = list(all_of)[case % len(all_of)]
    machine, kind = all_of[name], str(rng.choice(KINDS, p=SHARES))
    truth, label = drawn(machine, kind, rng)
    # A drag with the wrong sign is a motor that runs away: such a machine is drawn again.
    while (log := log_of(machine, truth, rng)) is None:
        truth, label = drawn(machine, kind, rng)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        rows = judged(machine, truth, log)
    for c in rows:
        if abs(c.with_file) > 4:
            print(f"case {case}, {name}, {label}: {c.name} off by {c.with_file:.1f} deviations "
                  f"with the file, {c.right:.1f} without", flush=True)  # fmt: skip
    return Case(kind, label, rows)


def cases_of(seed: int, count: int, file: Path | None) -> list[Case]:
    """Cases of a seed, those that a file has read from there."""
    known = {}
    if file is not None and file.exists():
        for line in file.read_text(encoding="utf-8").splitlines():
            at, case, kind, label, rows = json.loads(line)
            if at == seed:
                found = [Counted(n, Status(status), *x) for n, status, *x in rows]
                known[case] = Case(kind, label, found)
    for case in range(count):
        if case not in known:
            known[case] = run(case, seed)
            if file is not None:
                with file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps([seed, case, *known[case]]) + "\n")
    return [known[case] for case in range(count)]


def main() -> None:
    """Draw the cases, fit them, count."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--rows", type=Path, metavar="FILE", help="cases that are done, and to be")
    options = parser.parse_args()
    count = 3 if options.quick else options.cases
    figures = Figures("Honesty about the file", seed=options.seed, json_path=options.json)
    found: dict[tuple[str, str], list[Counted]] = defaultdict(list)
    began = time.process_time()
    for case in cases_of(options.seed, count, options.rows):
        found[case.kind, case.label] += case.found
    report(figures, found)
    figures.note("CPU time of a case", (time.process_time() - began) / count, "s")
    figures.finish()


if __name__ == "__main__":
    main()
