"""From a state and commands to joint accelerations: where the engine names its variables."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.dynamics.aba import aba
from graftsim.dynamics.actuation import actuator_forces, command
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.passive import passive_terms
from graftsim.model.state import State
from graftsim.spatial.rotation import transpose
from graftsim.taps import Tapper


def acceleration(
    m: Mechanism,
    state: State,
    u: Float[Array, " nu"],
    *,
    extra_armature: Float[Array, " nv"] | None = None,
    scope: Tapper,
) -> tuple[Float[Array, " nv"], Float[Array, " nu"]]:
    """Joint accelerations (rad/s^2, m/s^2) of a state under commands u, and u as it was named.

    The lags of the actuators must see the same commands as the actuators, so u goes back.
    """
    q = scope.tap("state.q", state.q)
    qd = scope.tap("state.qd", state.qd)
    u = scope.tap("control.u", u)
    motion = joint_motion(m, q, qd)

    # Poses are for those who look: dynamics without contact does not need them.
    def poses() -> dict[str, Array]:
        X = world_transforms(m.tree, motion)
        return {"link.position": X.r, "link.rotation": transpose(X.E)}

    scope.offer(poses)
    v = scope.tap("link.velocity", link_velocity(m.tree, motion))
    passive, q_dof, qd_dof = passive_terms(m.model, q, qd, scope=scope)
    c = scope.tap("actuator.command", command(m.model.actuator, u, state.act))
    driven = actuator_forces(m.model.actuator, c, q_dof, qd_dof, scope=scope)
    tau = scope.tap("joint.tau", passive + driven)
    f_ext = scope.tap("link.force", jnp.zeros((m.tree.nl, 6), q.dtype))
    armature = m.model.joint.armature
    if extra_armature is not None:
        armature = armature + extra_armature
    return aba(m, motion, v, tau, f_ext, armature=armature, scope=scope), u
