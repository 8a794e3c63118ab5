"""One process that looks at files in turn, and is replaced when a file hangs, dies or is too big.

A worker sends what it has found so far after each stage, so that what was read counts also where
the rest takes too long.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Job = tuple[Path, str]
# A worker is replaced after so many files, for what compiled programs leave behind.
FILES_EACH = 100


def in_turn(
    look: Callable[[Path, str], Iterator[dict[str, Any]]],
    jobs: list[Job],
    seconds: float,
    gigabytes: float,
) -> Iterator[dict[str, Any]]:
    """What `look` found of each job, the last of what it yielded; `stopped`: why there is no more.

    seconds: of a file at most. gigabytes: of data that its process may hold.
    """
    context = multiprocessing.get_context("spawn")
    waiting = list(jobs)
    while waiting:
        here, there = context.Pipe()
        batch = waiting[:FILES_EACH]
        worker = context.Process(target=_work, args=(there, look, batch, gigabytes), daemon=True)
        worker.start()
        there.close()
        for path, form in batch:
            found, stopped = _one(here, seconds)
            waiting.pop(0)
            yield {"file": str(path), "format": form, **found, "stopped": stopped}
            if stopped:
                break
        worker.kill()
        worker.join()


def _one(here: Any, seconds: float) -> tuple[dict[str, Any], str]:
    """What a worker sends of a file, merged, and why it sent no more."""
    found: dict[str, Any] = {}
    end = time.monotonic() + seconds
    while True:
        if not here.poll(max(end - time.monotonic(), 0.0)):
            return found, f"not done after {seconds:g} s" if end < time.monotonic() else "died"
        try:
            more = here.recv()
        except EOFError:
            return found, "the process died (memory, or a crash)"
        if more == "ready":  # imports are no file's fault
            end = time.monotonic() + seconds
        elif more is None:
            return found, ""
        else:
            found |= more


def _work(there: Any, look: Any, jobs: list[Job], gigabytes: float) -> None:
    try:
        import resource

        limit = int(gigabytes * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    except (ImportError, ValueError):  # not on this system
        pass
    for path, form in jobs:
        try:
            for found in look(path, form):
                there.send(found)
        except MemoryError:
            there.send({"failed": "not enough memory"})
        except Exception as error:
            there.send({"failed": f"{type(error).__name__}: {error}"})
        there.send(None)
