"""Simulators side by side: time of a step, of a gradient, and of compilation, in one run.

Every contestant reads the same mechanism (`scenes.py`), starts in the same state, takes 500
semi-implicit Euler steps of 2 ms, and runs in a process of its own, one after the other. Times are
microseconds per step and simulation, medians of 7; a call from Python is part of them. "reverse"
is a call that gives the gradient of the sum of squares of the final q in the initial state, the
forward sweep included. "compile" is trace and compilation, nothing cached. "times mj_step" is how
often the contestant's step fits into that of MuJoCo's `mj_step` on the same scene in the same run.
"off" is the largest difference of the final q from MuJoCo's, "slope off" the relative one of the
gradient (where coordinates agree).

What does not import, or cannot do a scene, is a line in the table that says why. The whole contest
takes hours, most of it for MJX and Brax to compile: `--only`, `--rivals`, `--sections`, `--quick`.

The contestants, all optional (MJX and Brax without what they depend on, since `mujoco` and
`mujoco-core` are the same module):

    pip install mujoco-core pin casadi drjit llvmlite
    pip install "etils[epath]" trimesh scipy absl-py flax jaxopt ml-collections tensorboardx \\
        flask flask-cors orbax-checkpoint pillow jinja2
    pip install --no-deps mujoco-mjx brax
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import scenes
from rivals import NETWORKS, RIVALS, Job, Measured, Rival, Skip

from graftsim.targets import Figures, write_json

LINKS = (2, 3, 5, 8, 12, 20, 30, 50, 100)
SECTIONS = ("contest", "networks", "calling_overhead", "cost_against_links", "peak")
PACKAGES = (
    "graftsim", "jax", "jaxlib", "llvmlite", "mujoco-core", "mujoco", "mujoco-mjx", "brax",
    "drjit", "pin", "casadi",
)  # fmt: skip


@dataclass
class Row:
    """A line of the table: who, what was measured, and how it compares with MuJoCo's."""

    scene: str
    contestant: str
    batch: int | None
    dtype: str
    threads: int
    measured: Measured
    times_mj_step: float | None = None
    off: float | None = None
    slope_off: float | None = None

    def compare(self, reference: Measured | None) -> None:
        """Against mj_step on the same scene."""
        m = self.measured
        if reference is None or reference.forward is None:
            return
        if m.forward:
            self.times_mj_step = reference.forward / m.forward
        if m.q and len(m.q) == len(reference.q):
            self.off = float(np.max(np.abs(np.subtract(m.q, reference.q))))
        same = len(m.slope) == len(reference.slope) == 2 * len(m.q)
        if m.slope and same:
            size = np.linalg.norm(reference.slope)
            self.slope_off = float(np.linalg.norm(np.subtract(m.slope, reference.slope)) / size)


HEADER = (
    f"{'scene':<9} {'contestant':<22} {'batch':>5} {'type':<7} {'threads':>7} {'forward':>9} "
    f"{'reverse':>9} {'compile':>8} {'compile':>8} {'times':>8} {'off':>8} {'slope':>8}\n"
    f"{'':<9} {'':<22} {'':>5} {'':<7} {'':>7} {'us':>9} "
    f"{'us':>9} {'fwd, s':>8} {'rev, s':>8} {'mj_step':>8} {'':>8} {'off':>8}"
)


def line(row: Row) -> str:
    """The row as text."""
    m = row.measured

    def number(x: float | None, width: int, form: str = ".4g") -> str:
        return f"{'' if x is None else format(x, form):>{width}}"

    batch = "one" if row.batch is None else str(row.batch)
    return (
        f"{row.scene:<9} {row.contestant:<22} {batch:>5} {row.dtype:<7} {row.threads:>7} "
        f"{number(m.forward, 9)} {number(m.gradient, 9)} {number(m.compile_forward, 8, '.3g')} "
        f"{number(m.compile_gradient, 8, '.3g')} {number(row.times_mj_step, 8, '.3g')} "
        f"{number(row.off, 8, '.1e')} {number(row.slope_off, 8, '.1e')}  {m.note}"
    ).rstrip()


# -- processes ------------------------------------------------------------------------------


def work(task: dict[str, Any]) -> dict[str, Any]:
    """What a worker process does: one contestant on one scene, or one section."""
    options = task["options"]
    if task["what"] == "calling_overhead":
        from rivals.graftsim_kernel import calling_overhead

        return calling_overhead(options["repeats"], task["calls"])
    try:
        scene = scenes.make(task["scene"], Path(options["assets"]))
        job = Job(scene, options["steps"], options["repeats"], options["patience"], **task["job"])
        if task["what"] == "peak":
            from rivals.graftsim_kernel import peak

            return peak(job)
        return import_module(f"rivals.{task['module']}").measure(job).as_dict()
    except (Skip, scenes.Missing) as error:
        return Measured(note=_short(str(error)), absent=True).as_dict()
    except ImportError as error:
        return Measured(note=_short(f"does not import: {error}"), absent=True).as_dict()


def run(task: dict[str, Any], options: argparse.Namespace) -> dict[str, Any]:
    """A task in a fresh process; what goes wrong there is the note of the result."""
    job = task.get("job", {})
    threads = str(job.get("threads", 1))
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {
            "JAX_PLATFORMS": "cpu",
            "JAX_ENABLE_X64": "1" if job.get("dtype", "float64") == "float64" else "0",
            "JAX_ENABLE_COMPILATION_CACHE": "0",
            "JAX_TRACEBACK_FILTERING": "off",  # so that the last line says what went wrong
            "GRAFTSIM_KERNEL_CACHE": "",
            "DRJIT_CACHE_DIR": folder,
            "NPROC": threads,  # XLA's threads
            "OMP_NUM_THREADS": threads,
            "OPENBLAS_NUM_THREADS": threads,
        }
        answer = Path(folder) / "answer.json"
        task = task | {"options": vars(options), "answer": str(answer)}
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--worker"],
                input=json.dumps(task), text=True, capture_output=True, check=False,
                timeout=options.limit, env=environment,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Measured(note=f"stopped after {options.limit:.0f} s").as_dict()
        if answer.is_file():
            return json.loads(answer.read_text(encoding="utf-8"))
    said = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
    return Measured(note=_short(f"failed: {said[-1]}")).as_dict()


def _short(message: str) -> str:
    """One line without the places of files."""
    return re.sub(r" *\(/[^)]*\)", "", " ".join(message.split()))[:140]


def jobs(rival: Rival, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """What a contestant is to do on a scene."""
    for dtype in rival.dtypes:
        if len(rival.dtypes) > 1 and dtype not in options.dtype:
            continue
        for threads in options.threads if rival.threaded else (1,):
            yield {
                "batch": options.batch if rival.batch else None,
                "dtype": dtype,
                "threads": threads,
                "network": rival.network,
            }


def measure(rival: Rival, scene: str, job: dict[str, Any], options: argparse.Namespace) -> Measured:
    """One contestant on one scene."""
    task = {"what": "measure", "module": rival.module, "scene": scene, "job": job}
    return Measured(**run(task, options))


# -- sections -------------------------------------------------------------------------------


def contest(
    rivals: dict[str, Rival], options: argparse.Namespace, references: dict[str, Measured]
) -> Iterator[Row]:
    """All contestants on all scenes. `references` keeps mj_step's, which come first."""
    for scene in options.only:
        try:
            scenes.make(scene, Path(options.assets))
        except scenes.Missing as error:
            print(f"{scene:<9} {error}")
            continue
        for name in ["mj_step", *(r for r in rivals if r != "mj_step")]:
            if name == "mj_step" and scene in references:
                continue
            rival = RIVALS[name] if name == "mj_step" else rivals[name]
            for job in jobs(rival, options):
                measured = measure(rival, scene, job, options)
                row = Row(scene, rival.title, job["batch"], job["dtype"], job["threads"], measured)
                if name == "mj_step":
                    references[scene] = measured
                row.compare(None if rival.network else references.get(scene))
                yield row
                if measured.absent:
                    break  # said once


def calling_overhead(figures: Figures, options: argparse.Namespace) -> None:
    """A call of a compiled kernel from Python, less an empty jitted call."""
    task = {"what": "calling_overhead", "calls": 200 if options.quick else 1000}
    _note_all(figures, "call", run(task, options))


def cost_against_links(
    figures: Figures, options: argparse.Namespace, links: tuple[int, ...]
) -> None:
    """Forward time for chains of growing length, one simulation and a batch."""
    dtype = options.dtype[0]
    for n in links:
        for name in ("mj_step", "kernel", "kernel_batch"):
            job = {
                "batch": options.batch if RIVALS[name].batch else None,
                "dtype": dtype if name != "mj_step" else "float64",
                "gradient": False,
            }
            m = measure(RIVALS[name], f"chain{n}", job, options)
            title = f"{n} links, {RIVALS[name].title}{', batch' if job['batch'] else ''}"
            if m.forward is None:
                print(f"{title}: {m.note}")
                continue
            figures.note(title, m.forward, "us")
            if m.compile_forward is not None:
                figures.note(f"{title}, compile", m.compile_forward, "s")


def peak(figures: Figures, options: argparse.Namespace) -> None:
    """Vector operations a cycle at 5 links side by side; the processor's limit is two."""
    job = {"batch": options.batch, "dtype": "float32", "gradient": False}
    _note_all(figures, "peak", run({"what": "peak", "scene": "chain5", "job": job}, options))
    figures.note("peak: the limit", 2.0, "a cycle")


def _note_all(figures: Figures, title: str, found: dict[str, Any]) -> None:
    if "note" in found:  # a `Measured` that says what went wrong
        print(f"{title}: {found['note']}")
        return
    for name, value in found.items():
        figures.note(f"{title}: {name}", value)


# -- command line ---------------------------------------------------------------------------


def parse() -> argparse.Namespace:
    """Options; --quick makes everything small."""
    p = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    p.add_argument("--quick", action="store_true", help="short roll-outs, small batch, two scenes")
    p.add_argument("--json", metavar="FILE", help="write everything to this file")
    p.add_argument("--only", nargs="+", metavar="SCENE", help=f"of {', '.join(scenes.SCENES)}")
    p.add_argument("--rivals", nargs="+", choices=RIVALS, metavar="NAME", default=list(RIVALS),
                   help=f"of {', '.join(RIVALS)}")  # fmt: skip
    p.add_argument("--sections", nargs="+", choices=SECTIONS, default=list(SECTIONS))
    p.add_argument("--threads", nargs="+", type=int, default=[1, 2], help="for batches")
    p.add_argument("--dtype", nargs="+", choices=("float32", "float64"),
                   default=["float32", "float64"])  # fmt: skip
    p.add_argument("--links", nargs="+", type=int, help="chains of cost_against_links")
    p.add_argument("--assets", metavar="FOLDER", help="robot files (default: beside GRAFTSIM_DATA)")
    p.add_argument("--steps", type=int, help="steps of a roll-out (500)")
    p.add_argument("--batch", type=int, help="simulations side by side (1024)")
    p.add_argument("--repeats", type=int, help="of which the median (7)")
    p.add_argument("--patience", type=float, help="seconds for a figure; fewer repeats then (120)")
    p.add_argument("--limit", type=float, help="seconds for a contestant on a scene (900)")
    options = p.parse_args()
    full = {"steps": 500, "batch": 1024, "repeats": 7, "patience": 120.0, "limit": 900.0,
            "only": list(scenes.SCENES), "links": list(LINKS)}  # fmt: skip
    quick = {"steps": 100, "batch": 64, "repeats": 3, "patience": 5.0, "limit": 120.0,
             "only": ["chain2", "chain5"], "links": [2, 5]}  # fmt: skip
    for name, value in (quick if options.quick else full).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    options.assets = str(scenes.assets_folder(options.assets))
    return options


def machine() -> dict[str, Any]:
    """Processor and versions, for the record."""
    name = platform.processor()
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
        found = [x.split(":")[1].strip() for x in text.splitlines() if x.startswith("model name")]
        name = found[0] if found else name
    except OSError:
        pass
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return {"processor": name, "cores": os.cpu_count(), "versions": versions}


def main() -> int:
    if sys.argv[1:] == ["--worker"]:
        task = json.loads(sys.stdin.read())
        answer = work(task)
        Path(task["answer"]).write_text(json.dumps(answer), encoding="utf-8")
        return 0
    options = parse()
    began = time.perf_counter()
    figures = Figures("Kernels, further figures")
    figures.note("load average at the start, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    rows: list[Row] = []
    references: dict[str, Measured] = {}
    rivals = {name: RIVALS[name] for name in options.rivals}
    print(HEADER)
    for section, chosen in (("contest", rivals), ("networks", NETWORKS)):
        if section in options.sections:
            for row in contest(chosen, options, references):
                rows.append(row)
                print(line(row), flush=True)
    if "calling_overhead" in options.sections:
        calling_overhead(figures, options)
    if "cost_against_links" in options.sections:
        cost_against_links(figures, options, tuple(options.links))
    if "peak" in options.sections:
        peak(figures, options)
    figures.note("load average at the end, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    figures.finish()
    if options.json:
        content = {
            "settings": {k: v for k, v in vars(options).items() if k not in ("assets", "json")},
            "machine": machine(),
            "rows": rows,
            "figures": figures.rows,
            "seconds": time.perf_counter() - began,
        }
        write_json(options.json, content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
