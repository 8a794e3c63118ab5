"""Forward dynamics of a whole mechanism: tree by the articulated-body algorithm, then loops."""

from __future__ import annotations

from jaxtyping import Array, Float

from graftsim.dynamics.aba import articulated_inertia
from graftsim.dynamics.constraints import Pose, hold
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism, prepare
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.passive import displacements
from graftsim.dynamics.tree_acceleration import tree_acceleration
from graftsim.model.model import Model


def forward_dynamics(
    model: Model | Mechanism,
    q: Float[Array, " nq"],
    qd: Float[Array, " nv"],
    tau: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"] | None = None,
    *,
    armature: Float[Array, " nv"] | None = None,
) -> Float[Array, " nv"]:
    """Joint accelerations qdd (rad/s^2, m/s^2) under joint forces tau (N m, N).

    `f_ext`: external spatial forces on the links (moment; force), at the link's origin and in link
    coordinates. `armature` replaces the model's (kg m^2, kg), which integrators with implicit joint
    damping use. Passive forces are not included: see `passive_forces`. Those that keep loops closed
    are.
    """
    m = prepare(model)
    motion = joint_motion(m, q, qd)
    v = link_velocity(m.tree, motion)
    qdd = tree_acceleration(m, motion, v, tau, f_ext, armature=armature)
    if not m.model.closed:
        return qdd
    q_dof, qd_dof = displacements(m.model, q, qd)
    X_0 = world_transforms(m.tree, motion)
    H = articulated_inertia(m, motion, armature=armature)
    return hold(m, Pose(motion, X_0, v, q_dof, qd_dof), qdd, H).qdd
