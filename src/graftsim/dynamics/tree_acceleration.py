"""Accelerations of a tree by the articulated-body algorithm, their derivative by inverse dynamics.

Of H qdd + C = tau the implicit function theorem makes H dqdd = dtau - dID at fixed qdd [Carpentier
and Mansard 2018]: what is differentiated is the recursive Newton-Euler algorithm, which goes out
and in once with vectors, not the articulated inertias; and H stands factorised already. Forward
mode, reverse mode (by transposition) and derivatives of any order are this one rule.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.aba import aba, articulated_inertia, held_by
from graftsim.dynamics.kinematics import link_acceleration
from graftsim.dynamics.mechanism import Mechanism
from graftsim.dynamics.motion import JointMotion
from graftsim.dynamics.rnea import newton_euler
from graftsim.taps import OFF, Tapper


def tree_acceleration(
    m: Mechanism,
    motion: JointMotion,
    v: Float[Array, "nl 6"],
    tau: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"] | None,
    *,
    armature: Float[Array, " nv"] | None = None,
    known: Float[Array, " nv"] | None = None,
    scope: Tapper = OFF,
) -> Float[Array, " nv"]:
    """qdd (rad/s^2, m/s^2) of joints without loops, given joint motion and link velocities.

    armature: instead of the model's. known: as `aba` takes it.
    """
    armature = m.model.joint.armature if armature is None else armature
    qdd = _accelerations(m, motion, v, tau, f_ext, armature, known)
    scope.tap_lazily(lambda: {"link.acceleration": link_acceleration(m, motion, v, qdd)})
    return scope.tap("joint.qdd", qdd)


@eqx.filter_custom_jvp
def _accelerations(
    m: Mechanism,
    motion: JointMotion,
    v: Float[Array, "nl 6"],
    tau: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"] | None,
    armature: Float[Array, " nv"],
    known: Float[Array, " nv"] | None,
) -> Float[Array, " nv"]:
    return aba(m, motion, v, tau, f_ext, armature=armature, known=known)


@_accelerations.def_jvp
def _by_inverse_dynamics(primals: Any, tangents: Any) -> tuple[Array, Array]:
    qdd = _accelerations(*primals)
    m, motion, _, _, _, armature, known = primals
    held = held_by(m, known)
    given = np.isin(m.tree.link_of_dof, held)

    def lacking(m: Mechanism, motion: JointMotion, v: Array, tau: Array, *others: Any) -> Array:
        """tau - ID at fixed accelerations, but for those that are prescribed."""
        f_ext, armature, known = others
        fixed = qdd if known is None else jnp.where(given, known, qdd)
        return tau - newton_euler(m, motion, v, fixed, f_ext, armature=armature)

    _, rest = eqx.filter_jvp(lacking, primals, tangents)
    if rest is None:
        return qdd, jnp.zeros_like(qdd)
    H = articulated_inertia(m, motion, held, armature)
    _, y = H.innovations(jnp.zeros((m.tree.nl, 1, 6), rest.dtype), rest[:, None])
    change = H.response(y)[:, 0]
    known_change = tangents[-1]
    return qdd, change if known_change is None else change + jnp.where(given, known_change, 0.0)
