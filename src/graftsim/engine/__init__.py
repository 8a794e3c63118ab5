"""Time: one step, and the roll-out."""

from graftsim.engine.integrators import (
    ImplicitDamping,
    Integrator,
    RungeKutta4,
    SemiImplicitEuler,
)
from graftsim.engine.rollout import Trajectory
from graftsim.engine.simulator import Simulator

__all__ = [
    "ImplicitDamping",
    "Integrator",
    "RungeKutta4",
    "SemiImplicitEuler",
    "Simulator",
    "Trajectory",
]
