"""graftsim: a differentiable rigid-body simulator that learns from a real machine's logs."""

from graftsim import dynamics
from graftsim.engine import (
    ImplicitDamping,
    RungeKutta4,
    SemiImplicitEuler,
    Simulator,
    Trajectory,
)
from graftsim.errors import (
    FileError,
    GraftsimError,
    GraftsimWarning,
    LogError,
    ModelError,
    PrecisionError,
    ProblemError,
    VariableError,
)
from graftsim.model import Builder, Model, State

__version__ = "0.1.0"

__all__ = [
    "Builder",
    "FileError",
    "GraftsimError",
    "GraftsimWarning",
    "ImplicitDamping",
    "LogError",
    "Model",
    "ModelError",
    "PrecisionError",
    "ProblemError",
    "RungeKutta4",
    "SemiImplicitEuler",
    "Simulator",
    "State",
    "Trajectory",
    "VariableError",
    "dynamics",
]
