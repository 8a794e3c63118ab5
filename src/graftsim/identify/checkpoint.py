"""Checkpoints of a fit: written after each iteration, whole or not at all; resumed after a kill."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.problem import Problem
from graftsim.identify.result import Iteration
from graftsim.optim.least_squares import Point

VERSION = 1


class Checkpoint:
    """The state of a fit in one file; without a path, nothing is kept.

    Raises ProblemError when the file belongs to another problem or cannot be read.
    """

    def __init__(self, path: str | Path | None, problem: Problem) -> None:
        self.path = None if path is None else Path(path)
        self.identity = {"names": list(problem.parameters.names), **problem.describe()}
        self.stage = 0
        self.point: Point | None = None
        self.theta: np.ndarray | None = None
        self.history: list[Iteration] = []
        if self.path is not None and self.path.exists():
            self._read(self.path)

    def write(
        self,
        stage: int,
        point: Point | None,
        history: list[Iteration],
        theta: np.ndarray | None = None,
    ) -> None:
        """Replace the file: at the start of `stage` (with theta so far), or at a point in it."""
        if self.path is None:
            return
        arrays: dict[str, Any] = {}
        facts: dict[str, Any] = {
            "version": VERSION,
            "identity": self.identity,
            "stage": stage,
            "history": [asdict(h) for h in history],
        }
        if point is not None:
            arrays |= {"theta": point.theta, "local": point.local}
            facts["point"] = {"damping": point.damping, "growth": point.growth}
            facts["point"]["iteration"] = point.iteration
        elif theta is not None:
            arrays["theta"] = theta
        self.path.parent.mkdir(parents=True, exist_ok=True)
        part = self.path.with_name(self.path.name + ".part")
        with part.open("wb") as file:
            np.savez(file, facts=np.array(json.dumps(facts)), **arrays)
        os.replace(part, self.path)

    def _read(self, path: Path) -> None:
        try:
            with np.load(path, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                arrays = {k: file[k] for k in file.files if k != "facts"}
        except (OSError, ValueError, KeyError) as error:
            raise ProblemError(
                f"Checkpoint {path} cannot be read ({error}). Delete it to start anew."
            ) from error
        if facts.get("version") != VERSION or facts["identity"] != json.loads(
            json.dumps(self.identity)
        ):
            raise ProblemError(
                f"Checkpoint {path} belongs to another problem (other parameters, data or settings). "
                "Delete it, or give another file."
            )
        self.stage = facts["stage"]
        self.history = [Iteration(**h) for h in facts["history"]]
        self.theta = arrays.get("theta")
        if "point" in facts:
            point = Point(arrays["theta"], arrays["local"], np.inf, facts["point"]["damping"])
            self.point = replace(
                point, growth=facts["point"]["growth"], iteration=facts["point"]["iteration"]
            )
