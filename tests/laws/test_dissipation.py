"""Passive forces only take energy: friction, damping and limits, and the implicit integrator."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, strategies as st

import zoo
from graftsim import dynamics
from graftsim.dynamics.friction import friction, friction_secant
from graftsim.dynamics.passive import limit
from graftsim.engine import ImplicitDamping, Simulator
from graftsim.model import Builder

positive = st.floats(1e-3, 1e3)


def joint(**numbers):
    """One hinge with the given passive properties."""
    return Builder("j").link("a", mass=1.0, inertia=1.0, **numbers).build().joint


@given(positive, positive, positive, positive, st.floats(-50, 50))
def test_friction_is_odd_and_opposes(coulomb, breakaway, v_s, v_0, speed):
    """Friction changes sign with the velocity, opposes it, and never exceeds its level."""
    j = joint(friction=coulomb, stribeck=breakaway, stribeck_velocity=v_s, friction_velocity=v_0)
    with jax.disable_jit():
        there, back = (float(friction(j, jnp.array([s]))[0]) for s in (speed, -speed))
        secant = float(friction_secant(j, jnp.array([speed]))[0])
    assert there == -back
    assert there * speed <= 0
    assert abs(there) <= coulomb + breakaway
    assert secant >= 0
    assert np.isclose(-secant * speed, there, rtol=1e-12, atol=1e-300)


@given(st.floats(-3, 3), st.floats(-20, 20), positive, st.floats(0, 2))
def test_limits_push_back_and_never_pull(q, rate, stiffness, dissipation):
    """Beyond a limit the force points inwards or is zero; inside it is exactly zero."""
    j = joint(lower=-1.0, upper=1.5, limit_stiffness=stiffness, limit_damping=dissipation)
    with jax.disable_jit():
        force = float(limit(j, jnp.array([q]), jnp.array([rate]))[0])
    if -1.0 <= q <= 1.5:
        assert force == 0
    else:
        assert force * np.sign(q) <= 0


def test_limits_are_continuous_at_first_touch():
    """The force grows from zero with the depth, however fast the joint arrives."""
    j = joint(lower=-1.0, upper=1.5, limit_stiffness=1e4, limit_damping=1.0)
    for rate in (-30.0, 0.0, 30.0):
        for q in (-1.0 - 1e-9, 1.5 + 1e-9):
            assert abs(float(limit(j, jnp.array([q]), jnp.array([rate]))[0])) < 1e-3


def test_limits_take_energy():
    """A joint leaves its limit no faster than it came, and without dissipation as fast."""
    for dissipation in (0.0, 0.5):
        model = (
            Builder("slide", gravity=(0, 0, 0))
            .link(
                "a",
                joint="prismatic",
                mass=1.0,
                upper=0.5,
                limit_stiffness=1e4,
                limit_damping=dissipation,
            )
            .build()
        )
        simulator = Simulator(model, 1e-4)
        end = simulator.rollout(simulator.initial_state(qd=[1.0]), steps=8000).qd[-1, 0]
        assert end < 0
        assert (abs(end + 1) < 1e-3) if dissipation == 0 else (end > -0.99)


def test_implicit_damping_never_gains_energy():
    """Whatever damping, friction and step, kinetic energy only falls where H is constant."""
    slides = Builder("slides", gravity=(0, 0, 0))
    for i in range(3):
        slides.link(
            f"s{i}",
            "world" if i == 0 else f"s{i - 1}",
            "prismatic",
            axis=np.eye(3)[i] + 0.4,
            mass=1.0 + i,
            inertia=0.01,
        )
    model = slides.build()

    @zoo.jit
    def energies(model, qd, dt):
        simulator = Simulator(model, dt, integrator=ImplicitDamping())

        def body(s, _):
            return simulator.step(s), dynamics.kinetic_energy(model, s.q, s.qd)

        return jax.lax.scan(body, simulator.initial_state(qd=qd), None, length=60)[1]

    rng = np.random.default_rng(0)
    for _ in range(40):
        scales = 10.0 ** rng.uniform(-2, 4, (4, 3))
        trial = eqx.tree_at(
            lambda m: (
                m.joint.damping,
                m.joint.friction,
                m.joint.stribeck,
                m.joint.stribeck_velocity,
                m.joint.friction_velocity,
            ),
            model,
            (*scales[:3], 10.0 ** rng.uniform(-2, 0, 3), 10.0 ** rng.uniform(-4, 0, 3)),
        )
        E = np.asarray(
            energies(trial, jnp.array(rng.uniform(-3, 3, 3)), 10.0 ** rng.uniform(-4, 0))
        )
        assert np.all(np.diff(E) <= 1e-13 * E[0])


def test_implicit_damping_stops_a_tree():
    """A tree of every joint type, stiffly damped with a large step, comes to rest and stays so."""
    model = zoo.random_model(zoo.every_type(), 7)
    model = eqx.tree_at(
        lambda m: (m.joint.damping, m.joint.friction, m.world.gravity),
        model,
        (jnp.full(model.nv, 50.0), jnp.full(model.nv, 20.0), jnp.zeros(3)),
    )

    @zoo.jit
    def energies(q, qd):
        simulator = Simulator(model, 0.02, integrator=ImplicitDamping())

        def body(s, _):
            return simulator.step(s), dynamics.kinetic_energy(model, s.q, s.qd)

        return jax.lax.scan(body, simulator.initial_state(q, qd), None, length=200)[1]

    E = np.asarray(energies(*map(jnp.asarray, zoo.random_state(model, 1, speed=1.0))))
    assert np.all(np.diff(E) <= 1e-12)
    assert E[-1] < 1e-12 * E[0]
