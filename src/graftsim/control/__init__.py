"""Control of a simulated machine: trajectory optimisation, policies, legged locomotion."""

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

__all__ = [
    "OSQP",
    "ForceSolver",
    "Gait",
    "InteriorPoint",
    "Prediction",
    "SingleBody",
    "Swing",
    "Trot",
    "find_legs",
    "trot",
    "walker",
]
