"""Cords through space and pushed sites: closed forms, energy, derivatives, wrong use."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import strung
import zoo
from differences import column_errors, jacobians
from graftsim.engine.rollout import scan_steps
from graftsim.model.catalogue import dofs_by_row, row_unit

QUIET = {"integrator": gs.RungeKutta4()}


def swing(**cord):
    """A bar of 0.5 m on a hinge, its tip tied to a point 0.8 m above the hinge."""
    b = gs.Builder("swing", gravity=(0, 0, 0))
    b.link("bar", axis=(0, 1, 0), mass=2.0, com=(0, 0, 0.25), inertia=0.1)
    b.frame("tip", "bar", (0, 0, 0.5)).frame("hook", "world", (0, 0, 0.8))
    return b.tendon("cord", path=("hook", "tip"), **cord).build()


def test_a_spring_between_two_points():
    """l^2 = a^2 + b^2 - 2 a b cos q, and its torque -k (l - l_0) a b sin q / l."""
    model = swing(stiffness=300.0, slack=(0.2, 0.2))
    simulator = gs.Simulator(model, 1e-3)
    for q in (0.3, 1.2, -2.5):
        state = simulator.initial_state({"bar": q})
        run = simulator.rollout(state, steps=1, record=("tendon.length", "joint.tau_tendon"))
        length = np.sqrt(0.25 + 0.64 - 0.8 * np.cos(q))
        torque = -300 * (length - 0.2) * 0.4 * np.sin(q) / length
        np.testing.assert_allclose(run.recorded["tendon.length"], [[length]], rtol=1e-14)
        np.testing.assert_allclose(run.recorded["joint.tau_tendon"], [[torque]], rtol=1e-13)


def test_a_cord_of_no_length_pulls_nowhere():
    """Both ends in one place: no force, and derivatives that are numbers."""
    b = gs.Builder("point", gravity=(0, 0, 0)).link("ball", joint="free", mass=1.0, inertia=0.1)
    b.frame("a", "ball").frame("b", "world").tendon("cord", path=("a", "b"), stiffness=5.0)
    s = gs.Simulator(b.build(), 1e-3)
    np.testing.assert_array_equal(s.rollout(s.initial_state(), steps=3).qd, 0.0)
    slope = jax.jacrev(lambda q: s.rollout(s.initial_state(q), steps=3).q[-1])(s.initial_state().q)
    assert np.all(np.isfinite(slope))


def test_pulleys_share_the_length():
    """A weight on two strands (divisor 1/2) is held by half of its weight."""
    b = gs.Builder("tackle").link("weight", joint="prismatic", axis=(0, 0, 1), mass=3.0)
    b.frame("eye", "weight", (0, 0, -1.0)).frame("beam", "world", (0, 0, 0.5))
    b.tendon("rope", path=(0.5, "eye", "beam"))
    b.actuator("winch", tendon="rope")
    s = gs.Simulator(b.build(), 1e-3)
    run = s.rollout(s.initial_state(), np.full((5, 1), -3 * 9.81 / 2), record=("tendon.length",))
    np.testing.assert_allclose(run.recorded["tendon.length"], 3.0, rtol=1e-14)
    np.testing.assert_allclose(run.qd, 0.0, atol=1e-15)


def test_energy_is_kept():
    """By a free arm on springs through space, over a second, to the integrator's order."""
    b = gs.Builder("arm")
    b.link("base", joint="free", mass=2.0, inertia=(0.1, 0.2, 0.15), com=(0.05, 0, 0))
    b.link("arm", "base", "spherical", mass=0.7, com=(0, 0.1, 0.2), inertia=0.02)
    b.frame("hook", "world", (0.3, 0.2, 1.0)).frame("side", "base", (0.1, -0.1, 0.1))
    b.frame("tip", "arm", (0, 0.1, 0.4))
    b.tendon("line", path=("hook", "tip", "side"), stiffness=60.0, slack=(0.4, 0.4))
    s = gs.Simulator(b.build(), 5e-4, integrator=gs.RungeKutta4())
    q, qd = zoo.random_state(s.model, 3, 1.0)
    states = s.rollout(s.initial_state(q, qd), steps=2000).states
    T, V = zoo.jit(
        jax.vmap(
            lambda q, qd: (
                gs.dynamics.kinetic_energy(s.model, q, qd),
                gs.dynamics.potential_energy(s.model, q),
            )
        )
    )(states.q, states.qd)
    assert np.ptp(T) > 1
    np.testing.assert_allclose(T + V, T[0] + V[0], rtol=1e-7)


def test_a_rope_over_a_wheel():
    """Atwood's machine: two weights on a rope that keeps its length fall with g (m - M)/(m + M)."""
    b = gs.Builder("atwood")
    for name, x, m in (("light", -0.2, 1.0), ("heavy", 0.2, 1.7)):
        b.link(name, joint="prismatic", axis=(0, 0, 1), origin=(x, 0, 0), mass=m)
        b.frame(f"{name}/eye", name).frame(f"{name}/rim", "world", (x, 0, 1.0))
    b.tendon("rope", path=("light/eye", "light/rim", "heavy/rim", "heavy/eye"))
    b.couple("rope", "rope", tendons=True, offset=2.4)
    s = gs.Simulator(b.build(), 1e-3, **QUIET)
    run = s.rollout(s.initial_state(), steps=200, record=("loop.force",))
    a = 9.81 * 0.7 / 2.7
    np.testing.assert_allclose(run.q[-1], [a * 0.02, -a * 0.02], rtol=1e-9)
    np.testing.assert_allclose(run.recorded["loop.force"], -2 * 9.81 * 1.7 / 2.7, rtol=1e-9)


def test_a_weight_on_a_rope_is_a_pendulum():
    """A point free in a plane on a rope of constant length: the rope's length has a curvature."""
    b = gs.Builder("rope").link("cart", joint="prismatic", axis=(1, 0, 0), mass=1e-9)
    b.link("bob", "cart", "prismatic", axis=(0, 0, 1), mass=0.4)
    b.frame("bob/eye", "bob").frame("nail", "world", (0.1, 0, 0.2))
    b.tendon("rope", path=("nail", "bob/eye")).couple("rope", "rope", tendons=True, offset=0.7)
    s = gs.Simulator(b.build(), 1e-3, **QUIET)
    start, rate = 0.9, 1.3
    place = {"cart": 0.1 + 0.7 * np.sin(start), "bob": 0.2 - 0.7 * np.cos(start)}
    speed = {"cart": 0.7 * rate * np.cos(start), "bob": 0.7 * rate * np.sin(start)}
    end = s.rollout(s.initial_state(place, speed), steps=1000).q[-1]
    pendulum = gs.Builder("pendulum").link(
        "bob", axis=(0, -1, 0), mass=0.4, com=(0, 0, -0.7), inertia=1e-12
    )
    p = gs.Simulator(pendulum.build(), 1e-3, **QUIET)
    angle = float(p.rollout(p.initial_state({"bob": start}, {"bob": rate}), steps=1000).q[-1, 0])
    expected = [0.1 + 0.7 * np.sin(angle), 0.2 - 0.7 * np.cos(angle)]
    np.testing.assert_allclose(end, expected, atol=1e-7)


def test_a_pushed_site_moves_as_newton_says():
    """Force and torque of a tilted site of a free body, about its centre of mass."""
    b = gs.Builder("craft", gravity=(0, 0, 0)).link(
        "craft", joint="free", mass=2.0, inertia=(0.1, 0.2, 0.3), com=(0, 0, 0)
    )
    turn = np.array([np.cos(0.3), np.sin(0.3), 0, 0])
    b.frame("rotor", "craft", (0.2, -0.1, 0.05), turn)
    b.actuator("rotor", site="rotor", site_force=(0, 0, 1), site_torque=(0, 0, -0.02), gear=1.5)
    s = gs.Simulator(b.build(), 1e-3)
    state = s.initial_state()
    run = s.rollout(state, np.full((1, 1), 4.0), record=("joint.qdd",))
    axis = np.array([0, -np.sin(0.6), np.cos(0.6)])
    force = 6.0 * axis
    torque = np.cross([0.2, -0.1, 0.05], force) - 0.02 * force
    expected = dict(zip("xyz", force / 2, strict=True))
    expected |= dict(zip(("rx", "ry", "rz"), torque / [0.1, 0.2, 0.3], strict=True))
    dofs = [d.split(".")[1] for d in s.model.tree.dofs]
    found = dict(zip(dofs, run.recorded["joint.qdd"][0], strict=True))
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-13, atol=1e-14)


@pytest.fixture(scope="module")
def cords(tmp_path_factory):
    """The mechanism of `strung`, a state, commands."""
    path = tmp_path_factory.mktemp("strung") / "cords.xml"
    path.write_text(strung.CORDS)
    s = gs.Simulator(gs.load(path), 2e-3)
    q, qd = zoo.random_state(s.model, 5, 1.0)
    return s, s.initial_state(q, qd), np.random.default_rng(5).normal(size=(6, s.model.nu))


@pytest.mark.parametrize("backend", ["xla", "kernel"])
def test_gradients_in_every_number_of_paths_and_sites(cords, backend):
    """Both modes, in places of frames, stiffness, site_force, site_torque, gains, and the state."""
    s, state, u = cords

    def leaves(m):
        a = m.actuator
        return (m.frame.position, m.frame.rotation, m.tendon.stiffness, m.tendon.damping,
                m.tendon.slack_upper, a.site_force, a.site_torque, a.kp, a.kd)  # fmt: skip

    def end(x):
        numbers, q, qd = x
        own = eqx.tree_at(lambda s: leaves(s.model), s, numbers)
        start = eqx.tree_at(lambda t: (t.q, t.qd), state, (q, qd))
        if backend == "xla":
            last = scan_steps(own, start, jnp.asarray(u)).states
        else:
            last = own.rollout(start, u, backend="kernel").states
        return jnp.concatenate([last.q[-1], last.qd[-1]])

    forward, reverse, differences = jacobians(end)((leaves(s.model), state.q, state.qd))
    assert column_errors(forward, differences).max() < 1e-6
    assert column_errors(reverse, differences).max() < 1e-6


def test_kernels_and_xla_agree(cords):
    """On every recorded variable of tendons and actuators, to 1e-12."""
    s, state, u = cords
    names = ("tendon.length", "tendon.rate", "tendon.force", "joint.tau_actuator", "joint.qdd")
    kernel = s.rollout(state, u, record=names, backend="kernel").recorded
    runs = kernel, zoo.rollout(s, state, jnp.asarray(u), names).recorded
    for name in names:
        size = np.abs(runs[1][name]).max()
        np.testing.assert_allclose(runs[0][name], runs[1][name], atol=1e-12 * size)


def test_what_moves_a_length(cords):
    """Degrees of freedom of tendons and sites, and units of metres."""
    m = cords[0].model
    dofs, tendons = m.tree.dofs, dict(zip(m.tendon.names, dofs_by_row(m, "tendon"), strict=True))
    assert {dofs[d] for d in tendons["both"]} == {"elbow", "reach"}
    assert {dofs[d] for d in tendons["line"]} == set(dofs)
    at = m.actuator.names.index("place")
    moved = {dofs[d] for d in dofs_by_row(m, "actuator")[at]}
    assert moved == {"shoulder.rx", "shoulder.ry", "shoulder.rz", "elbow", "reach"}
    assert row_unit(m, "tendon.stiffness", m.tendon.names.index("line")) == "N/m"


WRONG = {
    "two frames": ("a",),
    "two frames or more": ("a", "b", 2.0),
    "positive number, not by 0": ("a", "b", 0.0, "a", "b"),
    "no PathType": (("straight", "a", "b"),),
}


@pytest.mark.parametrize("message", WRONG)
def test_paths_that_are_none(message):
    """Refused by the tendon's name."""
    b = gs.Builder("x").link("bar", mass=1.0, inertia=1.0).frame("a", "bar").frame("b", "world")
    with pytest.raises(gs.ModelError, match=f"Tendon 'cord'.*{message}"):
        b.tendon("cord", path=WRONG[message])


def test_what_is_not_there():
    """Frames of paths and sites, and numbers of sites without one: refused by name."""
    b = gs.Builder("x").link("bar", mass=1.0, inertia=1.0).frame("tip", "bar")
    with pytest.raises(gs.ModelError, match="belong to a site"):
        b.actuator("m", "bar", site_force=(0, 0, 1))
    with pytest.raises(gs.ModelError, match="a joint, a tendon or a site"):
        b.actuator("m", "bar", site="tip")
    b.tendon("cord", path=("tip", "hook"))
    with pytest.raises(gs.ModelError, match="Tendon 'cord': no frame named 'hook'"):
        b.build()
