"""Prescribed motion: joints that are, at the end of each step, where their commands say.

Within a step such a joint has the acceleration (v - qd) / dt and moves on with the mean velocity
(p - q) / dt, p the commanded position and v the velocity there. Both are computed once a step, so
sub-steps and pieces of a step go along one line.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.actuation.delay import control_owners
from graftsim.dynamics.mechanism import Mechanism, rows
from graftsim.dynamics.motion import JointMotion
from graftsim.dynamics.rnea import newton_euler
from graftsim.model.model import Actuators
from graftsim.model.state import State
from graftsim.model.tree import Tree


class Prescribed(NamedTuple):
    """Of a step: where the joints of k paths end, their velocities there, accelerations and mean
    velocities of all degrees of freedom (0 of those without a path).
    """

    position: Float[Array, " k"]
    velocity: Float[Array, " k"]
    acceleration: Float[Array, " nv"]
    rate: Float[Array, " nv"]


def prescribed(
    m: Mechanism, state: State, u: Float[Array, " nu"], dt: Float[Array, ""]
) -> Prescribed | tuple[()]:
    """The motion in a step from a state under commands u; () without paths."""
    if not m.model.guided:
        return ()
    a, zero = m.model.actuator, jnp.zeros_like(state.qd)
    own, dofs = path_rows(a)
    gear = rows(a.gear, own)
    position = rows(u, own) / gear
    rate = (position - rows(state.q, coordinates(m.tree, dofs))) / dt
    velocity = rate
    owners = control_owners(a)
    for k, i in enumerate(own):
        if "velocity" in a.inputs[i]:
            column = np.flatnonzero(owners == i)[1 + a.inputs[i].index("velocity")]
            velocity = velocity.at[k].set(u[column] / gear[k])
    acceleration = (velocity - rows(state.qd, dofs)) / dt
    return Prescribed(position, velocity, zero.at[dofs].set(acceleration), zero.at[dofs].set(rate))


def along(
    m: Mechanism, path: Prescribed | tuple[()], qd: Float[Array, " nv"], share: Float[Array, ""]
) -> Float[Array, " nv"]:
    """Velocities that positions move with; joints with a path go on for this share of the time."""
    if isinstance(path, Prescribed):
        dofs = path_rows(m.model.actuator)[1]
        return qd.at[dofs].set(share * rows(path.rate, dofs))
    return qd


def arrived(m: Mechanism, path: Prescribed | tuple[()], state: State) -> State:
    """A state at the end of a step with its joints exactly where their paths end."""
    if isinstance(path, Prescribed):
        dofs = path_rows(m.model.actuator)[1]
        q = state.q.at[coordinates(m.tree, dofs)].set(path.position)
        return replace(state, q=q, qd=state.qd.at[dofs].set(path.velocity))
    return state


def path_rows(actuator: Actuators) -> tuple[np.ndarray, np.ndarray]:
    """Actuators [k] that are paths, and their degrees of freedom."""
    own = np.flatnonzero([d.prescribes for d in actuator.drives])
    return own, np.array(actuator.dof, int)[own]


def coordinates(tree: Tree, dofs: np.ndarray) -> np.ndarray:
    """Rows of q of degrees of freedom whose joints have as many coordinates, one by one."""
    place = {int(d): int(c) for v, q in zip(tree.v_index, tree.q_index, strict=True)
             for d, c in zip(v, q, strict=False)}  # fmt: skip
    return np.array([place[int(d)] for d in dofs], int)


def reaction(
    m: Mechanism,
    motion: JointMotion,
    v: Float[Array, "nl 6"],
    qdd: Float[Array, " nv"],
    f_ext: Float[Array, "nl 6"],
    tau: Float[Array, " nv"],
) -> Float[Array, " nv"]:
    """Forces (N m, N) that keep joints on their paths, beside joint forces tau; 0 of others."""
    dofs = path_rows(m.model.actuator)[1]
    needed = newton_euler(m, motion, v, qdd, f_ext) - tau
    return jnp.zeros_like(qdd).at[dofs].set(rows(needed, dofs))


def jolt(
    m: Mechanism, motion: JointMotion, change: Float[Array, " nv"], links: Float[Array, "nl 6"]
) -> Float[Array, " nv"]:
    """Impulses (N m s, N s) that keep joints on their paths while velocities change at once under
    impulses on the links; 0 of others.
    """
    at_rest, none = jnp.zeros_like(links), jnp.zeros_like(change)
    return reaction(m, motion, at_rest, change, links, none) - reaction(
        m, motion, at_rest, none, at_rest, none
    )
