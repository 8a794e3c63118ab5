"""Checkpoints of a fit: written after each iteration, whole or not at all; resumed after a kill."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np

from graftsim.errors import ProblemError
from graftsim.identify.fit.state import FitState
from graftsim.identify.pool.atomic_files import UNREADABLE, replace_arrays
from graftsim.identify.pool.digest import digest
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Iteration
from graftsim.identify.runs.failures import SimulationCount
from graftsim.optim.local_solver import Point
from graftsim.optim.outcome import Outcome

# Of the file's format: another one is refused.
VERSION = 3
_ARRAYS = ("theta", "local", "scale")
_OPTIONAL = ("alone", "kept", "unused")
_NUMBERS = ("cost", "damping", "growth", "iteration", "outcome")


class Checkpoint:
    """The state of a fit of a problem in one file; without a path, nothing is kept."""

    def __init__(self, path: str | Path | None, problem: Problem) -> None:
        self.path = None if path is None else Path(path)
        if self.path is not None:
            self.identity = {
                "names": list(problem.parameters.names),
                "digest": digest(problem),
                **problem.describe(),
            }

    def write(self, state: FitState) -> None:
        """Replace the file. A point with an outcome is where its stage ended."""
        if self.path is None:
            return
        point = state.point
        arrays = {k: getattr(point, k) for k in _ARRAYS}
        arrays |= {k: getattr(state, k) for k in _OPTIONAL}
        facts = {
            "version": VERSION,
            "identity": self.identity,
            "stage": state.stage,
            "searched": state.searched,
            "point": {k: getattr(point, k) for k in _NUMBERS},
            "history": [asdict(h) for h in state.history],
            "tally": asdict(state.tally),
        }
        there = {k: v for k, v in arrays.items() if v is not None}
        replace_arrays(self.path, facts=np.array(json.dumps(facts)), **there)

    def read(self) -> FitState | None:
        """What the file holds, None without one.

        Raises ProblemError: it belongs to another problem, or cannot be read.
        """
        if self.path is None or not self.path.exists():
            return None
        try:
            with np.load(self.path, allow_pickle=False) as file:
                facts = json.loads(str(file["facts"]))
                arrays = {k: file[k] for k in file.files if k != "facts"}
            version, identity = facts["version"], facts["identity"]
        except UNREADABLE as error:
            raise ProblemError(
                f"Checkpoint {self.path} cannot be read ({error}). Delete it to start anew."
            ) from error
        if version != VERSION:
            raise ProblemError(
                f"Checkpoint {self.path} has format {version}, and this version of graftsim reads "
                f"{VERSION}. Delete it to start anew."
            )
        if identity != json.loads(json.dumps(self.identity)):
            raise ProblemError(
                f"Checkpoint {self.path} belongs to another problem (other parameters, data or "
                "settings). Delete it, or give another file."
            )
        numbers = facts["point"]
        outcome = numbers.pop("outcome")
        optional = {k: arrays.pop(k, None) for k in _OPTIONAL}
        return FitState(
            point=Point(**arrays, **numbers, outcome=None if outcome is None else Outcome(outcome)),
            stage=facts["stage"],
            begun=True,
            history=tuple(Iteration(**h) for h in facts["history"]),
            tally=SimulationCount(**facts["tally"]),
            searched=facts["searched"],
            **optional,
        )
