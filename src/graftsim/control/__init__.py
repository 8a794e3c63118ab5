"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""

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

__all__ = [
    "OSQP", "Cloned", "Cloning", "Ending", "ForceSolver", "Gait", "InteriorPoint", "Iteration",
    "Policy", "Prediction", "SingleBody", "Swing", "Trained", "Training", "Trot", "clone",
    "find_legs", "policy_of", "train", "trot", "walker",
]  # fmt: skip
