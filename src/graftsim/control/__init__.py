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
from graftsim.control.clone import Cloned, Cloning, clone
from graftsim.control.locomotion import (
    OSQP,
    ForceSolver,
    Gait,
    InteriorPoint,
    Prediction,
    SingleBody,
    Swing,
    Trot,
    find_legs,
    trot,
    walker,
)
from graftsim.control.policy import Policy, policy_of
from graftsim.control.train import Ending, Iteration, Trained, Training, train
    "Cloned", "Cloning", "Ending", "Iteration", "Policy", "Trained", "Training", "clone",
    "policy_of", "train",

__all__ = [
    "OSQP", "Cloned", "Cloning", "Ending", "ForceSolver", "Gait", "InteriorPoint", "Iteration",
    "Policy", "Prediction", "SingleBody", "Swing", "Trained", "Training", "Trot", "clone",
    "find_legs", "policy_of", "train", "trot", "walker",
]  # fmt: skip
