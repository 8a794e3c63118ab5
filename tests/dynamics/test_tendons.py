"""Tendons and elastic joints: energy, frequency, backlash."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.dynamics.tendons import ramp, ramp_integral


def geared(backlash=0.0, damping=0.0, stiffness=900.0, rounding=1e-4, dt=2e-4):
    """A wheel (0.3 kg m^2) behind an elastic gear, its rotor of 0.1 kg m^2."""
    builder = gs.Builder("drive", gravity=(0, 0, 0))
    builder.link("wheel", axis=(0, 0, 1), mass=1.0, inertia=0.3)
    builder.elastic(
        "wheel", armature=0.1, stiffness=stiffness, damping=damping, backlash=backlash,
        rounding=rounding,
    )  # fmt: skip
    builder.actuator("motor", "wheel/rotor")
    return gs.Simulator(builder.build(), dt, integrator=gs.RungeKutta4())


def energy(model, states):
    return np.asarray(
        jax.vmap(lambda q, qd: gs.dynamics.kinetic_energy(model, q, qd))(states.q, states.qd)
        + jax.vmap(lambda q: gs.dynamics.potential_energy(model, q))(states.q)
    )


def test_resonance_of_an_elastic_joint():
    """Rotor and wheel swing against each other with w^2 = k (1/J_m + 1/J)."""
    run = geared()
    w = np.sqrt(900.0 * (1 / 0.1 + 1 / 0.3))
    states = run.rollout(run.initial_state({"wheel/rotor": 0.01}), steps=2000).states
    t = 2e-4 * np.arange(2001)
    # Centre of inertia at rest; the twist is 0.01 cos w t.
    np.testing.assert_allclose(states.q @ jnp.array([-1.0, 1.0]), 0.01 * np.cos(w * t), atol=1e-8)


@pytest.mark.parametrize("backlash", [0.0, 0.02])
def test_energy_is_kept_without_losses(backlash):
    """Through the gap and back, many times, to the integrator's order; with damping it falls."""
    run = geared(backlash, rounding=0.004)
    start = run.initial_state(None, {"wheel/rotor": 1.0})
    states = run.rollout(start, steps=10_000).states
    E = energy(run.model, states)
    twist = np.asarray(states.q @ jnp.array([-1.0, 1.0]))
    assert np.sum(np.diff(np.sign(twist)) != 0) > 20
    np.testing.assert_allclose(E, E[0], rtol=1e-6)
    lossy = geared(backlash, damping=0.3)
    E = energy(lossy.model, lossy.rollout(start, steps=10_000).states)
    assert E[-1] < 0.9 * E[0]


def test_backlash_lets_the_rotor_turn_freely():
    """Within the gap the wheel does not feel the rotor at all; at its end it does."""
    run = geared(backlash=0.05)
    states = run.rollout(run.initial_state(None, {"wheel/rotor": 0.5}), steps=1000).states
    free = 0.025 / 0.5
    t = 2e-4 * np.arange(1001)
    inside = t < free - 1e-3
    assert np.all(np.asarray(states.qd)[inside, 0] == 0.0)
    assert np.asarray(states.qd)[-1, 0] > 0.01


@pytest.mark.parametrize("x", [-0.3, -0.1, -0.03, 0.0, 0.05, 0.1, 0.4])
def test_rounded_ramp(x):
    """Its integral's slope is the ramp, its slope lies between 0 and 1, odd part is exact."""
    width = jnp.array([0.2])
    at = jnp.array([x])
    slope = jax.jvp(lambda y: ramp_integral(y, width), (at,), (jnp.ones(1),))[1]
    np.testing.assert_allclose(slope, ramp(at, width), atol=1e-15)
    np.testing.assert_allclose(ramp(at, width) - ramp(-at, width), at, atol=1e-16)
    for corner in (0.0, 0.2):
        d = jax.grad(lambda y, w=corner: ramp(jnp.array([y]), jnp.array([w]))[0])(x)
        assert 0 <= float(d) <= 1


def test_gradients_through_the_gap():
    """Both modes equal differences in stiffness, gap and damping, on kernels and XLA."""
    import equinox as eqx

    run = geared(backlash=0.02, damping=0.05, rounding=0.01, dt=1e-3)
    names = ("stiffness", "slack_lower", "slack_upper", "damping", "rounding")
    u = np.ones((200, 1)) * np.sign(np.sin(np.linspace(0, 20, 200)))[:, None]

    def end(x, backend="kernel"):
        tendon = run.model.tendon
        for name, value in zip(names, x, strict=True):
            tendon = eqx.tree_at(lambda t, name=name: getattr(t, name), tendon, value[None])
        own = eqx.tree_at(lambda s: s.model.tendon, run, tendon)
        return own.rollout(own.initial_state(), u, backend=backend).q[-1]

    x = jnp.array([getattr(run.model.tendon, name)[0] for name in names])
    forward, reverse = jax.jacfwd(end)(x), jax.jacrev(end)(x)
    np.testing.assert_allclose(forward, reverse, rtol=1e-9, atol=1e-15)
    np.testing.assert_allclose(end(x), end(x, "xla"), rtol=1e-12)
    for i in range(len(names)):
        h = 1e-6 * max(float(jnp.abs(x[i])), 1e-2)
        e = jnp.zeros_like(x).at[i].set(h)
        difference = (end(x + e) - end(x - e)) / (2 * h)
        np.testing.assert_allclose(forward[:, i], difference, rtol=2e-5, atol=1e-8)


def test_what_cannot_be():
    """Unknown joints, empty tendons, wrong joints for an elastic gear: refused by name."""
    builder = gs.Builder("x")
    builder.link("base", joint="free", mass=1.0, inertia=1.0)
    builder.link("arm", "base", mass=1.0, inertia=1.0)
    with pytest.raises(gs.ModelError, match="no hinge or slide"):
        builder.elastic("base", armature=0.1, stiffness=1.0)
    with pytest.raises(gs.ModelError, match="goes over no joint"):
        builder.tendon("none", {})
    with pytest.raises(gs.ModelError, match="slack"):
        builder.tendon("loose", {"arm": 1.0}, slack=(1.0, 0.0))
    builder.tendon("far", {"leg": 1.0})
    with pytest.raises(gs.ModelError, match="Tendon 'far': no degree of freedom named 'leg'"):
        builder.build()


def test_limits_of_a_tendon_over_one_joint_are_those_of_the_joint():
    """The same bounce, to rounding; a length of twice the angle has a quarter of the stiffness."""
    numbers = {"limit_stiffness": 400.0, "limit_damping": 0.3}
    body = {"axis": (0, 1, 0), "mass": 1.0, "com": (0, 0, -0.3), "inertia": 0.05}
    own = gs.Builder("own").link("arm", lower=-0.2, upper=0.4, **numbers, **body).build()
    builder = gs.Builder("strung").link("arm", **body)
    half = {"limit_stiffness": 100.0, "limit_damping": 0.15}
    builder.tendon("cord", {"arm": 2.0}, limits=(-0.4, 0.8), **half)
    runs = []
    for model in (own, builder.build()):
        s = gs.Simulator(model, 1e-3)
        runs.append(s.rollout(s.initial_state({"arm": 0.3}, {"arm": 2.0}), steps=1500).q)
    assert runs[0].max() > 0.41
    assert runs[0].min() < -0.21
    np.testing.assert_allclose(runs[0], runs[1], atol=1e-12)


def test_limits_that_are_no_range_are_refused():
    """By the tendon's name."""
    builder = gs.Builder("strung").link("arm", mass=1.0, inertia=0.1)
    with pytest.raises(gs.ModelError, match=r"Tendon 'cord': limits \(1.0, 0.0\)"):
        builder.tendon("cord", {"arm": 1.0}, limits=(1.0, 0.0))
