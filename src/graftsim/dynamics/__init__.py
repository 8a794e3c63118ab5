"""The book: rigid-body dynamics of trees, after Featherstone (RBDA), level by level.

Functions take `(model, q, qd, ...)`, return arrays, and keep nothing. All are differentiable in
every argument, the model's numbers included.
"""

from graftsim.dynamics.crba import mass_matrix
from graftsim.dynamics.energy import (
    center_of_mass,
    kinetic_energy,
    momentum,
    potential_energy,
)
from graftsim.dynamics.forward import forward_dynamics
from graftsim.dynamics.kinematics import (
    frame_pose,
    jacobian,
    link_poses,
    link_velocities,
    point_velocity,
)
from graftsim.dynamics.passive import displacement, passive_forces
from graftsim.dynamics.rnea import bias_forces, inverse_dynamics

__all__ = [
    "bias_forces",
    "center_of_mass",
    "displacement",
    "forward_dynamics",
    "frame_pose",
    "inverse_dynamics",
    "jacobian",
    "kinetic_energy",
    "link_poses",
    "link_velocities",
    "mass_matrix",
    "momentum",
    "passive_forces",
    "point_velocity",
    "potential_energy",
]
