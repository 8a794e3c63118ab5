"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""

from graftsim.control.clone import Cloned, Cloning, clone
from graftsim.control.policy import Policy, policy_of
from graftsim.control.train import Ending, Iteration, Trained, Training, train

__all__ = [
    "Cloned", "Cloning", "Ending", "Iteration", "Policy", "Trained", "Training", "clone",
    "policy_of", "train",
]  # fmt: skip
