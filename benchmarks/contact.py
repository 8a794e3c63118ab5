"""Time of a step with contact, beside MuJoCo C in the same run, one thread.

    python benchmarks/contact.py [--assets FOLDER] [--json FILE] [--beside CHECKOUT]

Scenes: a five-link chain that falls on a floor (50 sweeps), the A1 quadruped standing and trotting
on four feet, one simulation and 1024 side by side, and a row of 16 discs (31 contacts) by the
linear complementarity law. MuJoCo simulates the model that `write_mjcf` makes of ours, with its
own contact model. Numbers are microseconds a step, the best of TRIES on both sides; float32, but
for the row of discs. With --beside, another checkout's package is measured in turns with this one,
ROUNDS times each, and the table has the least of both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim import kernels

# Calls take milliseconds, and five of them still scatter by ten percent on a shared machine.
TRIES = 30
LEGS = ("FR", "FL", "RR", "RL")
ROUNDS = 3
SCENES = ("chain", "a1", "discs")
# What was measured: name -> (ours in microseconds, MuJoCo's or None).
FOUND: dict[str, tuple[float, float | None]] = {}


def best(f: Callable[[], Any], tries: int = TRIES) -> float:
    """Seconds of the quickest call, after one that compiles."""
    jax.block_until_ready(f())
    times = []
    for _ in range(tries):
        began = time.perf_counter()
        jax.block_until_ready(f())
        times.append(time.perf_counter() - began)
    return min(times)


def first(f: Callable[[], Any]) -> float:
    """Seconds of the first call, compilation included."""
    began = time.perf_counter()
    jax.block_until_ready(f())
    return time.perf_counter() - began


def chain() -> gs.Model:
    """Five links of 0.5 m and 1 kg, pinned 2 m above a floor, a ball at the end of each."""
    builder = gs.Builder("chain")
    builder.geom("plane", (), name="floor", position=(0, 0, -2.0), friction=0.5)
    for i in range(5):
        at = (0, 0 if i == 0 else 0.5, 0)
        parent = "world" if i == 0 else f"link{i - 1}"
        builder.link(
            f"link{i}", parent, axis=(1, 0, 0), origin=at, mass=1.0, com=(0, 0.5, 0), inertia=0.001
        )
        builder.geom("sphere", 0.05, f"link{i}", (0, 0.5, 0), name=f"ball{i}")
    return builder.build()


def a1(assets: Path) -> tuple[gs.Model, dict[str, float]]:
    """The quadruped above a floor that its toes touch, and its standing pose."""
    model = gs.load(assets / "a1" / "a1_primitives.urdf", base="free", ground=0.0)
    model = gs.model.keep_pairs(model, "ground/*toe*")
    pose = {"root.z": 0.27}
    for leg in LEGS:
        pose |= {
            f"{leg}_hip_joint": 0.0,
            f"{leg}_upper_joint": 0.9,
            f"{leg}_lower_joint": -1.8,
        }
    return held(model, pose), pose


def held(model: gs.Model, pose: dict[str, float]) -> gs.Model:
    """Servos as springs about the pose, so that no controller is part of the measurement."""
    joint, dofs = model.joint, model.tree.dofs
    driven = np.array([d in pose and d != "root.z" for d in dofs])
    rest = np.array(joint.rest)
    for name, angle in pose.items():
        rest[model.tree.coordinates.index(name)] = angle
    dtype = joint.rest.dtype
    joint = replace(
        joint,
        stiffness=jnp.asarray(np.where(driven, 100.0, 0.0), dtype),
        damping=jnp.asarray(np.where(driven, 2.0, 0.0), dtype),
        rest=jnp.asarray(rest, dtype),
    )
    return replace(model, joint=joint)


def discs(n: int) -> gs.Model:
    """A row of discs of radius 10 on a floor, neighbours 0.05 apart."""
    builder = gs.Builder("row", gravity=(0, -100.0, 0))
    half = np.sqrt(0.5)
    builder.geom("plane", (), name="floor", rotation=(half, -half, 0, 0), friction=0.5)
    for i in range(n):
        builder.link(f"disc{i}", joint="planar", axis=(0, 0, 1), mass=1.0, inertia=50.0)
        builder.geom("sphere", 10.0, f"disc{i}", name=f"disc{i}", friction=0.5)
        for j in range(i - 1):
            builder.exclude(f"disc{j}", f"disc{i}")
    return builder.build()


def mujoco_step(model: gs.Model, q: np.ndarray, qd: np.ndarray, dt: float, steps: int) -> float:
    """Seconds of an `mj_step`, the mean over the same motion; the best of TRIES."""
    import mujoco

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xml"
        gs.write_mjcf(model, path)
        mj = mujoco.MjModel.from_xml_path(str(path))
    mj.opt.timestep = dt
    data = mujoco.MjData(mj)
    times = []
    for _ in range(TRIES):
        mujoco.mj_resetData(mj, data)
        data.qpos[:], data.qvel[:] = q, qd
        began = time.perf_counter()
        mujoco.mj_step(mj, data, nstep=steps)
        times.append((time.perf_counter() - began) / steps)
    return min(times)


def row(what: str, ours: float, other: float | None, goal: str) -> None:
    """One line: microseconds, ratio, target."""
    FOUND[what] = 1e6 * ours, None if other is None else 1e6 * other
    ratio = "" if other is None else f"{1e6 * other:9.2f} {other / ours:8.1f}x"
    print(f"{what:44s} {1e6 * ours:10.3f} {ratio:20s} {goal}", flush=True)


def measure_chain() -> None:
    """Falls, slides and lies on the floor: 5000 steps of 1 ms."""
    model, steps = chain(), 5000
    simulator = gs.Simulator(model, 0.001, contact=gs.contact.Complementarity(sweeps=50))
    state = simulator.initial_state()
    other = mujoco_step(model, np.zeros(5), np.zeros(5), 0.001, steps)
    ours = best(lambda: simulator.rollout(state, steps=steps).q) / steps
    row("chain of 5, step", ours, other, ">= 5x")

    def loss(mass: jax.Array) -> jax.Array:
        link = replace(model.link, mass=mass)
        changed = replace(simulator, model=replace(model, link=link))
        return jnp.mean(changed.rollout(state, steps=steps).q[-1])

    gradient = jax.jit(jax.value_and_grad(loss))
    both = best(lambda: gradient(model.link.mass)[1])
    row(f"chain of 5, {steps} steps, value and gradient", both, None, "<= 25,000")


def measure_a1(assets: Path) -> None:
    """Standing, and trotting in place: diagonal pairs of knees driven in turn."""
    model, pose = a1(assets)
    law, steps, batch = gs.contact.Complementarity(), 1000, 1024
    simulator = gs.Simulator(model, 0.002, contact=law, integrator=gs.ImplicitDamping())
    stand = simulator.initial_state(pose)
    trot = replace(stand, qd=stand.qd.at[8].set(4.0).at[17].set(4.0).at[0].set(0.3))
    for name, state in (("standing", stand), ("trotting", trot)):
        q, qd = np.asarray(state.q), np.asarray(state.qd)
        qd = np.concatenate([qd[:3], qd[3:]])
        other = mujoco_step(model, q, qd, 0.002, steps)
        ours = best(lambda state=state: simulator.rollout(state, steps=steps).q) / steps
        row(f"A1 {name}, one simulation", ours, other, ">= 3x")
        noise = 0.1 * jax.random.normal(jax.random.key(0), (batch, len(qd)))
        many = jax.vmap(lambda v, state=state: replace(state, qd=state.qd + v))(noise)
        run = jax.jit(jax.vmap(lambda s: simulator.rollout(s, steps=100).q[-1]))
        side = best(lambda run=run, many=many: run(many)) / 100 / batch
        row(f"A1 {name}, one of {batch}", side, other, ">= 15x")

    def loss(qd: jax.Array) -> jax.Array:
        return jnp.mean(simulator.rollout(replace(stand, qd=qd), steps=100).q ** 2)

    gradient = jax.jit(jax.grad(loss))
    row("A1, gradient of 100 steps, first call (s)", first(lambda: gradient(stand.qd)) / 1e6, None,
        "<= 40")  # fmt: skip
    row("A1, gradient, a step", best(lambda: gradient(stand.qd)) / 100, None, "")


def measure_discs() -> None:
    """Sixteen discs by interior point, float64, 10 steps of 1/30 s."""
    jax.config.update("jax_enable_x64", True)
    n, steps = 16, 10
    model = discs(n)
    law = gs.contact.LinearComplementarity(directions=2)
    simulator = gs.Simulator(model, 1 / 30, contact=law)
    start = {f"disc{i}.x": 20.05 * i for i in range(n)} | {f"disc{i}.y": 10.05 for i in range(n)}
    state = simulator.initial_state(start)
    ours = best(lambda: simulator.rollout(state, steps=steps).q) / steps
    row("16 discs, LCP, step", ours, None, "<= 1,000")
    pull = jax.jit(
        jax.grad(lambda q: jnp.sum(simulator.rollout(replace(state, q=q), steps=steps).q[-1] ** 2))
    )
    both = best(lambda: pull(state.q)) / steps
    row("16 discs, LCP, value and gradient, a step", both, None, "")
    row("16 discs, LCP, the reverse pass alone", both - ours, None, "<= 2,000")


def measure(assets: Path, only: str | None) -> None:
    """This package's rows."""
    print(f"load {os.getloadavg()[0]:.1f}; a ratio is MuJoCo's time over ours")
    print(f"{'':44s} {'us':>10s} {'MuJoCo us':>9s} {'ratio':>9s}  target")
    with kernels.threads(1):
        if only in (None, "chain"):
            measure_chain()
        if only in (None, "a1"):
            measure_a1(assets)
        if only in (None, "discs"):
            measure_discs()


def beside(checkout: Path, assets: Path, only: str | None) -> dict[str, Any]:
    """Least times of both packages, scene by scene in turns."""
    here = Path(gs.__file__).resolve().parents[1]
    found: dict[str, dict[str, float]] = {}
    for scene in SCENES if only is None else (only,):
        for _ in range(ROUNDS):
            for name, source in (("before", checkout / "src"), ("after", here)):
                with tempfile.TemporaryDirectory() as folder:
                    out = Path(folder) / "found.json"
                    command = [sys.executable, __file__, "--assets", assets, "--only", scene]
                    subprocess.run(
                        [*map(str, command), "--json", str(out)],
                        env=os.environ | {"PYTHONPATH": str(source)},
                        stdout=subprocess.DEVNULL,
                        check=True,
                    )
                    times = json.loads(out.read_text(encoding="utf-8"))["us"]
                for row, (ours, _) in times.items():
                    own = found.setdefault(row, {})
                    own[name] = min(ours, own.get(name, ours))
        for times in found.values():
            times["ratio"] = times["after"] / times["before"]
    print(f"{'':44s} {'before us':>12s} {'after us':>12s} {'ratio':>6s}")
    for row, t in found.items():
        print(f"{row:44s} {t['before']:12.3f} {t['after']:12.3f} {t['ratio']:6.2f}")
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    default = os.environ.get("GRAFTSIM_ASSETS", "../shared/assets")
    parser.add_argument("--assets", type=Path, default=Path(default))
    parser.add_argument("--only", choices=SCENES)
    parser.add_argument("--json", type=Path, help="write the numbers there")
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="compare with it")
    args = parser.parse_args()
    if args.beside:
        found: dict[str, Any] = {"beside": beside(args.beside, args.assets.resolve(), args.only)}
    else:
        measure(args.assets, args.only)
        found = {"us": FOUND}
    if args.json:
        args.json.write_text(json.dumps(found, indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
