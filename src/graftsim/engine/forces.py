"""From a state and commands to joint accelerations: where the engine names its variables."""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.contact.law import ContactLaw
from graftsim.dynamics.aba import Articulated, aba
from graftsim.dynamics.actuation import Commands, Seen, actuator_forces, delayed
from graftsim.dynamics.kinematics import world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import JointMotion, joint_motion, link_velocity
from graftsim.dynamics.passive import passive_terms
from graftsim.dynamics.tendons import tendon_forces
from graftsim.model.state import State
from graftsim.spatial.rotation import transpose
from graftsim.spatial.transform import Transform
from graftsim.taps import Tapper


class Acceleration(NamedTuple):
    """Joint accelerations, what the actuators' memory follows, and what both come from."""

    qdd: Float[Array, " nv"]
    seen: Seen
    motion: JointMotion
    X_0: Transform | None
    articulated: Articulated


def acceleration(
    m: Mechanism,
    state: State,
    commands: Commands,
    *,
    contact: ContactLaw | None = None,
    extra_armature: Float[Array, " nv"] | None = None,
    scope: Tapper,
) -> Acceleration:
    """Joint accelerations (rad/s^2, m/s^2) of a state under commands.

    Lags must see the same commands as the drives, so what they follow goes back. Link poses (`X_0`)
    are computed where contact needs them.
    """
    q = scope.tap("state.q", state.q)
    qd = scope.tap("state.qd", state.qd)
    u = scope.tap("control.u", commands.u)
    motion = joint_motion(m, q, qd)
    X_0 = None if contact is None else world_transforms(m.tree, motion)

    # World poses are computed only when recorded: without contact the dynamics does not use them.
    def poses() -> dict[str, Array]:
        X = world_transforms(m.tree, motion) if X_0 is None else X_0
        return {"link.position": X.r, "link.rotation": transpose(X.E)}

    scope.tap_lazily(poses)
    v = scope.tap("link.velocity", link_velocity(m.tree, motion))
    passive, q_dof, qd_dof = passive_terms(m.model, q, qd, scope=scope)
    tendons = tendon_forces(m.model.tendon, q_dof, qd_dof, scope=scope)
    actuator = m.model.actuator
    late = scope.tap("actuator.delayed", delayed(actuator, commands, u))
    driven = actuator_forces(actuator, late, state.act, q_dof, qd_dof, tendons, scope=scope)
    if m.model.tendon.names:
        passive = passive + tendons.tau
    tau = scope.tap("joint.tau", passive + driven.tau)
    f_ext = None if contact is None or X_0 is None else contact.forces(m, X_0, v, scope)
    f_ext = jnp.zeros((m.tree.nl, 6), q.dtype) if f_ext is None else f_ext
    f_ext = scope.tap("link.force", f_ext)
    armature = m.model.joint.armature
    if extra_armature is not None:
        armature = armature + extra_armature
    qdd, articulated = aba(m, motion, v, tau, f_ext, armature=armature, scope=scope)
    return Acceleration(qdd, driven.seen, motion, X_0, articulated)
