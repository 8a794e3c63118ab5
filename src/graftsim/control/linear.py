"""Tangent coordinates of a state, and the linearisation of many steps at once.

dx = (dq [nv], dqd [nv], dact [na], what grafts remember, commands that are held back): numbers by
which a state differs from another on the manifold of its joints. The impulses of contacts, a first
guess of the next search, are no part of it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from graftsim.control.ilqr_programs import Form, Packed, program
from graftsim.dynamics.mechanism import by_joint_type
from graftsim.engine.integrators import move
from graftsim.engine.simulator import Simulator
from graftsim.model.state import State
from graftsim.model.tree import Tree


class Linear(NamedTuple):
    """dx' = A dx + B du of each step, in tangent coordinates."""

    A: Float[Array, "t n n"]
    B: Float[Array, "t n m"]


def tangent_size(state: State) -> int:
    """How many numbers a displacement of one state has: n."""
    others = jax.tree.leaves((state.act, state.memory, state.held))
    return 2 * state.qd.shape[-1] + sum(int(np.prod(x.shape)) for x in others)


def displace(tree: Tree, state: State, dx: Float[Array, " n"]) -> State:
    """The state dx further, on the manifold of the joints."""
    nv = tree.nv
    others, unravel = ravel_pytree((state.act, state.memory, state.held))
    act, memory, held = unravel(others + dx[2 * nv :])
    q = move(tree, state.q, dx[:nv], jnp.ones((), state.q.dtype))
    return replace(state, q=q, qd=state.qd + dx[nv : 2 * nv], act=act, memory=memory, held=held)


def difference(tree: Tree, start: State, end: State) -> Float[Array, " n"]:
    """dx that takes `start` to `end`."""
    given = [(start.q, tree.q_rows), (end.q, tree.q_rows)]
    dq = by_joint_type(tree, lambda kind, q0, q1: kind.difference(q0, q1), given, tree.v_rows)
    before, after = (ravel_pytree((s.act, s.memory, s.held))[0] for s in (start, end))
    return jnp.concatenate([dq, end.qd - start.qd, after - before])


@dataclass(frozen=True)
class Columns:
    """Change of the state after a step along displacements of positions ("q"), of the rest of the
    state ("x") or of the commands ("u"): the others cost nothing.
    """

    form: Form
    part: str

    def __call__(self, numbers: Array, state: State, u: Array, seed: Array) -> Float[Array, " n"]:
        """Along one displacement, a seed."""
        simulator = self.form.unpack(numbers)
        tree = simulator.model.tree
        rest = jnp.zeros(tangent_size(state) - tree.nv, u.dtype)

        def moved(d: Array) -> State:
            if self.part == "u":
                return simulator.step(state, u + d)
            if self.part == "q":
                dx = jnp.concatenate([d, rest])
            else:
                dx = jnp.concatenate([jnp.zeros(tree.nv, u.dtype), d])
            return simulator.step(displace(tree, state, dx), u)

        after, change = jax.jvp(moved, (jnp.zeros_like(seed),), (seed,))
        return jax.jvp(lambda end: difference(tree, after, end), (after,), (change,))[1]


def linearise(simulator: Simulator, states: State, controls: Float[Array, "t nu"]) -> Linear:
    """A [T, n, n] and B [T, n, nu] of the steps from `states` under `controls`.

    `states` have leading axis T, or T + 1 as a roll-out has them. All steps and all tangents lie
    side by side in the lanes of three kernel calls: displacements of positions, of the rest of the
    state, and of commands. Contact and impacts included.
    """
    packed = Packed.of(simulator)
    return _linearise(packed.form, packed.numbers, states, jnp.asarray(controls))


@partial(jax.jit, static_argnums=0)
def _linearise(form: Form, numbers: Array, states: State, controls: Array) -> Linear:
    return linear_steps(form, numbers, states, controls)


def linear_steps(form: Form, numbers: Array, states: State, controls: Array) -> Linear:
    """`linearise`, to be traced inside a jitted function."""
    T = controls.shape[0]
    states = jax.tree.map(lambda x: x[:T], states)
    one = jax.tree.map(lambda x: x[0], states)
    n, nv, m = tangent_size(one), one.qd.shape[-1], controls.shape[1]
    found = []
    for part, size in (("q", nv), ("x", n - nv), ("u", m)):
        if not size:
            found.append(jnp.zeros((T, n, 0), controls.dtype))
            continue
        seeds = jnp.eye(size, dtype=controls.dtype)
        f = program(Columns(form, part), numbers, one, controls[0], seeds[0], form=form)
        each = jax.vmap(f, (None, None, None, 0), out_axes=1)
        found.append(jax.vmap(each, (None, 0, 0, None))(numbers, states, controls, seeds))
    return Linear(jnp.concatenate(found[:2], -1), found[2])
