"""Time: one step, the roll-out, what sensors see."""

from graftsim.engine.integrators import ImplicitDamping, RungeKutta4, SemiImplicitEuler
from graftsim.engine.simulator import Simulator, Trajectory

__all__ = ["ImplicitDamping", "RungeKutta4", "SemiImplicitEuler", "Simulator", "Trajectory"]
