"""Integrators: frozen strategies that advance a state by one step of h seconds."""

from __future__ import annotations

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.actuation import next_act
from graftsim.dynamics.mechanism import Mechanism, assemble, rows
from graftsim.dynamics.passive import friction
from graftsim.engine.forces import acceleration
from graftsim.model.state import State
from graftsim.model.tree import Tree
from graftsim.taps import Tapper


def move(
    tree: Tree, q: Float[Array, " nq"], qd: Float[Array, " nv"], h: Float[Array, ""]
) -> Float[Array, " nq"]:
    """Positions after moving with constant joint velocities for h seconds, on the manifold."""
    pieces, index = [], []
    for kind, links in tree.groups:
        if kind.nq == 0:
            continue
        q_rows = np.concatenate([tree.q_index[i] for i in links])
        v_rows = np.concatenate([tree.v_index[i] for i in links])
        qk = rows(q, q_rows).reshape(len(links), kind.nq)
        qdk = rows(qd, v_rows).reshape(len(links), kind.nv)
        pieces.append(kind.integrate(qk, qdk, h).reshape(-1))
        index.append(q_rows)
    return assemble(pieces, index) if pieces else q


class Integrator(eqx.Module):
    """How a state moves on by h seconds."""

    @abc.abstractmethod
    def advance(
        self, m: Mechanism, state: State, u: Float[Array, " nu"], h: Float[Array, ""], scope: Tapper
    ) -> State:
        """State after h seconds under commands u held constant."""


class SemiImplicitEuler(Integrator):
    """First the velocity, then the position with the new velocity: qd' = qd + h qdd, q' = q + h qd'.

    First order, symplectic for conservative systems; the papers' integrator and MuJoCo's `Euler`
    without damping.
    """

    def advance(
        self, m: Mechanism, state: State, u: Float[Array, " nu"], h: Float[Array, ""], scope: Tapper
    ) -> State:
        """One step."""
        qd = state.qd + h * acceleration(m, state, u, scope=scope)
        act = next_act(m.model.actuator, u, state.act, h)
        return State(q=move(m.tree, state.q, qd, h), qd=qd, act=act)


class ImplicitDamping(Integrator):
    """Semi-implicit Euler with the slopes of joint damping and dry friction taken implicitly.

    (H + h D) qdd = tau - C, D diagonal and never negative: to the algorithm D is h D kg m^2 of armature.
    Stable for any damping and any friction slope; with viscous damping alone it is MuJoCo's `Euler`.
    """

    def advance(
        self, m: Mechanism, state: State, u: Float[Array, " nu"], h: Float[Array, ""], scope: Tapper
    ) -> State:
        """One step."""
        joint = m.model.joint
        _, slope = jax.jvp(lambda v: friction(joint, v), (state.qd,), (jnp.ones_like(state.qd),))
        D = joint.damping + jnp.maximum(-slope, 0.0)
        qdd = acceleration(m, state, u, extra_armature=h * D, scope=scope)
        qd = state.qd + h * qdd
        act = next_act(m.model.actuator, u, state.act, h)
        return State(q=move(m.tree, state.q, qd, h), qd=qd, act=act)


class RungeKutta4(Integrator):
    """Classical fourth-order Runge-Kutta, positions moved on their manifold (as MuJoCo's RK4)."""

    def advance(
        self, m: Mechanism, state: State, u: Float[Array, " nu"], h: Float[Array, ""], scope: Tapper
    ) -> State:
        """One step; variables are named at its start."""
        tree, actuator = m.tree, m.model.actuator

        def stage(qd: Array, qdd: Array, fraction: float) -> State:
            dt = fraction * h
            return State(
                q=move(tree, state.q, qd, dt),
                qd=state.qd + dt * qdd,
                act=next_act(actuator, u, state.act, dt),
            )

        k1 = acceleration(m, state, u, scope=scope)
        s2 = stage(state.qd, k1, 0.5)
        k2 = acceleration(m, s2, u, scope=scope.again())
        s3 = stage(s2.qd, k2, 0.5)
        k3 = acceleration(m, s3, u, scope=scope.again())
        s4 = stage(s3.qd, k3, 1.0)
        k4 = acceleration(m, s4, u, scope=scope.again())
        return stage(
            (state.qd + 2 * s2.qd + 2 * s3.qd + s4.qd) / 6, (k1 + 2 * k2 + 2 * k3 + k4) / 6, 1.0
        )
