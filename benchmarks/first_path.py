"""A first reader's path, step by step in seconds: from the wheel to a fitted robot of their own.

An empty environment is made and the wheel installed in it; then come the README's first command
and the steps of "Your own robot", with an arm of two joints, whose file has half of the damping
that its logs were made with, and logs with names and degrees of a driver's own. --quick: in the
environment that is there.

    python benchmarks/first_path.py [--keep FOLDER] [--json FILE]
"""

from __future__ import annotations

import json
import resource
import shutil
import sys
import tempfile
import time
from pathlib import Path

from versions import ROOT, build, run

from graftsim.targets import Figures

TRUE = 0.1  # N m s/rad
LOGS = ("drive1.csv", "drive2.csv")
# The reader's machine: its robot file and two logs as a driver writes them.
MACHINE = """
import sys
sys.path.insert(0, "TESTS")
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
import machine
import graftsim as gs
gs.write_mjcf(machine.arm(), "robot.xml")
true = gs.Simulator(machine.arm(machine.DAMPING), machine.DT, substeps=5)
for seed in (1, 2):
    log = machine.log(true, seed)
    columns = {"time": log["joint.q[elbow]"].time}
    for name in machine.NAMES:
        columns[f"{name}_position"] = np.degrees(log[f"joint.q[{name}]"].values[:, 0])
        columns[f"{name}_torque_cmd"] = log[f"control[{name}]"].values[:, 0]
    np.savetxt(f"drive{seed}.csv", np.stack(list(columns.values()), 1), delimiter=",",
               header=",".join(columns), comments="")
"""


def steps(command: list[str], install: dict[str, list[str]]) -> dict[str, list[str]]:
    """What the reader types, by what it is for."""
    fit = [*command, "fit", "--run", "run.toml", "--out", "out", "--free", "joint.damping[*]"]
    watch = ["simulate", "out/robot.xml", "--q", "elbow=1", "--view", "motion.html"]
    return {
        **install,
        "the README's fit": [*command, "fit", "--run", "examples/double_pendulum/fit.toml"],
        "look at the robot file": [*command, "inspect", "robot.xml"],
        "name the columns": [*command, "import", *LOGS, "--robot", "robot.xml"],
        "look at the logs": [*command, "check", "--run", "run.toml"],
        "fit it": fit,
        "fit it with friction": [*fit, "joint.friction[*]"],
        "watch it": [*command, *watch],
    }


def processor() -> float:
    """Seconds of processors that finished children have used."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def walked(folder: Path, there: str, typed: dict[str, list[str]]) -> dict[str, tuple[float, float]]:
    """Seconds of each step by the clock and of processors. there: what makes the machine."""
    shutil.copytree(ROOT / "examples/double_pendulum", folder / "examples/double_pendulum")
    made = {}
    for name, step in typed.items():
        if name == "look at the robot file":
            run([there, "-c", MACHINE.replace("TESTS", str(ROOT / "tests/docs"))], folder)
        began, used = time.perf_counter(), processor()
        run(step, folder)
        made[name] = time.perf_counter() - began, processor() - used
        print(f"{name:<24}{made[name][0]:7.1f} s, of processors {made[name][1]:.1f} s", flush=True)
    return made


def main() -> int:
    """The path, and whether it leads to the damping that the logs were made with."""
    parser = Figures.arguments(__doc__ or "")
    parser.add_argument("--keep", help="folder for what the reader has in the end")
    arguments = parser.parse_args()
    figures = Figures("First path", seed=arguments.seed, json_path=arguments.json)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        there, install = sys.executable, {}
        if not arguments.quick:
            there, wheel = str(folder / "env/bin/python"), build(folder)[0]
            install = {
                "make an environment": [sys.executable, "-m", "venv", "env"],
                "install": [there, "-m", "pip", "install", "-q", f"{wheel}[report]"],
            }
        made = walked(folder, there, steps([there, "-m", "graftsim"], install))
        fitted = json.loads((folder / "out/fit.json").read_text(encoding="utf-8"))
        if arguments.keep:
            for name in ("env", "builder", "dist", "kernels"):
                shutil.rmtree(folder / name, ignore_errors=True)
            shutil.copytree(folder, arguments.keep, dirs_exist_ok=True)
    for step, (seconds, used) in made.items():
        figures.note(step, seconds, "s")
        figures.note(f"{step}, of processors", used, "s")
    whole = sum(seconds for seconds, _ in made.values())
    figures.at_most("the whole path", whole, 600.0, "s")
    damping = [x for x in fitted["parameters"] if x["name"].startswith("joint.damping")]
    off = max(abs(x["value"] - TRUE) / x["std"] for x in damping)
    figures.at_most("error of the damping, in its standard deviations", off, 3.0)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
