"""Workers: what runs in another process or machine, and the two kinds that are ready to use.

A worker is given a problem once, as bytes under a digest; it keeps the last few, and with them
their compiled programs (`programs`), from one task to the next.
"""

from __future__ import annotations

import functools
import hashlib
import multiprocessing
import os
import pickle
import re
import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import ProblemError
from graftsim.identify.problem.problem import Problem

Task = Callable[[Problem, Any], Mapping[str, Any]]

# Problems that a worker keeps.
KEPT = 4
# Seconds to wait for a scheduler and for its first worker.
PATIENCE = 10.0
# Settings of JAX that change what is computed, or where compiled programs are kept.
_SETTINGS = ("jax_enable_x64", "jax_compilation_cache_dir",
             "jax_persistent_cache_min_compile_time_secs")  # fmt: skip

_problems: OrderedDict[str, Problem] = OrderedDict()
_lock = threading.Lock()


class Sent(NamedTuple):
    """A problem under way: its digest, a file where it may lie, and what JAX is set to."""

    key: str
    path: str
    settings: dict[str, Any]


class Failed(NamedTuple):
    """An exception of the function: itself, where it can travel, and its trace in words."""

    error: Exception | None
    text: str


def settings() -> dict[str, Any]:
    """What this process has JAX set to."""
    return {k: getattr(jax.config, k) for k in _SETTINGS}


def work(
    sent: Sent, payload: bytes | None, function: Task, item: Any
) -> dict[str, np.ndarray] | Failed | None:
    """One task, in the worker. None: it has not got the problem, and needs the payload."""
    for name, value in sent.settings.items():
        if getattr(jax.config, name) != value:
            jax.config.update(name, value)
    try:
        problem = _problem(sent, payload)
        return None if problem is None else arrays(one_blas_thread(function)(problem, item))
    except Exception as error:
        return Failed(_portable(error), traceback.format_exc())


def arrays(found: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """A task's result as NumPy arrays."""
    return {k: np.asarray(v) for k, v in found.items()}


def _problem(sent: Sent, payload: bytes | None) -> Problem | None:
    with _lock:
        if sent.key not in _problems:
            if payload is None:
                try:
                    payload = Path(sent.path).read_bytes()
                except OSError:
                    return None
                # A pickle is code: only what the driver wrote is opened.
                if hashlib.sha256(payload).hexdigest() != sent.key:
                    return None
            _problems[sent.key] = pickle.loads(payload)
        _problems.move_to_end(sent.key)
        while len(_problems) > KEPT:
            _problems.popitem(last=False)
        return _problems[sent.key]


def _portable(error: Exception) -> Exception | None:
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return None
    return error


def local_executor(workers: int) -> ProcessPoolExecutor:
    """Processes of this machine that share its cores; they end with the process that made them.

    Scripts that use it need `if __name__ == "__main__":`, as all that start processes do.
    Raises ProblemError: fewer than one worker.
    """
    if workers < 1:
        raise ProblemError(f"workers must be 1 or more, got {workers}.")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    threads = max((cores or 1) // workers, 1)
    # JAX has threads, which do not survive a fork.
    context = multiprocessing.get_context("spawn")
    return ProcessPoolExecutor(workers, context, functools.partial(_begin, threads))


def _begin(threads: int) -> None:
    os.environ.setdefault("GRAFTSIM_THREADS", str(threads))
    parent = multiprocessing.parent_process()
    if parent is not None:
        # Else a worker of a killed driver would wait for tasks for ever.
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()


def _end_with(sentinel: Any) -> None:
    wait([sentinel])
    os._exit(1)


def cluster_executor(address: str, patience: float = PATIENCE) -> Executor:
    """Workers of a running dask scheduler at an address such as tcp://host:8786.

    Raises ProblemError: dask is missing, the address is none, no scheduler answers there or it has
    no worker within `patience` seconds.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ProblemError(
            "A cluster needs dask.distributed: pip install 'graftsim[cluster]'."
        ) from error
    if not re.fullmatch(r"(\w+://)?[^/]+:\d+", address):
        raise ProblemError(f"'{address}' is no address of a dask scheduler: tcp://host:8786 is.")
    try:
        client = Client(address, timeout=patience, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise ProblemError(
            f"No dask scheduler answers at {address} within {patience:g} s ({error}). Start one by "
            "'dask scheduler', and workers by 'dask worker ADDRESS'."
        ) from error
    try:
        client.wait_for_workers(1, timeout=patience)
    except TimeoutError as error:
        client.close()
        raise ProblemError(
            f"The scheduler at {address} has no worker. Start some by 'dask worker {address}'."
        ) from error
    return client.get_executor(pure=False)
