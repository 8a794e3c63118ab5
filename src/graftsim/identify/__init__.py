"""Identification: from recordings and a simulator to parameters with evidence."""

from graftsim.identify.bootstrap import Bootstrap
from graftsim.identify.discover import discover
from graftsim.identify.domains import Bounds, Domain, Positive, Prior, Unbounded
from graftsim.identify.findings import Discovery
from graftsim.identify.fit import fit
from graftsim.identify.mixture import MixtureFit, Online, fit_mixture
from graftsim.identify.parameters import Custom
from graftsim.identify.posterior import Posterior, nuts
from graftsim.identify.problem import Problem
from graftsim.identify.result import Result
from graftsim.identify.sbi_adapter import ForSBI, for_sbi
from graftsim.identify.screen import Criteria
from graftsim.identify.search import Automatic
from graftsim.optim.archipelago import Archipelago
from graftsim.optim.first_order import LBFGS, Adam
from graftsim.optim.global_search import BasinHopping, RandomRestarts
from graftsim.optim.least_squares import LevenbergMarquardt
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
    "LevenbergMarquardt",
    "MixtureFit",
    "Online",
    "Positive",
    "Posterior",
    "Prior",
    "Problem",
    "RandomRestarts",
    "Result",
    "SparseGroupLasso",
    "Unbounded",
    "discover",
    "fit",
    "fit_mixture",
    "for_sbi",
    "nuts",
]
