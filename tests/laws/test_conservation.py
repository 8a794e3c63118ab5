"""What a mechanism left alone keeps, to the order of its integrator (conformance P1, P9)."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim import dynamics
from graftsim.engine import RungeKutta4, SemiImplicitEuler, Simulator
from graftsim.model import Builder


@zoo.jit
def drift(simulator, state, steps):
    """Largest change of energy and of momenta over `steps` steps (traced: one program for all)."""
    model = simulator.model

    def measure(s):
        energy = dynamics.kinetic_energy(model, s.q, s.qd) + dynamics.potential_energy(model, s.q)
        return jnp.concatenate([energy[None], dynamics.momentum(model, s.q, s.qd)])

    first = measure(state)

    def body(_, carry):
        s, worst = carry
        s = simulator.step(s)
        return s, jnp.maximum(worst, jnp.abs(measure(s) - first))

    return jax.lax.fori_loop(0, steps, body, (state, jnp.zeros_like(first)))[1]


def drifts(model, integrator, q, qd, duration, dt):
    """Drift with dt and with dt / 2 over the same time."""
    found = []
    for h in (dt, dt / 2):
        simulator = Simulator(model, h, integrator=integrator)
        state = simulator.initial_state(q, qd)
        found.append(np.asarray(drift(simulator, state, round(duration / h))))
    return found


ORDERS = [(SemiImplicitEuler(), 1), (RungeKutta4(), 4)]
IDS = ["euler", "rk4"]


@pytest.mark.parametrize(("integrator", "order"), ORDERS, ids=IDS)
def test_free_body_with_offset_mass(integrator, order):
    """P1: torque-free for 10 s, energy and momentum are kept to the integrator's order."""
    model = (
        Builder("stone", gravity=(0, 0, 0))
        .link("stone", joint="free", mass=2.0, com=(0.1, -0.2, 0.05), inertia=(0.02, 0.03, 0.04))
        .build()
    )
    q, qd = np.array([0.1, 0.2, 0.3, 1, 0, 0, 0]), np.array([0.3, 0.1, -0.2, 1.0, 2.0, -0.5])
    coarse, fine = drifts(model, integrator, q, qd, 10.0, 0.01)
    assert np.all(coarse < {1: 0.1, 4: 1e-6}[order])
    # Halving the step divides the error by 2^order; 1.7 allows for the next order.
    assert np.all(fine < coarse / (2**order / 1.7) + 1e-12)


@pytest.mark.parametrize(("integrator", "order"), ORDERS, ids=IDS)
def test_spherical_joint_loses_no_energy(integrator, order):
    """P9: a spinning spherical pendulum keeps its energy for 10 s to the integrator's order."""
    model = (
        Builder("ball")
        .link("ball", joint="spherical", mass=1.5, com=(0.02, 0, -0.3), inertia=(0.02, 0.03, 0.04))
        .build()
    )
    coarse, fine = drifts(model, integrator, None, np.array([2.0, -1.0, 3.0]), 10.0, 0.01)
    assert coarse[0] < {1: 0.2, 4: 1e-4}[order]
    assert fine[0] < coarse[0] / (2**order / 1.7)


@pytest.mark.parametrize(("integrator", "order"), ORDERS, ids=IDS)
def test_tree_of_every_joint_type_keeps_energy(integrator, order):
    """Half a second of a swinging tree with springs: the energy error falls with the order."""
    model = zoo.random_model(zoo.every_type(), 5)
    model = eqx.tree_at(lambda m: m.joint.stiffness, model, jnp.full(model.nv, 3.0))
    q, qd = zoo.random_state(model, 3, speed=0.5)
    coarse, fine = drifts(model, integrator, q, qd, 0.5, 0.004)
    assert coarse[0] < {1: 5.0, 4: 1e-4}[order]
    assert fine[0] < coarse[0] / (2**order / 1.7)


def test_floating_tree_keeps_momentum():
    """Without gravity a tree on a free root keeps all six momenta, whatever its motors do."""
    top = zoo.Topology((-1, 0, 1, 1), ("free", "planar", "spherical", "revolute"), (False,) * 4)
    model = zoo.with_motors(zoo.random_model(top, 6))
    model = eqx.tree_at(lambda m: m.world.gravity, model, jnp.zeros(3))
    # The armature of the root would act as a fly-wheel fixed to the world.
    model = eqx.tree_at(lambda m: m.joint.armature, model, model.joint.armature.at[:6].set(0.0))
    q, qd = zoo.random_state(model, 4, speed=1.0)
    rng = np.random.default_rng(0)
    tau = np.concatenate([np.zeros(6), rng.uniform(-2, 2, model.nv - 6)])

    @zoo.jit
    def after(h, steps):
        simulator = Simulator(model, h, integrator=RungeKutta4())
        state = simulator.initial_state(q, qd)
        state = jax.lax.fori_loop(0, steps, lambda _, s: simulator.step(s, jnp.asarray(tau)), state)
        return dynamics.momentum(model, state.q, state.qd)

    start = np.asarray(after(0.01, 0))
    coarse = np.abs(np.asarray(after(0.01, 50)) - start)
    fine = np.abs(np.asarray(after(0.005, 100)) - start)
    assert coarse.max() < 1e-4
    assert fine.max() < coarse.max() / 9 + 1e-12
