"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""

from graftsim.control.clone import Cloned, Cloning, clone
from graftsim.control.policy import Policy, policy_of

__all__ = ["Cloned", "Cloning", "Policy", "clone", "policy_of"]
