"""Independent tasks of one problem: over processes or a cluster, each result kept once it is there.

A task is a pure function of the problem and of an item, so it may run anywhere, and again: when a
worker dies, its tasks run elsewhere; when the driver dies, results that were stored are read again.
"""

from __future__ import annotations

import copy
import hashlib
import json
import pickle
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from pathlib import Path
from typing import Any, NoReturn

import jax
import numpy as np

from graftsim._version import __version__
from graftsim.errors import GraftsimWarning, ProblemError
from graftsim.identify.pool.atomic_files import UNREADABLE, replace_arrays
from graftsim.identify.pool.digest import digest
from graftsim.identify.pool.workers import Failed, Sent, Task, arrays, settings, work
from graftsim.identify.problem.problem import Problem

# Losses of workers in a row, without a task finished between, after which a map gives up.
RETRIES = 3


class Pool:
    """Where tasks run, and where their results are kept.

    executor: any of `concurrent.futures`, such as `local_executor(4)` or, of a dask client,
    `client.get_executor()`; without one, tasks run one after the other in this process. store: a
    folder; a finished task is written there, and read instead of run again when the same is asked
    for. progress(done, tasks) is called before the first task and after each.
    """

    def __init__(
        self,
        executor: Executor | None = None,
        store: Path | str | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        # Shared with copies, so that all go on when a broken executor is replaced.
        self._held = [executor]
        self.store = None if store is None else Path(store)
        self.progress = progress
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def executor(self) -> Executor | None:
        """Where tasks run now: a broken process pool has been replaced."""
        return self._held[0]

    def map(
        self, function: Task, problem: Problem, items: Sequence[Any], name: str
    ) -> list[dict[str, np.ndarray]]:
        """Results of function(problem, item) for each item, in their order.

        function: at the top level of a module, of nothing but its arguments. items: numbers,
        arrays, or dictionaries of them. name: of the tasks in the store, `NAME-INDEX.npz`.

        Raises ProblemError: a name that is no file's, a problem that cannot be sent, workers that
        are lost again and again; and what the function raises.
        """
        if not re.fullmatch(r"[\w.-]+", name):
            raise ProblemError(f"'{name}' cannot be the name of files: letters, digits, . and -.")
        kept = self._kept(function, problem, items, name)
        found = kept.read()
        if self.progress is not None:
            self.progress(len(found), len(items))

        def finish(i: int, result: dict[str, np.ndarray]) -> None:
            found[i] = result
            kept.write(i, result)
            if self.progress is not None:
                self.progress(len(found), len(items))

        waiting = [i for i in range(len(items)) if i not in found]
        if self.executor is None:
            for i in waiting:
                finish(i, arrays(function(problem, items[i])))
        elif waiting:
            self._spread(function, problem, items, waiting, name, finish)
        return [found[i] for i in range(len(items))]

    def keeping(self, store: Path | str) -> Pool:
        """This pool with a folder for results; both share the executor."""
        other = copy.copy(self)
        other.store = Path(store)
        return other

    def close(self) -> None:
        """End the executor; of a cluster, what this pool has asked of it."""
        if self.executor is not None:
            self.executor.shutdown(wait=isinstance(self.executor, ProcessPoolExecutor))

    def __enter__(self) -> Pool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _kept(self, function: Task, problem: Problem, items: Sequence[Any], name: str) -> _Store:
        if self.store is None:
            return _Store(None, [], name)
        what = f"{identity(problem)} {function.__module__}.{function.__qualname__}"
        return _Store(self.store, [f"{what} {_item_digest(item)}" for item in items], name)

    def _spread(
        self,
        function: Task,
        problem: Problem,
        items: Sequence[Any],
        waiting: list[int],
        name: str,
        finish: Callable[[int, dict[str, np.ndarray]], None],
    ) -> None:
        """Run tasks on the executor, those again that are lost with a worker."""
        payload = _pickled(problem)
        key = hashlib.sha256(payload).hexdigest()
        sent = Sent(key, self._file(key, payload), settings())
        losses = 0
        while waiting:
            before = len(waiting)
            reason = self._round(function, sent, payload, items, waiting, name, finish)
            if reason is None:
                continue
            losses = losses + 1 if len(waiting) == before else 1
            if losses > RETRIES:
                raise ProblemError(
                    f"Tasks '{name}': workers were lost {losses} times in a row ({_words(reason)}) "
                    "and none finished a task between. Is there memory enough?"
                ) from reason
            warnings.warn(
                f"Tasks '{name}': a worker was lost ({_words(reason)}); {len(waiting)} of "
                f"{len(items)} tasks are run again or still to run.",
                GraftsimWarning,
                stacklevel=4,
            )
            self._renew()

    def _round(
        self,
        function: Task,
        sent: Sent,
        payload: bytes,
        items: Sequence[Any],
        waiting: list[int],
        name: str,
        finish: Callable[[int, dict[str, np.ndarray]], None],
    ) -> BaseException | None:
        """Tasks until all are done, or what lost some of them; `waiting` keeps what is not done."""
        assert self.executor is not None
        executor, lost = self.executor, _lost()
        futures: dict[Future[Any], int] = {}
        reason: BaseException | None = None
        try:
            try:
                broadcast = _broadcast(executor, payload)
                for i in waiting:
                    futures[executor.submit(work, sent, broadcast, function, items[i])] = i
            except lost as error:
                reason = error
            while futures:
                for future in wait(futures, return_when=FIRST_COMPLETED).done:
                    i = futures.pop(future)
                    try:
                        result = future.result()
                        if result is None:  # The worker does not see this machine's files.
                            again = executor.submit(work, sent, payload, function, items[i])
                            futures[again] = i
                            continue
                    except lost as error:
                        reason = error
                        continue
                    if isinstance(result, Failed):
                        _raise(result, f"task {i} of '{name}'")
                    waiting.remove(i)
                    finish(i, result)
        finally:
            for future in futures:
                future.cancel()
        return reason

    def _renew(self) -> None:
        """Replace a process pool that has lost a process: it takes no more tasks."""
        if isinstance(self.executor, ProcessPoolExecutor):
            self.executor.shutdown(wait=False, cancel_futures=True)
            old: Any = self.executor
            self._held[0] = ProcessPoolExecutor(
                old._max_workers, old._mp_context, old._initializer, old._initargs
            )

    def _file(self, key: str, payload: bytes) -> str:
        """The problem as a file, for workers of this machine."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="graftsim-")
        path = Path(self._folder.name) / key
        if not path.exists():
            path.write_bytes(payload)
        return str(path)


class _Store:
    """Results on disk under their names, each with the identity of its task; or nothing."""

    def __init__(self, folder: Path | None, identities: list[str], name: str) -> None:
        self.folder, self.identities, self.name = folder, identities, name

    def _path(self, i: int) -> Path:
        assert self.folder is not None
        return self.folder / f"{self.name}-{i}.npz"

    def read(self) -> dict[int, dict[str, np.ndarray]]:
        """What is there, whole, and of the same task."""
        found: dict[int, dict[str, np.ndarray]] = {}
        for i, own in enumerate(self.identities):
            try:
                with np.load(self._path(i), allow_pickle=False) as file:
                    if str(file["identity"]) == own:
                        names = [k for k in file.files if k.startswith("result.")]
                        found[i] = {k.removeprefix("result."): file[k] for k in names}
            except UNREADABLE:
                continue
        return found

    def write(self, i: int, result: Mapping[str, np.ndarray]) -> None:
        """Keep a result."""
        if self.folder is not None:
            named = {f"result.{k}": v for k, v in result.items()}
            replace_arrays(self._path(i), identity=np.array(self.identities[i]), **named)


def identity(problem: Problem) -> str:
    """Digest of all that a task's result can depend on, the same in every process."""
    facts = json.dumps([__version__, problem.parameters.names, problem.describe()])
    # Functions in it are told apart by their names, not by where they lie in memory.
    form = re.sub(r" at 0x[0-9a-f]+", "", str(jax.tree.structure(problem.setup)))
    found = hashlib.sha256(f"{digest(problem)}{facts}{form}".encode())
    for recording in problem.heldout:
        for channel in recording.channels.values():
            found.update(channel.name.encode() + channel.time.tobytes() + channel.values.tobytes())
    return found.hexdigest()


def _item_digest(item: Any) -> str:
    found = hashlib.sha256()
    leaves, form = jax.tree.flatten(item)
    found.update(str(form).encode())
    for x in leaves:
        x = np.asarray(x)
        found.update(f"{x.dtype.str}{x.shape}".encode() + np.ascontiguousarray(x).tobytes())
    return found.hexdigest()


def _pickled(problem: Problem) -> bytes:
    """A problem as bytes; functions that are not at the top of a module go through cloudpickle."""
    try:
        return pickle.dumps(problem)
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        try:
            import cloudpickle
        except ImportError:
            raise ProblemError(
                f"The problem cannot be sent to workers ({error}): put functions that it holds "
                "(initial=, Custom) at the top of a module, or install 'graftsim[cluster]'."
            ) from error
        return cloudpickle.dumps(problem)


def _broadcast(executor: Executor, payload: bytes) -> Any:
    """The payload on every worker of a dask cluster; other executors' workers find the file."""
    if not type(executor).__module__.startswith("distributed."):
        return None
    client: Any = executor._client  # type: ignore[attr-defined]
    if client.status in ("closing", "closed"):
        raise ProblemError(
            "The dask scheduler is gone, or the client was closed. Start it again and the fit too: "
            "with a checkpoint it goes on from what was finished."
        )
    try:
        return client.scatter([payload], broadcast=True, hash=False)[0]
    except ValueError as error:  # What dask says when a worker is lost meanwhile.
        raise ConnectionError(f"the problem did not reach all workers: {error}") from error


def _lost() -> tuple[type[BaseException], ...]:
    """What executors raise when a worker, or what it held, is gone."""
    found: tuple[type[BaseException], ...] = (BrokenExecutor, CancelledError, OSError)
    if "distributed" not in sys.modules:
        return found
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm.core import CommClosedError

    return (*found, KilledWorker, FutureCancelledError, CommClosedError)


def _raise(failed: Failed, where: str) -> NoReturn:
    error = failed.error or RuntimeError(failed.text.strip().splitlines()[-1])
    error.add_note(f"In {where}:\n{failed.text}")
    raise error


def _words(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"
