"""Linearised steps: against JAX's derivatives of the plain step, and wide differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from controlled import double_pendulum

import graftsim as gs
import zoo
from graftsim import control
from graftsim.control.linear import tangent_size


def sliding_box(friction=0.3):
    """A free box on a floor, pushed along by a thruster at its centre."""
    b = gs.Builder("box")
    b.geom("plane", (), name="floor", friction=friction)
    b.link("box", joint="free", mass=1.0, inertia=0.01)
    b.geom("sphere", 0.1, "box", name="ball", friction=friction)
    b.actuator("push", "box.x")
    return gs.Simulator(b.build(), 0.01, contact=gs.contact.Complementarity())


def _by_jax(simulator, state, u):
    tree, n = simulator.model.tree, tangent_size(state)
    after = simulator.step(state, u)

    def moved(dx, du):
        new = simulator.step(control.displace(tree, state, dx), u + du)
        return control.difference(tree, after, new)

    return jax.jacfwd(moved, (0, 1))(jnp.zeros(n), jnp.zeros(len(u)))


by_jax = zoo.jit(_by_jax)


def test_steps_of_a_motion_are_linearised_as_jax_does():
    """Every step at once, beside one step by forward mode of the plain step."""
    simulator = double_pendulum()
    u = jnp.asarray(np.random.default_rng(0).normal(size=(20, 2)))
    motion = simulator.rollout(simulator.initial_state(), u)
    A, B = control.linearise(simulator, motion.states, u)
    for t in (0, 7, 19):
        right = by_jax(simulator, jax.tree.map(lambda x, t=t: x[t], motion.states), u[t])
        np.testing.assert_allclose(A[t], right[0], atol=1e-12)
        np.testing.assert_allclose(B[t], right[1], atol=1e-12)


@pytest.mark.long
def test_orientations_and_contact_are_linearised():
    """A ball that lands, with friction and spin: products of A are the motion's own slopes."""
    simulator = sliding_box()
    start = simulator.initial_state({"box.z": 0.15}, {"box.x": 1.0, "box.ry": 2.0})
    u = jnp.full((40, 1), 0.5)
    motion = simulator.rollout(start, u)
    A, B = control.linearise(simulator, motion.states, u)
    assert A.shape == (40, 12, 12) and B.shape == (40, 12, 1)
    whole = np.linalg.multi_dot(np.asarray(A)[::-1])
    tree, h = simulator.model.tree, 1e-5
    start = jax.tree.map(lambda x: x[0], motion.states)

    def end(dx):
        states = simulator.rollout(control.displace(tree, start, dx), u).states
        return jax.tree.map(lambda x: x[-1], states)

    there, back = (jax.vmap(end)(s * h * jnp.eye(12)) for s in (1, -1))
    right = jax.vmap(lambda b, a: control.difference(tree, b, a))(back, there) / (2 * h)
    np.testing.assert_allclose(whole, right.T, atol=2e-4)


def test_a_displacement_and_its_difference_are_inverse():
    """On a free joint: what is added comes back."""
    simulator = sliding_box()
    state = simulator.initial_state({"box.z": 0.5})
    dx = jnp.asarray(np.random.default_rng(1).normal(size=12))
    tree = simulator.model.tree

    @zoo.jit
    def back(state, dx):
        return control.difference(tree, state, control.displace(tree, state, dx))

    np.testing.assert_allclose(back(state, dx), dx, atol=1e-12)
