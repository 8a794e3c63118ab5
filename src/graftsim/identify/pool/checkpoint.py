"""Checkpoints of a fit: written after each iteration, whole or not at all; resumed after a kill."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import jax
import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.pool.atomic_files import UNREADABLE, replace_arrays
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Iteration
from graftsim.identify.runs.failures import Tally
from graftsim.optim.least_squares import Point

VERSION = 2
_ARRAYS = ("theta", "local", "scale")
_NUMBERS = ("cost", "damping", "growth", "iteration", "outcome")


class Checkpoint:
    """The state of a fit in one file: its stage, the solver's point, the history so far, and where
    the parameters alone had ended (`alone` [p]), once networks are trained. `kept` [k]: which
    windows of the stage take part, None for all; `tally` counts simulations.

    Without a path, nothing is kept. A point with an outcome is where its stage ended.
    Raises ProblemError when the file belongs to another problem or cannot be read.
    """

    def __init__(self, path: str | Path | None, problem: Problem) -> None:
        self.path = None if path is None else Path(path)
        self.stage = 0
        self.point: Point | None = None
        self.history: list[Iteration] = []
        self.alone: np.ndarray | None = None
        self.kept: np.ndarray | None = None
        self.tally = Tally()
        if self.path is None:
            return
        self.identity = {
            "names": list(problem.parameters.names),
            "digest": digest(problem),
            **problem.describe(),
        }
        if self.path.exists():
            self._read(self.path)

    def write(self, stage: int, point: Point, history: list[Iteration]) -> None:
        """Replace the file."""
        if self.path is None:
            return
        arrays = {k: getattr(point, k) for k in _ARRAYS if getattr(point, k) is not None}
        optional = {"alone": self.alone, "kept": self.kept}
        arrays |= {k: v for k, v in optional.items() if v is not None}
        facts = {
            "version": VERSION,
            "identity": self.identity,
            "stage": stage,
            "point": {k: getattr(point, k) for k in _NUMBERS},
            "history": [asdict(h) for h in history],
            "tally": asdict(self.tally),
        }
        replace_arrays(self.path, facts=np.array(json.dumps(facts)), **arrays)

    def _read(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                arrays = {k: file[k] for k in file.files if k != "facts"}
            version, identity = facts["version"], facts["identity"]
        except UNREADABLE as error:
            raise ProblemError(
                f"Checkpoint {path} cannot be read ({error}). Delete it to start anew."
            ) from error
        if version != VERSION or identity != json.loads(json.dumps(self.identity)):
            raise ProblemError(
                f"Checkpoint {path} belongs to another problem (other parameters, data or "
                "settings). Delete it, or give another file."
            )
        self.alone = arrays.pop("alone", None)
        self.kept = arrays.pop("kept", None)
        self.tally = Tally(**facts.get("tally", {}))
        self.stage = facts["stage"]
        self.history = [Iteration(**h) for h in facts["history"]]
        self.point = Point(**arrays, **facts["point"])


def digest(problem: Problem) -> str:
    """Fingerprint of the starting model, the limits and beliefs, the loss and the samples."""
    p, found = problem.parameters, hashlib.sha256()
    numbers: list[Any] = [*jax.tree.leaves(problem.setup), problem.huber_width or 0.0]
    numbers += [p.start, p.lower, p.upper, p.prior_mean, p.prior_std]
    for recording in problem.train:
        for channel in recording.channels.values():
            found.update(channel.name.encode())
            numbers += [channel.time, channel.values]
    for array in numbers:
        found.update(np.ascontiguousarray(np.asarray(array)).tobytes())
    return found.hexdigest()
