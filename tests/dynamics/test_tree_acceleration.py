"""The derivative by inverse dynamics is that of the articulated-body algorithm itself."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

import zoo
from graftsim.dynamics.aba import aba
from graftsim.dynamics.mechanism import prepare
from graftsim.dynamics.motion import joint_motion, link_velocity
from graftsim.dynamics.tree_acceleration import tree_acceleration

SMALL = zoo.Topology((-1, 0, 1), ("revolute", "spherical", "prismatic"), (False,) * 3)


def given(model, seed=2):
    """Arguments (model's numbers, q, qd, tau, f_ext, armature) of an acceleration, as arrays."""
    q, qd = (jnp.asarray(x) for x in zoo.random_state(model, seed))
    rng = np.random.default_rng(seed)
    tau, f_ext = rng.normal(size=model.nv), rng.normal(size=(model.tree.nl, 6))
    numbers, rest = eqx.partition(model, eqx.is_inexact_array)
    arguments = numbers, q, qd, jnp.asarray(tau), jnp.asarray(f_ext), jnp.full(model.nv, 0.03)
    return arguments, rest


def by(solver, rest):
    """Accelerations as a function of those arguments."""

    def f(numbers, q, qd, tau, f_ext, armature):
        m = prepare(eqx.combine(numbers, rest))
        motion = joint_motion(m, q, qd)
        v = link_velocity(m.tree, motion)
        return solver(m, motion, v, tau, f_ext, armature=armature)

    return f


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_derivatives_in_every_argument(mode):
    """In the model's numbers, the state, all forces and the armature."""
    arguments, rest = given(zoo.random_model(zoo.every_type(), 4))
    found, wanted = (
        zoo.jit(mode(by(solver, rest), argnums=tuple(range(6))))(*arguments)
        for solver in (tree_acceleration, aba)
    )
    for a, b in zip(jax.tree.leaves(found), jax.tree.leaves(wanted), strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(b).max(initial=0.0)))
    assert np.abs(ravel_pytree(wanted)[0]).max() > 1.0


def test_second_derivatives():
    """The rule can be differentiated again."""
    (numbers, q, qd, *loads), rest = given(zoo.random_model(SMALL, 4))

    def of(solver):
        return zoo.jit(jax.hessian(lambda x: by(solver, rest)(numbers, q, x, *loads)))(qd)

    found, wanted = of(tree_acceleration), of(aba)
    assert np.abs(wanted).max() > 1e-3
    assert np.allclose(found, wanted, rtol=1e-9, atol=1e-10)


def test_prescribed_accelerations(monkeypatch):
    """In joints whose motion is given the accelerations follow; the others feel their change."""
    model = zoo.random_model(zoo.every_type(), 4)
    link = next(i for i, kind in enumerate(model.tree.joint_types) if kind.nv == 1)
    monkeypatch.setattr(type(model), "guided", property(lambda _: (link,)))
    own = model.tree.v_index[link]
    known = jnp.zeros(model.nv).at[jnp.asarray(own)].set(0.7)
    (numbers, q, qd, tau, f_ext, armature), rest = given(model)

    def of(solver):
        def f(x, tau):
            def prescribed(*arguments, armature):
                return solver(*arguments, armature=armature, known=known.at[own[0]].set(x))

            return by(prescribed, rest)(numbers, q, qd, tau, f_ext, armature)

        return zoo.jit(jax.jacfwd(f, (0, 1)))(0.7, tau)

    found, wanted = of(tree_acceleration), of(aba)
    assert np.abs(wanted[0]).max() > 0.1 and np.isclose(wanted[0][own[0]], 1.0)
    assert np.allclose(wanted[1][own], 0.0)
    for a, b in zip(found, wanted, strict=True):
        assert np.allclose(a, b, rtol=1e-9, atol=1e-9)
