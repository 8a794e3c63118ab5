"""Gradients through time: closed forms, rest, long chains, and an unchanged forward pass."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from differences import column_errors, jacobians
from graftsim import dynamics
from graftsim.engine import ImplicitDamping, RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.engine.rollout import scan_steps
from graftsim.errors import ModelError
from graftsim.model import Builder
from graftsim.model.state import State
from graftsim.spatial import safe

INTEGRATORS = [SemiImplicitEuler(), ImplicitDamping(), RungeKutta4()]


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_free_fall(integrator):
    """G1: d(x_T)/d(x_0) = 1 exactly, d(x_T)/d(v_0) = T, in both modes under jit and vmap."""
    model = Builder("ball").link("ball", joint="free", mass=0.3, inertia=1e-3).build()
    simulator = Simulator(model, 0.01, integrator=integrator)
    state = simulator.initial_state()

    def end(x0, v0):
        q, qd = state.q.at[:3].set(x0), state.qd.at[:3].set(v0)
        start = State(q=q, qd=qd, act=state.act)
        return scan_steps(simulator, start, jnp.zeros((100, 0))).q[-1, :3]

    points = jnp.array([[0.0, 0.0, 2.0], [1.0, -3.0, 0.1]])

    # The Runge-Kutta program is four times as long to compile: one mode.
    modes = [jax.jacrev] if isinstance(integrator, RungeKutta4) else [jax.jacfwd, jax.jacrev]
    for mode in modes:
        by_x, by_v = zoo.jit(jax.vmap(mode(end, argnums=(0, 1))))(points, points)
        assert np.array_equal(by_x, np.broadcast_to(np.eye(3), (2, 3, 3)))
        assert np.allclose(by_v, np.eye(3), rtol=1e-13, atol=1e-15)


def test_hanging_pendulum_at_rest():
    """G2: the gradient of a roll-out at rest is the power of the linearised step's matrix."""
    model = zoo.chain(3, damping=0.3)
    simulator = Simulator(model, 0.01)
    zero = jnp.zeros(3)

    def end(x):
        state = State(q=x[:3], qd=x[3:], act=jnp.zeros(0))
        last = jax.tree.map(
            lambda a: a[-1], scan_steps(simulator, state, jnp.zeros((50, 0))).states
        )
        return jnp.concatenate([last.q, last.qd])

    H = np.asarray(dynamics.mass_matrix(model, zero))
    K = np.asarray(zoo.jit(jax.hessian(lambda q: dynamics.potential_energy(model, q)))(zero))
    eye, h = np.eye(3), 0.01
    new_qd = np.hstack([-h * np.linalg.solve(H, K), eye - h * np.linalg.solve(H, 0.3 * eye)])
    step = np.vstack([np.hstack([eye, 0 * eye]) + h * new_qd, new_qd])
    for mode in (jax.jacfwd, jax.jacrev):
        found = zoo.jit(mode(end))(jnp.zeros(6))
        assert np.allclose(found, np.linalg.matrix_power(step, 50), rtol=1e-9, atol=1e-9)


def rollout_of_chain(n, steps=100):
    """End of a roll-out as a function of masses, lengths and damping of n slender rods."""
    template = zoo.chain(n)

    def end(theta):
        mass, length, damping = theta
        zero = jnp.zeros(n)
        down = jnp.stack([zero, zero, -length], 1)
        across = mass * length**2 / 12
        inertia = jnp.stack([across, across, zero + 1e-4, zero, zero, zero], 1)
        model = eqx.tree_at(
            lambda m: (m.link.mass, m.link.com, m.link.inertia, m.joint.origin, m.joint.damping),
            template,
            (mass, down / 2, inertia, jnp.concatenate([jnp.zeros((1, 3)), down[:-1]]), damping),
        )
        simulator = Simulator(model, 0.002)
        state = simulator.initial_state(q=0.3 * jnp.ones(n), qd=jnp.linspace(-1, 1, n))
        states = scan_steps(simulator, state, jnp.zeros((steps, 0))).states
        return jnp.array([jnp.mean(states.q**2), jnp.mean(states.qd**2)])

    theta = (jnp.linspace(1.0, 0.5, n), jnp.linspace(0.5, 0.3, n), jnp.linspace(0.05, 0.1, n))
    return end, theta


@pytest.mark.parametrize("n", [1, 2, 5, 12, pytest.param(30, marks=pytest.mark.slow)])
def test_chain_gradients(n):
    """G11: gradients of a 100-step roll-out in all masses, lengths and damping, to 1e-6."""
    end, theta = rollout_of_chain(n)
    forward, reverse, differences = jacobians(end)(theta)
    assert np.all(np.isfinite(forward))
    assert column_errors(forward, differences).max() < 1e-6
    assert column_errors(reverse, differences).max() < 1e-6


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda i: type(i).__name__)
def test_forward_pass_is_bit_identical_with_gradients(integrator):
    """G18: the trajectory that value_and_grad returns equals the plain one bit for bit."""
    # Three stages more make the Runge-Kutta program long: one link is enough for it.
    n = 1 if isinstance(integrator, RungeKutta4) else 2
    simulator = Simulator(zoo.chain(n, damping=0.1), 0.005, integrator=integrator)
    state = simulator.initial_state(q=[0.4, -1.0][:n], qd=[1.0, 2.0][:n])
    controls = jnp.zeros((100, 0))

    def loss(simulator, state):
        trajectory = scan_steps(simulator, state, controls)
        return jnp.sum(trajectory.q**2), trajectory.q

    plain = jax.jit(lambda s, x: loss(s, x)[1])(simulator, state)
    (_, with_grad), _ = jax.jit(jax.value_and_grad(loss, has_aux=True))(simulator, state)
    assert np.array_equal(np.asarray(plain), np.asarray(with_grad))


def test_drag_is_smooth_at_rest():
    """G3: a drag c |v| v added by an augmentation has a finite, vanishing gradient at v = 0."""
    model = zoo.pendulum(inertia=0.1)
    simulator = Simulator(model, 0.01)

    def drag(tau, scope):
        v = scope["link.velocity"]
        return tau - 0.5 * jnp.sum(safe.norm(v)) * scope["joint.qd"]

    def end(x, augmentations):
        state = State(q=x[:1], qd=x[1:], act=jnp.zeros(0))
        return scan_steps(simulator, state, jnp.zeros((20, 0)), (), augmentations).q[-1]

    for mode in (jax.jacfwd, jax.jacrev):
        program = zoo.jit(mode(lambda x: end(x, {"joint.tau_passive": drag})))
        without = zoo.jit(mode(lambda x: end(x, None)))
        assert np.allclose(program(jnp.zeros(2)), without(jnp.zeros(2)), rtol=1e-12)
        assert not np.allclose(program(jnp.ones(2)), without(jnp.ones(2)), rtol=1e-3)


def test_unnormalised_quaternion_moves_as_the_normalised_one():
    """G15: from |q| = 1.1 a step goes where it goes from q / |q|, with the projected gradient."""
    model = zoo.random_model(zoo.every_type(), 31)
    q, qd = map(jnp.asarray, zoo.random_state(model, 32, speed=0.5))
    quaternion = np.array([".q" in name for name in model.tree.coordinates])
    scale = jnp.asarray(np.where(quaternion, 1.1, 1.0))

    @zoo.jit
    def step(q):
        def end(q):
            simulator = Simulator(model, 0.01)
            state = simulator.step(State(q=q, qd=qd, act=jnp.zeros(0)))
            return jnp.concatenate([state.q, state.qd])

        value, pull = jax.vjp(end, q)
        return value, pull(jnp.linspace(1, 2, value.size))[0]

    value, gradient = step(q)
    value_longer, gradient_longer = step(q * scale)
    assert np.allclose(value, value_longer, rtol=1e-12, atol=1e-12)
    assert np.allclose(gradient, gradient_longer * scale, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("backend", ["kernel", "xla"])
def test_whichever_states_are_kept(backend):
    """Values, gradients and central differences agree, also side by side and in one block."""
    simulator = Simulator(zoo.chain(2, damping=0.1), 0.01)
    controls = jnp.zeros((12, 0))

    def loss(q, mass, every):
        heavy = eqx.tree_at(lambda s: s.model.link.mass, simulator, mass)
        state = State(q=q, qd=jnp.ones(2), act=jnp.zeros(0))
        run = heavy.rollout(state, controls, backend=backend, keep_every=every, record=["joint.qd"])
        return jnp.sum(run.q[-1] ** 2) + jnp.sum(run.recorded["joint.qd"] ** 2)

    q, mass = jnp.array([0.4, -0.7]), simulator.model.link.mass
    value, slope = jax.value_and_grad(loss, (0, 1))(q, mass, None)
    for every in (1, 3, 12):
        again = jax.value_and_grad(loss, (0, 1))(q, mass, every)
        for a, b in zip(jax.tree.leaves(again), jax.tree.leaves((value, slope)), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)
    h, e = 1e-6, jnp.array([1.0, 0.0])
    difference = (loss(q + h * e, mass, 3) - loss(q - h * e, mass, 3)) / (2 * h)
    np.testing.assert_allclose(slope[0][0], difference, rtol=1e-7)
    many = jax.vmap(jax.grad(lambda q: loss(q, mass, 4)))(jnp.stack([q, -q, 2 * q]))
    np.testing.assert_allclose(many[0], slope[0], rtol=1e-12)


def test_blocks_are_whole():
    """What does not divide the steps is refused, with both numbers."""
    simulator = Simulator(zoo.chain(1), 0.01)
    for every in (0, -2, 5):
        with pytest.raises(ModelError, match=f"12 steps, got {every}"):
            simulator.rollout(simulator.initial_state(), steps=12, keep_every=every)
