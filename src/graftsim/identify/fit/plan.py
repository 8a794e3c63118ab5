"""What a fit will do, stage by stage: everything that can be checked is checked here, before the
first simulation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graftsim.errors import ProblemError, suggest
from graftsim.identify.evidence.bootstrap import Bootstrap, draw_weights
from graftsim.identify.evidence.certainty import check_names
from graftsim.identify.problem.parameters import search_box
from graftsim.identify.problem.problem import Problem
from graftsim.optim.first_order import LBFGS
from graftsim.optim.global_search import GlobalSearch
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import LocalSolver
from graftsim.optim.sparsity import SparseGroupLasso
from graftsim.optim.strategies import LOCAL_SOLVERS

# Above so many unknowns a dense Gauss-Newton matrix costs more than it gives.
DENSE = 1500


@dataclass(frozen=True)
class Stage:
    """A minimisation over windows of a length [s]; `physics`: weights of grafts stay."""

    horizon: float
    physics: bool


@dataclass(frozen=True)
class Plan:
    """Stages and methods of a fit. zero: [p] which weights of grafts stay zero; doubt: whether
    numbers of actuators that are not free are tried at the end.
    """

    stages: tuple[Stage, ...]
    solver: LocalSolver
    search: GlobalSearch | None = None
    sparsity: SparseGroupLasso | None = None
    zero: np.ndarray | None = None
    bootstrap: Bootstrap | None = None
    profiles: tuple[str, ...] = ()
    doubt: bool = True

    @classmethod
    def of(
        cls,
        problem: Problem,
        *,
        local: str | LocalSolver = "auto",
        search: GlobalSearch | None = None,
        sparsity: SparseGroupLasso | None = None,
        bootstrap: Bootstrap | None = None,
        profiles: Sequence[str] = (),
    ) -> Plan:
        """The plan of `fit` with these arguments; ProblemError as there."""
        if not len(problem.parameters):
            raise ProblemError(
                "Nothing is free. Name what to fit, such as free={'joint.damping[*]': Positive()}, "
                "or graft a network."
            )
        solver = choose_solver(local, problem, sparsity)
        check_names(problem, profiles)
        if bootstrap is not None:
            windows = problem.train_windows()
            draw_weights(windows.recording, bootstrap)
        plan = cls(
            stages_of(problem), solver, sparsity=sparsity, bootstrap=bootstrap,
            profiles=tuple(profiles),
        )  # fmt: skip
        if search is None:
            return plan
        search_box(problem.parameters)
        return plan.with_search(search)

    @classmethod
    def onwards(
        cls, problem: Problem, *, local: str | LocalSolver = "auto", zero: np.ndarray | None = None
    ) -> Plan:
        """From a good point already: all unknowns together, and the last horizon at once."""
        stages = (Stage(problem.horizons[-1], physics=False),)
        return cls(stages, choose_solver(local, problem), zero=zero, doubt=False)

    def with_search(self, search: GlobalSearch) -> Plan:
        """The same after a search, which takes the place of the growing horizons: a long horizon
        has many minima, which is what searches are for.
        """
        last = self.stages[-1].horizon
        return replace(
            self, search=search, stages=tuple(s for s in self.stages if s.horizon == last)
        )


def stages_of(problem: Problem) -> tuple[Stage, ...]:
    """Growing horizons, the physical parameters first, then all unknowns together."""
    p = problem.parameters
    physics = [Stage(h, True) for h in problem.horizons] if p.physical.any() else []
    joint = [Stage(h, False) for h in problem.horizons] if not p.physical.all() else []
    # With nothing to fit there are still the initial states.
    return (*physics, *joint) or (Stage(problem.horizons[-1], True),)


def choose_solver(
    local: str | LocalSolver, problem: Problem, sparsity: SparseGroupLasso | None = None
) -> LocalSolver:
    """The local solver that `fit` takes for its `local` and `sparsity`; ProblemError as there."""
    if local == "auto":
        many = len(problem.parameters) > DENSE and sparsity is None
        return LBFGS() if many else LevenbergMarquardt()
    if isinstance(local, str) and local not in LOCAL_SOLVERS:
        raise ProblemError(f"local '{local}'. {suggest(local, ('auto', *LOCAL_SOLVERS))}")
    solver = LOCAL_SOLVERS[local]() if isinstance(local, str) else local
    if sparsity is not None and not solver.exact_zeros:
        able = ", ".join(name for name, kind in LOCAL_SOLVERS.items() if kind.exact_zeros)
        raise ProblemError(f"Exact zeros need local='{able}'.")
    if sparsity is not None and not (problem.parameters.group >= 0).any():
        raise ProblemError(
            "sparsity penalises the weights of each input of a graft, but there is no graft whose "
            "network tells which weights those are (MLP, GRU and Library do)."
        )
    return solver
