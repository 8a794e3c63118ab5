"""CPU-seconds of a fit of a real robot, on an idle machine and on one whose cores are all busy.

    python benchmarks/busy.py [--json FILE] [--beside CHECKOUT]

A Unitree Go2, trunk clamped, 16 s of position servos at 200 Hz (`unitree_servo` under
GRAFTSIM_DATA): damping, friction and armature of its 12 joints from joint angles. Each fit is a
process of its own, start and compilation included, with the kernel cache as it is found. Users'
machines are busy: threads that wait by spinning cost others, and then themselves, the cores.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("JAX_ENABLE_X64", "1")

# Only what older checkouts have too, so that --beside can run this file on them.
JOINTS = tuple(
    f"{leg}_{part}" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")
)
START = {"joint.damping": 0.1, "joint.friction": 0.1, "joint.armature": 0.01}
SPIN = "while True: pass"


def fit() -> None:
    """The fit; prints its outcome and the RMS of held-out windows."""
    import warnings

    import jax.numpy as jnp
    import numpy as np

    import graftsim as gs

    warnings.simplefilter("ignore")
    data = Path(os.environ.get("GRAFTSIM_DATA", "../shared/data")) / "unitree_servo"
    assets = Path(os.environ.get("GRAFTSIM_ASSETS", "../shared/assets"))
    model = gs.load(assets / "unitree" / "go2.xml")
    # The file has no passive numbers.
    for name, value in START.items():
        model = gs.model.with_leaf(model, name, jnp.full(model.nv, value))
    log = np.load(data / "go2_run0.npz")
    arrays = {"time": log["time"]}
    columns: dict[str, Any] = {}
    for i, joint in enumerate(JOINTS):
        for what, channel in (("joint_position", f"joint.q[{joint}_joint]"),
                              ("commanded_position", f"control[{joint}]")):  # fmt: skip
            arrays[f"{what}{i}"] = log[what][:, i]
            columns[channel] = f"{what}{i}"
    recording = gs.recording_from_arrays(arrays, columns, name="run 0", time="time")
    simulator = gs.Simulator(model, 0.005, contact=None, integrator=gs.ImplicitDamping())
    result = gs.fit(
        gs.Problem(simulator, [recording], {f"{name}[*]": gs.Positive() for name in START})
    )
    error = np.sqrt(np.mean([row.heldout_after**2 for row in result.errors]))
    print(f"{result.outcome}; held out {1e3 * error:.2f} mrad; {len(result.parameters)} parameters")


def run(source: Path, busy: bool) -> dict[str, Any]:
    """One fit in a process of its own, beside as many spinning processes as there are cores."""
    cores = os.cpu_count() or 1
    spinning = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(cores * busy)]
    try:
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [sys.executable, __file__, "--fit"], check=True, text=True, stdout=subprocess.PIPE,
            env=os.environ | {"PYTHONPATH": str(source)},
        )  # fmt: skip
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    finally:
        for process in spinning:
            process.kill()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    for process in spinning:
        process.wait()
    return {"cpu_s": cpu, "wall_s": time.perf_counter() - began, "said": done.stdout.strip()}


def main() -> int:
    if sys.argv[1:] == ["--fit"]:
        fit()
        return 0
    from graftsim.targets import Figures

    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--beside", type=Path, metavar="CHECKOUT", help="fit with it too")
    options = parser.parse_args()
    figures = Figures("Go2, 36 parameters, 16 s", seed=options.seed, json_path=options.json)
    sources = {"": Path(__file__).resolve().parents[1] / "src"}
    if options.beside:
        sources = {"before: ": options.beside / "src", **sources}
    both = ((False, 30), (True, 45))
    for busy, goal in both[: 1 if options.quick else None]:
        for name, source in sources.items():
            found = run(source, busy)
            machine = "all cores busy" if busy else "idle"
            print(f"{name}{machine}: {found['said']}", flush=True)
            if name:
                figures.note(f"{name}{machine}, CPU time", found["cpu_s"], "s")
            else:
                figures.at_most(f"{machine}, CPU time", found["cpu_s"], goal, "s")
            figures.note(f"{name}{machine}, wall", found["wall_s"], "s")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    raise SystemExit(main())
