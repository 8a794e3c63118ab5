"""What spreading costs and gives: overhead and bytes of a task, start of a worker, compilation.

Tasks of a search (sixteen local solves each) run in this process, on processes and on a dask
cluster of this machine; their results are compared bit by bit. Overhead is that of tasks that do
nothing. Compilation is measured in folders of its own, empty for the first run.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import swinging

import graftsim as gs
from graftsim.compilation import cache_compilations
from graftsim.identify.pool.pool import Pool, _pickled, identity
from graftsim.identify.pool.workers import cluster_executor, local_executor
from graftsim.targets import Figures

TASKS, POINTS, ITERATIONS = 16, 16, 10
EMPTY = 300


def items(problem: gs.Problem, seed: int, tasks: int = TASKS) -> list[dict]:
    """Tasks of local solves."""
    every = swinging.points(problem, tasks * POINTS, seed).reshape(tasks, POINTS, -1)
    common = {"horizon": problem.horizons[-1], "kept": None, "iterations": ITERATIONS}
    return [common | {"points": x} for x in every]


@contextmanager
def pools(kind: str, workers: int) -> Iterator[Pool]:
    """A pool of a kind and its end."""
    if kind == "serial":
        yield Pool()
    elif kind == "processes":
        with Pool(local_executor(workers)) as pool:
            yield pool
    else:
        from distributed import LocalCluster

        with LocalCluster(
            n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            executor = cluster_executor(cluster.scheduler_address)
            yield Pool(executor)
            executor._client.close()  # type: ignore[attr-defined]


def compilation(figures: Figures, problem: gs.Problem, seed: int, workers: int) -> None:
    """The first task of each worker, with nothing on disk and with everything."""
    for state in ("cold", "warm"):
        began = time.perf_counter()
        with Pool(local_executor(workers)) as pool:
            found = pool.map(swinging.timed, problem, items(problem, seed, 2 * workers), "first")
        wall = time.perf_counter() - began
        first: dict[int, dict] = {}
        for f in found:
            first.setdefault(int(f["process"]), f)
        name = f"{workers} new processes, caches {state}"
        figures.note(f"{name}: kernels built", sum(int(f["built"]) for f in found))
        figures.note(f"{name}: kernels read", sum(int(f["read"]) for f in found))
        figures.note(f"{name}: first task, longest", max(f["seconds"] for f in first.values()), "s")
        figures.note(f"{name}: start, tasks and end", wall, "s")


def spread(figures: Figures, problem: gs.Problem, seed: int, counts: list[int]) -> None:
    """Overhead of empty tasks, and the same tasks in different places, bit by bit."""
    tasks = items(problem, seed)
    reference: list[np.ndarray] = []
    kinds = [("serial", 1), *((k, n) for k in ("processes", "dask") for n in counts)]
    for kind, workers in kinds:
        with pools(kind, workers) as pool:
            began = time.perf_counter()
            pool.map(swinging.timed, problem, tasks, "warm-up")
            first = time.perf_counter() - began
            empty: list[float] = []
            for _ in range(5):
                began = time.perf_counter()
                pool.map(swinging.nothing, problem, [{"k": k} for k in range(EMPTY)], "empty")
                empty.append((time.perf_counter() - began) / EMPTY)
            began = time.perf_counter()
            found = pool.map(swinging.timed, problem, tasks, "work")
            wall = time.perf_counter() - began
            with tempfile.TemporaryDirectory() as folder:
                began = time.perf_counter()
                Pool(pool.executor, store=folder).map(
                    swinging.nothing, problem, [{"k": k} for k in range(EMPTY)], "kept"
                )
                kept = (time.perf_counter() - began) / EMPTY
        name = kind if kind == "serial" else f"{kind}, {workers} workers"
        theta = [f["theta"] for f in found]
        reference = reference or theta
        same = all(np.array_equal(a, b) for a, b in zip(theta, reference, strict=True))
        size = statistics.median(float(f["seconds"]) for f in found)
        figures.at_least(f"{name}: the same bits as serial", float(same), 1)
        figures.note(f"{name}: overhead of a task", 1e3 * statistics.median(empty), "ms")
        figures.note(f"{name}: overhead of a task that is kept on disk", 1e3 * kept, "ms")
        figures.note(f"{name}: a task, median", 1e3 * size, "ms")
        figures.note(f"{name}: {TASKS} tasks", wall, "s")
        figures.note(f"{name}: the same, with the start of workers", first, "s")


def main() -> int:
    parser = Figures.arguments((__doc__ or "").split("\n")[0])
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    options = parser.parse_args()
    if options.quick:
        options.workers = [1]
    figures = Figures("Scale", seed=options.seed, json_path=options.json)
    figures.note("load average at the start, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    problem = swinging.posed(seed=options.seed)
    began = time.perf_counter()
    payload = _pickled(problem)
    figures.note("the problem, pickled", len(payload) / 1e3, "kB")
    figures.note("pickling it", 1e3 * (time.perf_counter() - began), "ms")
    began = time.perf_counter()
    identity(problem)
    figures.note("its identity", 1e3 * (time.perf_counter() - began), "ms")
    item = items(problem, options.seed)[0]["points"]
    figures.note("points of a task", item.nbytes / 1e3, "kB")
    with tempfile.TemporaryDirectory() as folder:
        os.environ["GRAFTSIM_KERNEL_CACHE"] = str(Path(folder) / "kernels")
        cache_compilations(Path(folder) / "xla")
        compilation(figures, problem, options.seed, max(options.workers))
        for kind in ("kernels", "xla"):
            size = sum(p.stat().st_size for p in (Path(folder) / kind).iterdir())
            figures.note(f"compiled programs on disk, {kind}", size / 1e3, "kB")
        spread(figures, problem, options.seed, options.workers)
    figures.note("load average at the end, of cores", os.getloadavg()[0], f"of {os.cpu_count()}")
    return 0 if figures.finish() else 1


if __name__ == "__main__":
    sys.exit(main())
