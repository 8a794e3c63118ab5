"""Identification: from recordings and a simulator to parameters with evidence."""

from graftsim.identify.discover.discover import discover
from graftsim.identify.discover.findings import Discovery
from graftsim.identify.discover.score_test import Criteria
from graftsim.identify.evidence.bootstrap import Bootstrap
from graftsim.identify.fit.fit import fit
from graftsim.identify.fit.global_search import Automatic
from graftsim.identify.fit.halves import halves
from graftsim.identify.posterior.nuts import Posterior, nuts
from graftsim.identify.posterior.sbi_adapter import ForSBI, for_sbi
from graftsim.identify.posterior.variational_mixture import (
    MixtureFit,
    Online,
    Training,
    fit_mixture,
)
from graftsim.identify.problem.domains import Bounds, Domain, Positive, Prior, Unbounded
from graftsim.identify.problem.parameters import Custom
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Result
from graftsim.optim.archipelago import Archipelago
from graftsim.optim.first_order import LBFGS, Adam
from graftsim.optim.global_search import BasinHopping, GlobalSearch, RandomRestarts
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import LocalSolver
from graftsim.optim.loss import Huber, Loss, Squared, Tukey
from graftsim.optim.population import CMAES, DifferentialEvolution
from graftsim.optim.sparsity import SparseGroupLasso

__all__ = [
    "CMAES",
    "LBFGS",
    "Adam",
    "Archipelago",
    "Automatic",
    "BasinHopping",
    "Bootstrap",
    "Bounds",
    "Criteria",
    "Custom",
    "DifferentialEvolution",
    "Discovery",
    "Domain",
    "ForSBI",
    "GlobalSearch",
    "Huber",
    "LevenbergMarquardt",
    "LocalSolver",
    "Loss",
    "MixtureFit",
    "Online",
    "Positive",
    "Posterior",
    "Prior",
    "Problem",
    "RandomRestarts",
    "Result",
    "SparseGroupLasso",
    "Squared",
    "Training",
    "Tukey",
    "Unbounded",
    "discover",
    "fit",
    "fit_mixture",
    "for_sbi",
    "halves",
    "nuts",
]
