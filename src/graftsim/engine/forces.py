"""From a state and commands to joint accelerations: where the engine names its variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.contact.law import ContactLaw
from graftsim.dynamics.aba import Articulated, articulated_inertia, held_by
from graftsim.dynamics.actuation import Commands, Driven, Seen, actuator_forces, delayed
from graftsim.dynamics.actuation.prescribed_motion import Prescribed, reaction
from graftsim.dynamics.constraints import Inertia, Pose, hold
from graftsim.dynamics.friction import Load, friction_secant
from graftsim.dynamics.kinematics import link_acceleration, world_transforms
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.medium import medium_forces
from graftsim.dynamics.motion import JointMotion, joint_motion, link_velocity
from graftsim.dynamics.passive import Resistance, displacements, resistance, with_friction
from graftsim.dynamics.paths import posed, site_arms, tendon_arms
from graftsim.dynamics.rnea import newton_euler
from graftsim.dynamics.tendons import Stretched, tendon_forces
from graftsim.dynamics.tree_acceleration import tree_acceleration
from graftsim.model.model import Joints
from graftsim.model.state import State
from graftsim.spatial.rotation import transpose
from graftsim.spatial.transform import Transform
from graftsim.spatial.vectors import force_at, velocity_at
from graftsim.taps import OFF, Tapper


class Acceleration(NamedTuple):
    """Joint accelerations, what the actuators' memory follows, and what both come from.

    articulated: the inertia, where contact or loops need it. held: forces of the loops, () without
    loops.
    """

    qdd: Float[Array, " nv"]
    seen: Seen
    motion: JointMotion
    X_0: Transform | None
    articulated: Inertia | None = None
    held: Any = ()


def acceleration(
    m: Mechanism,
    state: State,
    commands: Commands,
    *,
    contact: ContactLaw | None = None,
    implicit: Float[Array, ""] | None = None,
    scope: Tapper,
) -> Acceleration:
    """Joint accelerations (rad/s^2, m/s^2) of a state under commands.

    Lags must see the same commands as the drives, so what they follow goes back. Link poses (`X_0`)
    are computed where contact needs them. implicit: time (s) over which damping and dry friction
    are taken implicitly.
    """
    q = scope.tap("state.q", state.q)
    qd = scope.tap("state.qd", state.qd)
    motion = joint_motion(m, q, qd)
    placed = contact is not None or m.model.loop.names or m.model.through_space
    X_0 = world_transforms(m.tree, motion) if placed else None
    v = _moving(m, motion, X_0, scope)
    model, actuator = m.model, m.model.actuator
    q_dof, qd_dof = displacements(model, q, qd, scope=scope)
    # After the kinematics, so that a policy may see them.
    u = scope.tap("control.u", commands.u)
    resisting = resistance(model, q, q_dof, qd_dof, scope=scope)

    pose = Pose(motion, X_0, v, q_dof, qd_dof)

    def drive() -> tuple[Stretched, Driven]:
        tendons, reach = _stretched(m, pose, scope)
        late = scope.tap("actuator.delayed", delayed(actuator, commands, u))
        act = state.act
        return tendons, actuator_forces(actuator, late, act, q_dof, qd_dof, reach, scope=scope)

    known = commands.path.acceleration if isinstance(commands.path, Prescribed) else None
    tau, f_ext, driven, load = _forces(m, pose, contact, resisting, drive, known, scope)
    armature = _armature(model.joint, state.qd, load, implicit)
    qdd = tree_acceleration(m, motion, v, tau, f_ext, armature=armature, known=known, scope=scope)
    found = Acceleration(qdd, driven.seen, motion, X_0)
    if contact is not None or model.closed:
        H = articulated_inertia(m, motion, held_by(m, known), armature)
        found = found._replace(articulated=H)
    if model.closed:
        found, loops = _held(m, found, pose, scope)
        tau = tau + loops
    if known is not None:
        qdd = found.qdd
        scope.tap_lazily(lambda: {"joint.reaction": reaction(m, motion, v, qdd, f_ext, tau)})
    return found


class Forces(NamedTuple):
    """Joint forces, external ones on the links, the drives, and what friction under load hangs on.

    load: None where friction does not.
    """

    tau: Float[Array, " nv"]
    f_ext: Float[Array, "nl 6"]
    driven: Driven
    load: Load | None


def _forces(
    m: Mechanism,
    pose: Pose,
    contact: ContactLaw | None,
    resisting: Resistance,
    drive: Callable[[], tuple[Stretched, Driven]],
    known: Float[Array, " nv"] | None,
    scope: Tapper,
) -> Forces:
    """All forces but those of loops, each named where it is computed; known: accelerations that
    commands prescribe.
    """
    model, (motion, X_0, v, _, qd) = m.model, pose
    if not model.joint.load_dependent:
        passive = with_friction(model.joint, resisting, qd, scope=scope)
        tendons, driven = drive()
        if model.tendon.names:
            passive = passive + tendons.tau
        tau = scope.tap("joint.tau", passive + driven.tau)
        return Forces(tau, _external(m, contact, motion, X_0, v, scope), driven, None)
    # Friction comes last, because it depends on all other forces.
    tendons, driven = drive()
    f_ext = _external(m, contact, motion, X_0, v, scope)
    external = tendons.tau - newton_euler(m, motion, v, jnp.zeros_like(qd), f_ext)
    if model.closed:
        others = sum(resisting) + tendons.tau + driven.tau
        external = external + _loop_forces(m, pose, others, f_ext, known)
    load = Load(driven.tau, external)
    passive = with_friction(model.joint, resisting, qd, load, scope=scope)
    return Forces(scope.tap("joint.tau", passive + tendons.tau + driven.tau), f_ext, driven, load)


def _stretched(m: Mechanism, pose: Pose, scope: Tapper) -> tuple[Stretched, Stretched]:
    """The tendons, and with them the sites that actuators push."""
    model, space = m.model, posed(m, pose.motion, pose.X_0)
    arms = tendon_arms(model.tendon, pose.q_dof, space)
    tendons = tendon_forces(model.tendon, arms, pose.qd, scope=scope)
    if space is None or not model.actuator.sites:
        return tendons, tendons
    return tendons, tendons.beside(site_arms(space), pose.qd)


def _loop_forces(
    m: Mechanism,
    pose: Pose,
    tau: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"],
    known: Float[Array, " nv"] | None,
) -> Float[Array, " nv"]:
    """Joint forces of the loops under forces without dry friction, which hangs on them."""
    free = tree_acceleration(m, pose.motion, pose.v, tau, f_ext, known=known)
    held = hold(m, pose, free, articulated_inertia(m, pose.motion, held_by(m, known)))
    return held.force @ held.rows.J


def _moving(
    m: Mechanism, motion: JointMotion, X_0: Transform | None, scope: Tapper
) -> Float[Array, "nl 6"]:
    """Velocities of the links; names them and the poses."""

    # World poses are computed only when recorded: a tree without contact does not use them.
    def poses() -> dict[str, Array]:
        X = world_transforms(m.tree, motion) if X_0 is None else X_0
        return {"link.position": X.r, "link.rotation": transpose(X.E)}

    scope.tap_lazily(poses)
    v = scope.tap("link.velocity", link_velocity(m.tree, motion))
    scope.tap_lazily(lambda: {"link.com_velocity": velocity_at(v, m.model.link.com)})
    return v


def _armature(
    joint: Joints, qd: Float[Array, " nv"], load: Load | None, implicit: Float[Array, ""] | None
) -> Float[Array, " nv"]:
    """What rotors add to the inertia, and over `implicit` seconds damping and dry friction."""
    if implicit is None:
        return joint.armature
    return joint.armature + implicit * (joint.damping + friction_secant(joint, qd, load))


def _external(
    m: Mechanism,
    contact: ContactLaw | None,
    motion: JointMotion,
    X_0: Transform | None,
    v: Float[Array, "nl 6"],
    scope: Tapper,
) -> Float[Array, "nl 6"]:
    """Forces of contact, of a medium and of grafts on the links."""
    f = None if contact is None or X_0 is None else contact.forces(m, X_0, v, scope)
    if m.model.medium.link:
        around = medium_forces(m, motion, X_0, v)
        f = around if f is None else f + around
    nothing = jnp.zeros_like(v)
    at_com = scope.tap("link.com_force", nothing)
    if at_com is not nothing:
        around = force_at(at_com, m.model.link.com)
        f = around if f is None else f + around
    return scope.tap("link.force", jnp.zeros_like(v) if f is None else f)


def _held(
    m: Mechanism, found: Acceleration, pose: Pose, scope: Tapper
) -> tuple[Acceleration, Float[Array, " nv"]]:
    """The acceleration with loops and couplings closed, and the joint forces that close them."""
    assert isinstance(found.articulated, Articulated)
    held = hold(m, pose, found.qdd, found.articulated)
    scope.tap_lazily(lambda: {"loop.error": held.rows.error, "loop.force": held.force})
    if scope is not OFF:
        # What a network adds to accelerations it adds before loops are closed.
        scope.amend("joint.qdd", held.qdd)
        scope.amend("link.acceleration", link_acceleration(m, pose.motion, pose.v, held.qdd))
    closed = found._replace(qdd=held.qdd, articulated=held.inertia, held=held.force)
    return closed, held.force @ held.rows.J
