"""The solvers and searches that have a name: a new one is one more line here."""

from __future__ import annotations

from graftsim.optim.archipelago import Archipelago
from graftsim.optim.first_order import LBFGS, Adam
from graftsim.optim.global_search import BasinHopping, GlobalSearch, RandomRestarts
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import LocalSolver
from graftsim.optim.population import CMAES, DifferentialEvolution

LOCAL_SOLVERS: dict[str, type[LocalSolver]] = {
    kind.name: kind for kind in (LevenbergMarquardt, LBFGS, Adam)
}
GLOBAL_SEARCHES: dict[str, type[GlobalSearch]] = {
    kind.name: kind
    for kind in (BasinHopping, RandomRestarts, DifferentialEvolution, CMAES, Archipelago)
}
