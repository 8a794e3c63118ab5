"""Servos of three real robots: what moves them, from commands and positions alone.

Unitree Go2, AlienGo (legs in the air, trunk clamped) and Z1 (an arm), 200 Hz, 16 s, no torque
measured (`unitree_servo` under GRAFTSIM_DATA, BSD-3-Clause). Damping, friction, armature, encoder
zeros and one delay for all are fitted. Go2: to run 0; runs 4 and 5 are then predicted in open loop
over their whole length. AlienGo and Z1: to their first 11 s; the last 5 s judge. `--judge FOLDER`:
recordings of the same names that nobody has seen.

The Z1's log has a commanded torque that is no feed-forward: it is kp (command - position) - kd
velocity to 2 mN m, so the servo gives it anyway, and it is left out. Its gripper closes against a
stop at -0.06 rad, short of the file's limit of 0.05, which counts as its limit here.

Then what is left: a graft that multiplies the friction of each joint by a function of its angle.

`--delays`: the Go2's delay held at 0, 4 and 8 ms instead, beside a fit in which it is free: what a
delay that is not free does to the rotors, as the fit without it says and as it is.

`--rival PYTHON`: `mujoco.sysid` on the Go2's problem too, in a Python with mujoco[sysid].
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

import jax
import jax.numpy as jnp
import numpy as np

import graftsim as gs
from graftsim.identify.problem.windows import Cutting, cut
from graftsim.targets import Figures

ROBOTS = ("aliengo", "z1", "go2")
DT, SUBSTEPS = 0.005, 5
# The files have no passive numbers.
START = {"joint.damping": 0.1, "joint.friction": 0.1, "joint.armature": 0.01,
         "joint.friction_velocity": 0.1}  # fmt: skip
FREE: dict[str, Any] = {
    "joint.damping[*]": gs.Positive(),
    "joint.friction[*]": gs.Positive(),
    "joint.armature[*]": gs.Positive(),
    "actuator.zero[*]": gs.Unbounded(),
}
# Longest delay (s) that is looked for: an arm on a table may be slower than a leg.
LONGEST = {"aliengo": 0.02, "go2": 0.02, "z1": 0.06}
FITTED_SECONDS = 11.0
RIVAL = Path(__file__).resolve().parents[1] / "benchmarks" / "rivals" / "servo_sysid.py"
# Where the gripper of the Z1 stands when it is closed (rad), and a stiff stop (N m/rad, s/rad).
STOP = {"joint.upper": -0.0595, "joint.limit_stiffness": 2000.0, "joint.limit_damping": 0.05}


def folders() -> tuple[Path, Path]:
    """Recordings and robot files."""
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "unitree_servo"
    return data, Path(os.environ.get("GRAFTSIM_ASSETS", "../shared/assets")) / "unitree"


def simulator(robot: str) -> gs.Simulator:
    """A robot on its stand, with numbers to start from."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        model = gs.load(folders()[1] / f"{robot}.xml")
    for name, value in START.items():
        model = gs.model.with_leaf(model, name, jnp.full(model.nv, value))
    for name, value in STOP.items() if "jointGripper" in model.tree.dofs else ():
        every = gs.model.leaf(model, name)
        closed = every.at[model.tree.dofs.index("jointGripper")].set(value)
        model = gs.model.with_leaf(model, name, closed)
    return gs.Simulator(model, DT, substeps=SUBSTEPS, integrator=gs.ImplicitDamping())


def read(path: Path, model: gs.Model) -> gs.Recording:
    """Positions and commanded positions of a run; its speeds are made from the positions."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        recording = gs.read_recording(path, robot=model)
    commands = [f"control[{name}]" for name in model.actuator.names]
    return recording.select(*(n for n in recording if n.startswith("joint.q[") or n in commands))


def problem(robot: str, of: gs.Simulator, recording: gs.Recording) -> gs.Problem:
    """The fit of one recording."""
    delay = gs.Bounds(0.0, LONGEST[robot], shared=True)
    return gs.Problem(of, recording, FREE | {"actuator.delay[*]": delay}, holdout=0.0)


def open_loop(of: gs.Simulator, recording: gs.Recording, joints: tuple[str, ...]) -> float:
    """RMS (mrad) over all joints of a whole recording, simulated from its first sample."""
    names = [f"joint.q[{joint}]" for joint in joints]
    channel = recording[names[0]]
    length = float(channel.time[-1] - channel.time[0]) - DT
    posed = gs.Problem(
        of, recording, (), sensors=names, holdout=0.0, horizon=length, growth=(1.0,),
        initial="measured", noise=dict.fromkeys(names, 1e-3),
    )  # fmt: skip
    of, model = posed.simulator, posed.simulator.model
    how = Cutting(DT, length, back=of.back, limit=1)
    windows = cut(model, posed.setup.sensors, [recording], how)
    start = (jnp.asarray(x[0]) for x in (windows.q0, windows.qd0))
    state = gs.State(*start, act=jnp.zeros(model.actuator.na))
    q = np.asarray(of.rollout(state, windows.controls[0]).q)
    t = windows.start[0] + DT * np.arange(len(q))
    rows = [model.tree.dofs.index(joint) for joint in joints]
    errors = [np.interp(recording[n].time, t, q[:, r]) - recording[n].values[:, 0]
              for n, r in zip(names, rows, strict=True)]  # fmt: skip
    return 1e3 * float(np.sqrt(np.mean(np.square(errors))))


def fitted(figures: Figures, name: str, posed: gs.Problem) -> gs.Result:
    """A fit, its seconds, and what it says of the delay."""
    began, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        result = gs.fit(posed, local=gs.LevenbergMarquardt(iterations=100))
    figures.note(f"{name}: fit", time.perf_counter() - began, "s")
    figures.note(f"{name}: fit, CPU time", time.process_time() - spent, "s")
    delay = next(r for r in result.parameters if r.name.startswith("actuator.delay"))
    figures.note(f"{name}: delay", 1e3 * delay.value, "ms")
    figures.note(f"{name}: delay, standard deviation", 1e3 * delay.std, "ms")
    print(result)
    for said in result.warnings[:6]:
        print(f"  {said}")
    return result


def rival(python: str, fitted: str, runs: dict[str, gs.Recording]) -> dict[str, Any]:
    """What `mujoco.sysid` finds in the Go2's log `fitted`, and its errors over all runs."""
    model = simulator("go2").model
    joints, servos = model.tree.dofs, model.actuator.names
    logs: dict[str, Any] = {"joints": joints, "actuators": servos, "fitted": fitted, "dt": DT}
    for name, run in runs.items():
        q = np.stack([run[f"joint.q[{j}]"].values[:, 0] for j in joints], 1)
        u = np.stack([run[f"control[{a}]"].values[:, 0] for a in servos], 1)
        logs |= {f"{name}.q": q, f"{name}.u": u, f"{name}.qd": np.gradient(q, DT, axis=0)}
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        np.savez(place / "logs.npz", **logs)
        files = [folders()[1] / "go2.xml", place / "logs.npz", place / "out.json"]
        subprocess.run([python, str(RIVAL), *map(str, files)], check=True)
        return json.loads((place / "out.json").read_text())


def beside(figures: Figures, python: str, log: gs.Recording, runs: dict[str, gs.Recording]) -> None:
    """Figures of the rival."""
    found = rival(python, "fitted", {"fitted": log, **runs})
    errors = found["errors"]
    figures.note("Go2: mujoco.sysid, CPU time", found["cpu"], "s")
    figures.note("Go2: mujoco.sysid, iterations", found["iterations"])
    figures.note("Go2: mujoco.sysid, delay", 1e3 * found["numbers"]["delay"], "ms")
    figures.note("Go2: mujoco.sysid, open loop, run 0", errors.pop("fitted"), "mrad")
    for name, value in errors.items():
        figures.note(f"Go2: mujoco.sysid, open loop, {name}", value, "mrad")
    total = float(np.sqrt(np.mean(np.square(list(errors.values())))))
    figures.note("Go2: mujoco.sysid, open loop, unseen runs", total, "mrad")


def with_graft(of: gs.Simulator) -> gs.Simulator:
    """Friction of each joint times a function of its angle, which starts as one."""
    graft = gs.Graft("joint.tau_friction[*]", "joint.q[*]", gs.MLP(8), mode="scale",
                     shared=False, name="friction")  # fmt: skip
    return of.graft(gs.Blueprint(graft), key=jax.random.key(0))


def go2(figures: Figures, quick: bool, judge: Path | None, python: str = "") -> None:
    """Run 0 fitted; runs 4 and 5, or those of `judge`, predicted."""
    start, data = simulator("go2"), folders()[0]
    joints = start.model.tree.dofs
    log = read(data / "go2_run0.npz", start.model)
    log = log.trim(0.0, 2.0) if quick else log
    result = fitted(figures, "Go2", problem("go2", start, log))
    fresh = sorted(judge.glob("go2*.npz")) if judge else [data / f"go2_run{k}.npz" for k in (4, 5)]
    runs = {path.stem: read(path, start.model) for path in fresh}
    figures.note("Go2: open loop, run 0", open_loop(result.simulator, log, joints), "mrad")
    errors = {}
    for name, run in runs.items():
        errors[name] = open_loop(result.simulator, run, joints)
        figures.note(f"Go2: open loop, {name}", errors[name], "mrad")
        figures.note(f"Go2: open loop, {name}, start", open_loop(start, run, joints), "mrad")
    total = float(np.sqrt(np.mean(np.square(list(errors.values())))))
    figures.at_most("Go2: open loop, unseen runs", total, 3.0, "mrad")
    if python:
        beside(figures, python, log, runs)
    if quick:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        more = gs.fit(problem("go2", with_graft(result.simulator), log))
    after = [open_loop(more.simulator, run, joints) for run in runs.values()]
    figures.note(
        "Go2: open loop, unseen runs, with friction that depends on the angle",
        float(np.sqrt(np.mean(np.square(after)))), "mrad",
    )  # fmt: skip


def late(of: gs.Simulator, delay: float) -> gs.Simulator:
    """A simulator whose actuators have a delay (s)."""
    a = of.model.actuator
    a = replace(a, delay=jnp.full(len(a.names), delay), longest_delay=(delay,) * len(a.names))
    model = replace(of.model, actuator=a)
    return gs.Simulator(model, DT, substeps=SUBSTEPS, integrator=gs.ImplicitDamping())


def delays(figures: Figures) -> None:
    """Rotors of the Go2 in fits with the delay held, and what the intervals say of them."""
    start = simulator("go2")
    log = read(folders()[0] / "go2_run0.npz", start.model)
    free = fitted(figures, "Go2", problem("go2", start, log))
    local = gs.LevenbergMarquardt(iterations=100)
    held = {}
    for ms in (0, 4, 8):
        of = late(start, 1e-3 * ms) if ms else start
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.GraftsimWarning)
            held[ms] = gs.fit(gs.Problem(of, log, FREE, holdout=0.0), local=local)
        cost = held[ms].history[-1].cost / free.history[-1].cost
        figures.note(f"Go2, delay {ms} ms: cost over that of the free delay", cost)
    rows = {r.name: r for r in free.parameters}
    for ms, result in held.items():
        inside = [rows[r.name].low_with_file <= r.value <= rows[r.name].high_with_file
                  for r in result.parameters]  # fmt: skip
        rotors = [ok for r, ok in zip(result.parameters, inside, strict=True)
                  if r.name.startswith("joint.armature")]  # fmt: skip
        figures.note(f"Go2, delay {ms} ms: within the intervals with file, delay free", sum(inside))
        figures.note(f"Go2, delay {ms} ms: rotors within them", sum(rotors))
    delayed = [w for w in held[0].withheld if w.name.startswith("actuator.delay")]
    said, true = [], []
    later = {r.name: r.value for r in held[8].parameters}
    for row in held[0].parameters:
        if row.name.startswith("joint.armature") and row.value > 0.01:
            shift = np.sqrt(sum(w.moves[row.name] ** 2 for w in delayed))
            said.append(float(shift) / row.value)
            true.append(abs(later[row.name] - row.value) / row.value)
            inside = row.low_with_file <= later[row.name] <= row.high_with_file
            figures.note(f"Go2, delay not freed: {row.name} at 8 ms within its interval", inside)
    figures.note(
        "Go2, delay not freed: it may move rotors by, said, median", float(np.median(said))
    )
    figures.note("Go2: 8 ms move rotors by, median", float(np.median(true)))


def other(figures: Figures, robot: str, quick: bool, judge: Path | None) -> None:
    """The beginning fitted, the end predicted."""
    start, data = simulator(robot), folders()[0]
    joints = start.model.tree.dofs
    log = read(data / f"{robot}_run0.npz", start.model)
    seconds = 2.0 if quick else FITTED_SECONDS
    result = fitted(figures, robot, problem(robot, start, log.trim(0.0, seconds)))
    rest = {"the rest": log.trim(FITTED_SECONDS, float(log.overlap[1]))}
    if judge:
        rest |= {p.stem: read(p, start.model) for p in sorted(judge.glob(f"{robot}*.npz"))}
    for name, run in rest.items():
        figures.note(
            f"{robot}: open loop, {name}", open_loop(result.simulator, run, joints), "mrad"
        )
        figures.note(f"{robot}: open loop, {name}, start", open_loop(start, run, joints), "mrad")


def main() -> int:
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--judge", type=Path, metavar="FOLDER", help="recordings not seen so far")
    parser.add_argument("--rival", metavar="PYTHON", default="", help="with mujoco[sysid]")
    parser.add_argument("--only", choices=ROBOTS, help="one robot alone")
    parser.add_argument("--delays", action="store_true", help="the Go2's delay held, and no more")
    options = parser.parse_args()
    figures = Figures("Servos of real robots", seed=options.seed, json_path=options.json)
    if options.delays:
        delays(figures)
        return 0 if figures.finish() else 1
    for robot in ROBOTS if options.only is None else (options.only,):
        if robot == "go2":
            go2(figures, options.quick, options.judge, options.rival)
        else:
            other(figures, robot, options.quick, options.judge)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    raise SystemExit(main())
