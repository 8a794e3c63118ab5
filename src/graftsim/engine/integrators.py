"""Integrators: frozen strategies that advance a state by one step of h seconds."""

from __future__ import annotations

import abc
from typing import Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from graftsim.contact.law import ContactLaw, Felt, Free
from graftsim.dynamics.actuation import Commands, Seen, next_act
from graftsim.dynamics.actuation.prescribed_motion import Prescribed, along, jolt
from graftsim.dynamics.mechanism import Mechanism, by_joint_type
from graftsim.engine.forces import Acceleration, acceleration
from graftsim.engine.pieces import Piece, in_pieces
from graftsim.model.state import State
from graftsim.model.tree import Tree
from graftsim.taps import Tapper


def move(
    tree: Tree, q: Float[Array, " nq"], qd: Float[Array, " nv"], h: Float[Array, ""]
) -> Float[Array, " nq"]:
    """Positions after moving with constant joint velocities for h seconds, on the manifold."""
    given = [(q, tree.q_rows), (qd, tree.v_rows)]
    return by_joint_type(tree, lambda kind, q, qd: kind.integrate(q, qd, h), given, tree.q_rows)


def displacement_rate(
    tree: Tree, d: Float[Array, " nv"], qd: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """Rate of the displacement d from a fixed position while the joints move with velocities qd."""
    given = [(d, tree.v_rows), (qd, tree.v_rows)]
    return by_joint_type(
        tree, lambda kind, d, qd: kind.displacement_rate(d, qd), given, tree.v_rows
    )


class Integrator(eqx.Module):
    """How a state moves on by h seconds.

    name: for flags and files. order: of its error in h, for smooth motion. impulses: can velocities
    jump at the end of its steps?
    """

    name: eqx.AbstractClassVar[str]
    order: eqx.AbstractClassVar[int]
    impulses: eqx.AbstractClassVar[bool]

    @abc.abstractmethod
    def advance(
        self,
        m: Mechanism,
        state: State,
        u: Commands,
        h: Float[Array, ""],
        scope: Tapper,
        contact: ContactLaw | None = None,
    ) -> State:
        """State after h seconds under commands u held constant."""


class Euler(Integrator):
    """Velocities first, impulses of contact included, then positions with them.

    A step is cut where an impact begins, as often as the contact law asks for.
    """

    order: ClassVar[int] = 1
    impulses: ClassVar[bool] = True

    @abc.abstractmethod
    def accelerate(
        self,
        m: Mechanism,
        state: State,
        u: Commands,
        h: Float[Array, ""],
        scope: Tapper,
        contact: ContactLaw | None = None,
    ) -> Acceleration:
        """What a step of h seconds uses as its acceleration."""

    def advance(
        self,
        m: Mechanism,
        state: State,
        u: Commands,
        h: Float[Array, ""],
        scope: Tapper,
        contact: ContactLaw | None = None,
    ) -> State:
        """One step."""

        def piece(
            state: State, left: Float[Array, ""], cut: Bool[Array, ""] | bool, scope: Tapper
        ) -> Piece:
            found = self.accelerate(m, state, u, left, scope, contact)
            return _euler(m, state, left, found, cut, contact, scope, u.path)

        cuts = 0 if contact is None else contact.located_impacts()
        return in_pieces(piece, state, h, cuts, scope)


def _euler(
    m: Mechanism,
    state: State,
    h: Float[Array, ""],
    found: Acceleration,
    cut: Bool[Array, ""] | bool,
    contact: ContactLaw | None,
    scope: Tapper,
    path: Prescribed | tuple[()],
) -> Piece:
    """A step, or a piece of it."""
    qd = mean = state.qd + h * found.qdd
    impulse, span, felt = state.impulse, h, ()
    if contact is not None:
        assert found.X_0 is not None and found.articulated is not None
        free = Free(found.motion, found.X_0, found.articulated, qd)
        qd, mean, impulse, h, span, felt = contact.velocities(m, free, state, h, cut, scope)
        if felt and not isinstance(felt.loops, tuple):
            felt = felt._replace(loops=felt.loops + h * found.held)
        if path and isinstance(felt, Felt):
            # Impulses alone: the forces of a piece have changed velocities for its time.
            change = qd - state.qd - h * found.qdd
            impulse_of_path = jolt(m, found.motion, change, felt.links)
            felt = felt._replace(motion=impulse_of_path + h * scope["joint.reaction"])  # type: ignore[index]
    mean = along(m, path, mean, h / span)
    act = next_act(m.model.actuator, found.seen, state.act, h)
    return Piece(
        State(q=move(m.tree, state.q, mean, span), qd=qd, act=act, impulse=impulse), h, felt
    )


class SemiImplicitEuler(Euler):
    """First the velocity, then the position with it: qd' = qd + h qdd, q' = q + h qd'.

    First order, symplectic for conservative systems; the papers' integrator and MuJoCo's `Euler`
    without damping.
    """

    name: ClassVar[str] = "semi_implicit_euler"

    def accelerate(
        self,
        m: Mechanism,
        state: State,
        u: Commands,
        h: Float[Array, ""],
        scope: Tapper,
        contact: ContactLaw | None = None,
    ) -> Acceleration:
        """That of the state."""
        return acceleration(m, state, u, contact=contact, scope=scope)


class ImplicitDamping(Euler):
    """Semi-implicit Euler with joint damping and dry friction taken implicitly.

    (H + h D) qdd = tau - C, D diagonal and never negative: to the algorithm, an armature of h D.
    Friction enters by its secant -friction(qd)/qd, not its slope: however steep it is and however
    large the step, it slows a joint down without turning it round, so it never adds energy.
    With viscous damping alone it is MuJoCo's `Euler`.
    """

    name: ClassVar[str] = "implicit_damping"

    def accelerate(
        self,
        m: Mechanism,
        state: State,
        u: Commands,
        h: Float[Array, ""],
        scope: Tapper,
        contact: ContactLaw | None = None,
    ) -> Acceleration:
        """That of the state, with an armature of h D."""
        return acceleration(m, state, u, contact=contact, implicit=h, scope=scope)


class RungeKutta4(Integrator):
    """Classical fourth-order Runge-Kutta for the displacement from the start of the step.

    Averaging the body-frame velocities of the stages would leave quaternions with second order;
    their displacement obeys r' = `rotation.rotvec_rate` (Munthe-Kaas 1998), and the order is four.
    """

    name: ClassVar[str] = "rk4"
    order: ClassVar[int] = 4
    impulses: ClassVar[bool] = False

    def advance(
        self,
        m: Mechanism,
        state: State,
        u: Commands,
        h: Float[Array, ""],
        scope: Tapper,
        contact: ContactLaw | None = None,
    ) -> State:
        """One step; variables are named at its start."""
        tree, actuator = m.tree, m.model.actuator
        k1, s1, *_ = acceleration(m, state, u, contact=contact, scope=scope)

        def stage(d: Array, dv: Array, dt: Array, seen: Seen) -> State:
            return State(
                q=move(tree, state.q, d, jnp.ones_like(h)),
                qd=state.qd + dv,
                act=next_act(actuator, seen, state.act, dt),
            )

        def slope(d: Array, s: State) -> tuple[Array, Array, Seen]:
            found = acceleration(m, s, u, contact=contact, scope=scope.again())
            return displacement_rate(tree, d, s.qd), found.qdd, found.seen

        def mean(x1: Any, x2: Any, x3: Any, x4: Any) -> Any:
            return (x1 + 2 * (x2 + x3) + x4) / 6

        r1 = state.qd
        d2 = h / 2 * r1
        r2, k2, s2 = slope(d2, stage(d2, h / 2 * k1, h / 2, s1))
        d3 = h / 2 * r2
        r3, k3, s3 = slope(d3, stage(d3, h / 2 * k2, h / 2, s2))
        d4 = h * r3
        r4, k4, s4 = slope(d4, stage(d4, h * k3, h, s3))
        # The commands, and with them what lags follow, are the same in all stages.
        seen = s1._replace(rate=mean(s1.rate, s2.rate, s3.rate, s4.rate))
        return stage(h * mean(r1, r2, r3, r4), h * mean(k1, k2, k3, k4), h, seen)
