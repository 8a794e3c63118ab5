"""Faults: drivers and workers killed at random moments, and simulations that are not finite.

A fit with a search runs on two processes in a driver of its own, with a checkpoint. `kill -9` takes
the driver, which is then started again, or a worker; workers of a dask cluster too. Every fit that
ends must have the parameters of the undisturbed one, bit by bit. Then one in a hundred simulations
is made to fail: starts of a search that lie in a forbidden band, and windows whose initial state is
not a number; and one simulation in a hundred, at random by its window and its parameters.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np
import psutil
import swinging

import graftsim as gs
from graftsim.compilation import cache_compilations
from graftsim.identify.pool.pool import Pool
from graftsim.identify.pool.workers import cluster_executor, local_executor
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.targets import Figures

SEARCH = {"starts": 128, "iterations": 15}
WORKERS = 2


# -- a driver --------------------------------------------------------------------------------------


def drive(folder: Path, address: str) -> None:
    """A fit with a search, spread, resumed from what is in the folder; writes the answer."""
    cache_compilations(Path(os.environ["XDG_CACHE_HOME"]) / "xla")
    executor = cluster_executor(address) if address else local_executor(WORKERS)
    result = gs.fit(
        swinging.posed(),
        search=gs.RandomRestarts(**SEARCH),
        checkpoint=folder / "fit.npz",
        pool=Pool(executor),
    )
    part = folder / "answer.part"
    part.write_text(json.dumps([x.hex() for x in result.theta.tolist()]))
    part.replace(folder / "answer.json")
    executor.shutdown()


def start(folder: Path, address: str = "") -> subprocess.Popen[bytes]:
    """A driver as a process."""
    command = [sys.executable, __file__, "--drive", str(folder), "--cluster", address]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, stdout=log, stderr=log)


def workers_of(driver: subprocess.Popen[bytes]) -> list[psutil.Process]:
    """Its worker processes."""
    try:
        children = psutil.Process(driver.pid).children()
        return [c for c in children if "spawn_main" in " ".join(c.cmdline())]
    except psutil.Error:
        return []


def answer(folder: Path) -> list[str] | None:
    """What a driver has written."""
    path = folder / "answer.json"
    return json.loads(path.read_text()) if path.exists() else None


# -- kills -----------------------------------------------------------------------------------------


class Kills:
    """Counts kills and compares answers."""

    def __init__(self, rng: np.random.Generator, place: Path, reference: list[str], longest: float):
        self.rng, self.place, self.reference, self.longest = rng, place, reference, longest
        self.fits = self.same = self.restarts = self.orphans = self.failed = 0
        self.kept: list[int] = []

    def folder(self) -> Path:
        """For a new fit."""
        path = self.place / f"fit{self.fits}-{time.monotonic_ns()}"
        path.mkdir()
        return path

    def ended(self, folder: Path) -> None:
        """A fit has come to its end."""
        self.fits += 1
        found = answer(folder)
        if found is None:
            print((folder / "log").read_text()[-2000:])
        self.same += found == self.reference
        print(f"fit {self.fits} ended, {self.same} the same", flush=True)

    def drivers(self, count: int) -> None:
        """Kill the driver so many times; each fit is started again until it ends."""
        killed = 0
        while killed < count:
            folder = self.folder()
            while answer(folder) is None:
                driver = start(folder)
                try:
                    driver.wait(self.rng.uniform(0, self.longest) if killed < count else None)
                    self.failed += driver.returncode != 0
                except subprocess.TimeoutExpired:
                    own = workers_of(driver)
                    driver.kill()
                    driver.wait()
                    killed += 1
                    self.kept.append(len(list(folder.glob("fit.npz.tasks/*.npz"))))
                    alive = psutil.wait_procs(own, timeout=20)[1]
                    self.orphans += len(alive)
                    for process in alive:
                        process.kill()
            self.ended(folder)

    def workers(self, count: int) -> None:
        """Kill a random worker so many times, every few seconds while there are some."""
        killed = 0
        while killed < count:
            folder = self.folder()
            while answer(folder) is None:
                driver = start(folder)
                while driver.poll() is None:
                    try:
                        driver.wait(self.rng.uniform(0.5, self.longest / 2))
                    except subprocess.TimeoutExpired:
                        own = workers_of(driver)
                        if own and killed < count:
                            own[self.rng.integers(len(own))].kill()
                            killed += 1
                self.restarts += answer(folder) is None
            self.ended(folder)

    def cluster(self, count: int) -> None:
        """The same on a dask cluster, whose dead workers are replaced by others."""
        killed, pool = 0, Cluster(self.place)
        while killed < count:
            folder = self.folder()
            while answer(folder) is None:
                driver = start(folder, pool.address)
                while driver.poll() is None:
                    try:
                        driver.wait(self.rng.uniform(0.5, self.longest / 2))
                    except subprocess.TimeoutExpired:
                        if killed < count:
                            pool.workers[self.rng.integers(WORKERS)].kill()
                            killed += 1
                        pool.mend()
                self.restarts += answer(folder) is None
            self.ended(folder)
        pool.end()


class Cluster:
    """A dask scheduler and its workers, each a process of its own without a nurse."""

    def __init__(self, place: Path) -> None:
        self.log, file = (place / "cluster.log").open("ab"), place / "scheduler.json"
        options = ["--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
        self.scheduler = self._run("dask_scheduler", options)
        while not file.exists():
            time.sleep(0.1)
        self.address = json.loads(file.read_text())["address"]
        self.workers: list[subprocess.Popen[bytes]] = []
        self.mend()

    def _run(self, name: str, options: list[str]) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{name}", *options]
        return subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def mend(self) -> None:
        """Start workers in the place of dead ones."""
        self.workers = [w for w in self.workers if w.poll() is None]
        options = ["--nthreads", "1", "--no-nanny", "--no-dashboard"]
        while len(self.workers) < WORKERS:
            self.workers.append(self._run("dask_worker", [self.address, *options]))

    def end(self) -> None:
        """All of them."""
        for process in (*self.workers, self.scheduler):
            process.kill()
            process.wait()
        self.log.close()


def kills(figures: Figures, seed: int, counts: tuple[int, int, int]) -> None:
    """So many kills of drivers, of workers, of a cluster's workers."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        os.environ["XDG_CACHE_HOME"] = str(place / "cache")
        undisturbed: list[float] = []
        for k in range(2):  # The second finds compiled programs.
            folder = place / f"whole{k}"
            folder.mkdir()
            began = time.perf_counter()
            assert start(folder).wait() == 0, (folder / "log").read_text()
            undisturbed.append(time.perf_counter() - began)
        reference = answer(place / "whole1")
        assert reference is not None
        figures.note("undisturbed fit", undisturbed[1], "s")
        figures.at_least(
            "undisturbed fits, the same", float(reference == answer(place / "whole0")), 1
        )
        rng = np.random.default_rng(seed)
        for kind, count in zip(("drivers", "workers", "cluster"), counts, strict=True):
            case = Kills(rng, place, reference, 0.7 * undisturbed[1])
            getattr(case, kind)(count)
            figures.note(f"{kind}: killed", count)
            figures.note(f"{kind}: fits that went through them", case.fits)
            figures.at_least(f"{kind}: fits that end with the same bits", case.same, case.fits)
            print(f"{kind}: {count} killed, {case.fits} fits, {case.same} the same, "
                  f"{case.restarts} restarts, {case.orphans} orphans", flush=True)  # fmt: skip
            if kind == "drivers":
                figures.at_most("drivers: orphaned workers", case.orphans, 0)
                figures.note(
                    "drivers: tasks kept when killed, mean", float(np.mean(case.kept or 0))
                )
            else:
                figures.note(f"{kind}: drivers that gave up and were started again", case.restarts)


# -- not a number ----------------------------------------------------------------------------------

# One hundredth of the range in which stiffness is sought, in five bands.
LOW, HIGH, BANDS = 0.5, 20.0, 5


def forbidden(x: Any) -> Any:
    """Does a stiffness lie in one of the bands?"""
    share = (x - LOW) / (HIGH - LOW) * BANDS % 1.0
    return (share > 0.7) & (share < 0.71)


def set_stiffness(model: gs.Model, x: Any) -> gs.Model:
    """Stiffness of the upper joint, not a number in the bands."""
    value = jnp.where(forbidden(x[0]), jnp.nan, x[0])
    stiffness = model.joint.stiffness.at[0].set(value)
    return gs.model.with_leaf(model, "joint.stiffness", stiffness)


def set_plainly(model: gs.Model, x: Any) -> gs.Model:
    """Stiffness of the upper joint."""
    return gs.model.with_leaf(model, "joint.stiffness", model.joint.stiffness.at[0].set(x[0]))


def starts(figures: Figures, seed: int) -> None:
    """A search through a region of which one hundredth cannot be simulated."""
    found = {}
    search = gs.RandomRestarts(starts=512, iterations=15, seed=seed)
    for name, apply in (("with", set_stiffness), ("without", set_plainly)):
        custom = gs.Custom(("upper",), (2.0,), apply, "N m/rad", gs.Bounds(LOW, HIGH))
        problem = gs.Problem(
            swinging.simulator((2.0, 3.0), (0.1, 0.1)),
            swinging.recordings(10, 2.0, seed),
            {"stiffness": custom, "joint.damping[*]": gs.Bounds(0.0, 1.0)},
            noise=dict.fromkeys(swinging.NAMES, swinging.NOISE),
            horizon=0.5,
            growth=(1.0,),
        )
        found[name] = gs.fit(problem, search=search)
    with_, without = found["with"], found["without"]
    print("with failures:   ", with_.settings["search"])
    print("without failures:", without.settings["search"])
    lost = int(with_.settings["search"].split(" lost")[0].split()[-1])
    p = problem.parameters
    drawn = p.lower[0] + (p.upper[0] - p.lower[0]) * np.random.default_rng([seed, 0]).random(
        (512, len(p))
    )
    figures.note("starts in the forbidden bands", int(forbidden(drawn[1:, 0]).sum()), "of 512")
    figures.note("starts counted as lost", lost, "of 512")
    worst = np.abs(with_.theta - without.theta) / [r.std for r in without.parameters]
    figures.at_most("starts: parameters moved, in their deviations", float(worst.max()), 1e-3)
    figures.at_least("starts: the fit converged", float(with_.outcome == "converged"), 1)


def sound(recording: gs.Recording, at: float) -> tuple[np.ndarray, np.ndarray]:
    """Initial states as they were measured."""
    channels = [recording[n] for n in swinging.NAMES]
    return np.array([np.interp(at, c.time, c.values[:, 0]) for c in channels]), np.zeros(2)


def broken(recording: gs.Recording, at: float) -> tuple[np.ndarray, np.ndarray]:
    """The same, but two that are no numbers."""
    q, qd = sound(recording, at)
    failed = (recording.name, round(at, 3)) in {("swing 13", 0.5), ("swing 40", 1.0)}
    return (np.full(2, np.nan) if failed else q), qd


def windows(figures: Figures, seed: int) -> None:
    """Two windows of two hundred that cannot be simulated."""
    found = {}
    for name, initial in (("with", broken), ("without", sound)):
        problem = swinging.posed(67, 2.0, seed, initial=initial, max_windows=201)
        found[name] = gs.fit(problem)
    with_, without = found["with"], found["without"]
    print("with failures:", with_.settings["simulations"], "|", with_.warnings[0])
    figures.note("windows in all", without.settings["windows"])
    figures.at_least("windows left out, counted", with_.settings["windows left out"], 2)
    worst = np.abs(with_.theta - without.theta) / [r.std for r in without.parameters]
    figures.at_most("windows: parameters moved, in their deviations", float(worst.max()), 1.0)
    truth = np.array([*swinging.STIFFNESS, *swinging.DAMPING])
    off = np.abs(with_.theta - truth) / [r.std for r in with_.parameters]
    figures.at_most("windows: distance from the truth, in deviations", float(off.max()), 3.0)
    figures.at_least("windows: the fit converged", float(with_.outcome == "converged"), 1)


def inject(seed: int, rate: float) -> None:
    """Let simulations fail by chance, the same again for the same window and parameters."""
    residual, jacobian = ResidualProgram.residual, ResidualProgram.jacobian

    def hurt(self: ResidualProgram, theta: np.ndarray) -> np.ndarray:
        own = bytes([seed]) + np.ascontiguousarray(theta).tobytes()
        second = np.asarray(self.data.value[0])[:, 1]
        drawn = [hashlib.sha256(own + x.tobytes()).digest()[:4] for x in second]
        return np.array([int.from_bytes(d, "little") < rate * 2**32 for d in drawn])

    def some_residual(self: ResidualProgram, theta: np.ndarray, local: np.ndarray) -> np.ndarray:
        r = np.array(residual(self, theta, local))
        r[hurt(self, theta)] = np.nan
        return r

    def some_jacobian(self: ResidualProgram, theta: np.ndarray, *rest: Any, **how: Any) -> Any:
        r, J_t, J_l = jacobian(self, theta, *rest, **how)
        r = np.array(r)
        r[hurt(self, theta)] = np.nan
        return r, J_t, J_l

    ResidualProgram.residual, ResidualProgram.jacobian = some_residual, some_jacobian


def injected(figures: Figures, seed: int, count: int, tries: int) -> None:
    """Fits in which one simulation in a hundred fails, from so many recordings."""
    problem = swinging.posed(count, 2.0, seed)
    whole = gs.fit(problem)
    untouched = ResidualProgram.residual, ResidualProgram.jacobian
    moved, lost, simulated, out, converged = 0.0, 0, 0, 0, 0
    for k in range(tries):
        inject(k, 0.01)
        found = gs.fit(problem)
        ResidualProgram.residual, ResidualProgram.jacobian = untouched
        numbers = [int(w) for w in found.settings["simulations"].split() if w.isdigit()]
        simulated, lost = simulated + numbers[0], lost + numbers[1]
        out += found.settings["windows left out"]
        converged += found.outcome == "converged"
        off = np.abs(found.theta - whole.theta) / [r.std for r in whole.parameters]
        moved = max(moved, float(off.max()))
    name = f"{whole.settings['windows']} windows, {tries} fits"
    figures.note(f"{name}: simulations counted as lost", 100 * lost / simulated, "%")
    figures.note(f"{name}: windows left out at the end", out)
    figures.at_least(f"{name}: converged", converged, tries)
    figures.at_most(f"{name}: parameters moved, in their deviations", moved, 1.0)


def main() -> int:
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--drive", type=Path, help="be a driver in this folder")
    parser.add_argument("--cluster", default="", help="the driver's scheduler")
    parser.add_argument(
        "--kills", type=int, nargs=3, default=[25, 15, 10], help="drivers, workers, dask workers"
    )
    options = parser.parse_args()
    if options.drive:
        drive(options.drive, options.cluster)
        return 0
    figures = Figures("Faults", seed=options.seed, json_path=options.json)
    if options.quick:
        injected(figures, options.seed, 10, 1)
        return 0 if figures.finish() else 1
    if sum(options.kills):
        kills(figures, options.seed, tuple(options.kills))
    starts(figures, options.seed)
    windows(figures, options.seed)
    injected(figures, options.seed, 10, 10)
    injected(figures, options.seed, 67, 3)
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
