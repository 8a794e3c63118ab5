"""Large robots beside MuJoCo's `mj_step`, one thread: a step, its gradient, compilation.

    python benchmarks/large_robots.py [--only SCENE ...] [--dtype float32] [--quick] [--json FILE]

Scenes (`scenes.py`): the A1 falling and standing, a standing quadruped, a humanoid of 29 joints, a
hand of 20, two arms of 14 (these three made up: `made_up.py`), chains of 5 to 100 links. "one" is
one simulation, "side" one of 1024 side by side, in microseconds a step; "x mj" is how often it fits
into an `mj_step` of the same scene in the same run (with contact, each engine with its own law).
"grad/fwd" is value and gradient in the initial state over the forward roll-out, side by side.
"compile" is trace and compilation in seconds, nothing cached: forward and gradient side by side,
and the gradient of one simulation. Medians of a few calls, each scene and type in its own process.
"""

from __future__ import annotations

import math
import os
import sys
from argparse import Namespace
from itertools import pairwise

import scenes
from rivals import RIVALS, Measured

import kernels
from graftsim.targets import Figures

CHAINS = (5, 12, 30, 100)
SCENES = ("A1", "standing A1", "standing quadruped", "humanoid", "hand", "dual arm",
          *(f"chain{n}" for n in CHAINS))  # fmt: skip
# Targets in float32.
ONE, SIDE, SLOPE = "one, times mj_step", "side by side, times mj_step", "gradient over forward"
COMPILE = ("compile gradient, s", "compile gradient of one, s")
TARGETS = {
    "A1": {ONE: 8.0, SIDE: 80.0, SLOPE: 5.0} | dict.fromkeys(COMPILE, 3.0),
    "standing A1": {ONE: 6.0, SIDE: 60.0, SLOPE: 6.0} | dict.fromkeys(COMPILE, 8.0),
    "standing quadruped": {SLOPE: 6.0},
    "chain5": {ONE: 15.0, SLOPE: 4.0},
    "chain12": {ONE: 12.0, SLOPE: 4.0},
    "chain30": {SLOPE: 4.0},
    "chain100": {SLOPE: 4.0},
}
HEADER = (
    f"{'scene':<19} {'type':<8} {'mj_step':>8} {'one':>8} {'x mj':>6} {'side':>8} {'x mj':>6} "
    f"{'grad/fwd':>8}  {'compile: forward':>16} {'gradient':>8} {'of one':>8}"
)


def measured(options: Namespace, scene: str, rival: str, dtype: str) -> Measured:
    """One contestant in a process of its own."""
    batch = options.batch if RIVALS[rival].batch else None
    steps = options.steps if batch is None else options.side_steps
    job = {"batch": batch, "dtype": dtype, "gradient": rival != "mj_step"}
    # A call of one simulation has to outlast its own overhead, one of many has not.
    own = Namespace(**vars(options) | {"steps": steps})
    return kernels.measure(RIVALS[rival], scene, job, own)


def measure(options: Namespace, figures: Figures, scene: str) -> None:
    """The lines of a scene: one for each type."""
    reference = measured(options, scene, "mj_step", "float64")
    for dtype in options.dtype:
        one = measured(options, scene, "kernel", dtype)
        side = measured(options, scene, "kernel_batch", dtype)
        for m in (reference, one, side):
            if m.forward is None:
                print(f"{scene:<19} {dtype:<8} {m.note}", flush=True)
                return
        report(figures, scene, dtype, reference, one, side)


def report(
    figures: Figures, scene: str, dtype: str, reference: Measured, one: Measured, side: Measured
) -> None:
    """A line, and its figures beside their targets."""
    assert reference.forward and one.forward and side.forward
    assert side.gradient and side.compile_forward and side.compile_gradient
    assert one.compile_gradient
    times_one, times_side = reference.forward / one.forward, reference.forward / side.forward
    reverse = side.gradient / side.forward
    print(
        f"{scene:<19} {dtype:<8} {reference.forward:8.2f} {one.forward:8.3f} {times_one:6.1f} "
        f"{side.forward:8.4f} {times_side:6.1f} {reverse:8.2f}  {side.compile_forward:16.2f} "
        f"{side.compile_gradient:8.2f} {one.compile_gradient:8.2f}",
        flush=True,
    )
    title = f"{scene}, {dtype}"
    goals = TARGETS.get(scene, {}) if dtype == "float32" else {}
    for name, value, goal in (
        ("mj_step, us", reference.forward, None),
        ("one, us", one.forward, None),
        ("one, times mj_step", times_one, figures.at_least),
        ("side by side, us", side.forward, None),
        ("side by side, times mj_step", times_side, figures.at_least),
        ("gradient over forward", reverse, figures.at_most),
        ("compile forward, s", side.compile_forward, None),
        ("compile gradient, s", side.compile_gradient, figures.at_most),
        ("compile gradient of one, s", one.compile_gradient, figures.at_most),
    ):
        if goal is not None and name in goals:
            goal(f"{title}, {name}", value, goals[name])
        else:
            figures.note(f"{title}, {name}", value)


def growth(figures: Figures, dtypes: list[str]) -> None:
    """Exponents of time against links, between neighbouring chains."""
    found = {row.name: row.value for row in figures.rows}
    for dtype in dtypes:
        for what in ("mj_step, us", "one, us", "side by side, us", "compile gradient, s"):
            for a, b in pairwise(CHAINS):
                x, y = (found.get(f"chain{n}, {dtype}, {what}") for n in (a, b))
                if x and y:
                    name = f"{dtype}, {what.split(',')[0]}, exponent of links {a} to {b}"
                    figures.note(name, math.log(y / x) / math.log(b / a))


def parse() -> Namespace:
    """Options; the rest of what a measurement of `kernels.py` needs is filled in."""
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=SCENES, metavar="SCENE", default=list(SCENES),
                        help=f"of {', '.join(SCENES)}")  # fmt: skip
    parser.add_argument("--dtype", nargs="+", choices=("float32", "float64"),
                        default=["float32", "float64"])  # fmt: skip
    parser.add_argument("--assets", metavar="FOLDER", help="robot files (default: beside the data)")
    options = parser.parse_args()
    full = {"steps": 500, "side_steps": 100, "batch": 1024, "repeats": 7, "patience": 30.0}
    quick = {"steps": 50, "side_steps": 10, "batch": 64, "repeats": 3, "patience": 2.0}
    if options.quick and options.only == list(SCENES):
        options.only, options.dtype = ["chain5", "dual arm"], ["float32"]
    vars(options).update(quick if options.quick else full, limit=900.0)
    options.assets = str(scenes.assets_folder(options.assets))
    return options


def main() -> int:
    options = parse()
    figures = Figures("Large robots", seed=options.seed, json_path=options.json)
    figures.note("load average at the start, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    print(HEADER)
    for scene in options.only:
        measure(options, figures, scene)
    growth(figures, options.dtype)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
