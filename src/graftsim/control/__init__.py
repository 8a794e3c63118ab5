"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""

from graftsim.control.clone import Cloned, Cloning, clone
from graftsim.control.cost import Cost, LeastSquares, ScalarCost
from graftsim.control.ilqr import ILQR, ilqr
from graftsim.control.ilqr_result import Outcome, Solution
from graftsim.control.linear import Linear, difference, displace, linearise
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
from graftsim.control.mpc import Receding, mpc
from graftsim.control.policy import Policy, policy_of
from graftsim.control.train import Ending, Iteration, Trained, Training, train

__all__ = [
    "ILQR", "OSQP", "Cloned", "Cloning", "Cost", "Ending", "ForceSolver", "Gait", "InteriorPoint",
    "Iteration", "LeastSquares", "Linear", "Outcome", "Policy", "Prediction", "Receding",
    "ScalarCost", "SingleBody", "Solution", "Swing", "Trained", "Training", "Trot", "clone",
    "difference", "displace", "find_legs", "ilqr", "linearise", "mpc", "policy_of", "train", "trot",
    "walker",
]  # fmt: skip
