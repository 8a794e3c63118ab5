"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""

from graftsim.control.cost import Cost, LeastSquares, ScalarCost
from graftsim.control.ilqr import ILQR, ilqr
from graftsim.control.ilqr_result import Outcome, Solution
from graftsim.control.linear import Linear, difference, displace, linearise
from graftsim.control.mpc import Receding, mpc

__all__ = [
    "ILQR",
    "Cost",
    "LeastSquares",
    "Linear",
    "Outcome",
    "Receding",
    "ScalarCost",
    "Solution",
    "difference",
    "displace",
    "ilqr",
    "linearise",
    "mpc",
]
