"""Identification: from recordings and a simulator to parameters with evidence."""

from graftsim.identify.domains import Bounds, Domain, Positive, Prior, Unbounded
from graftsim.identify.fit import fit
from graftsim.identify.parameters import Custom
from graftsim.identify.problem import Problem
from graftsim.identify.result import Result
from graftsim.optim.first_order import LBFGS, Adam
from graftsim.optim.least_squares import LevenbergMarquardt

__all__ = [
    "LBFGS",
    "Adam",
    "Bounds",
    "Custom",
    "Domain",
    "LevenbergMarquardt",
    "Positive",
    "Prior",
    "Problem",
    "Result",
    "Unbounded",
    "fit",
]
