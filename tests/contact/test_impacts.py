"""Impacts that are not head-on: slopes of the event, at any step, in both modes, to the ends."""

from dataclasses import replace

import conformance_scenes as scenes
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.contact import Complementarity, LinearComplementarity

LAWS = {"ncp": Complementarity(), "lcp": LinearComplementarity()}


def two_spheres() -> tuple[gs.Model, list, list]:
    """N2: along the line of centres at the time of impact; inputs y_b0, v_a; output y_b."""
    builder = gs.Builder("spheres", gravity=(0, 0, 0))
    for name in "ab":
        builder.link(name, joint="free", mass=1.0, inertia=0.004)
        builder.geom("sphere", 0.1, name, name=name, restitution=1.0, friction=0.0)
    return builder.build(), [0.1, 1.0], [0.2183012701892, 1.5386751345948, 0.1732050807569]


@pytest.mark.parametrize("law", ["ncp", pytest.param("lcp", marks=pytest.mark.slow)])
def test_off_centre_spheres_at_any_step(law):
    """N2: value and slopes are those of the closed form, in both modes, at 4 ms and at 25 ms."""
    model, x, right = two_spheres()
    for steps in (100, 16):
        simulator = gs.Simulator(model, 0.4 / steps, contact=LAWS[law])

        def y_b(p, simulator=simulator, steps=steps):
            start = simulator.initial_state({"b.x": 0.3, "b.y": p[0]}, {"a.x": p[1]})
            return simulator.rollout(start, steps=steps).q[-1, 8]

        value, slope = jax.value_and_grad(y_b)(jnp.array(x))
        np.testing.assert_allclose([value, *slope], right, rtol=1e-6)
        np.testing.assert_allclose(jax.jacfwd(y_b)(jnp.array(x)), right[1:], rtol=1e-6)


def ball(e: float, mu: float, gravity: float = 0.0) -> gs.Model:
    """N2b: the ball of the conformance table with these numbers."""
    model = scenes.ball(gravity=gravity)
    model = gs.model.with_leaf(model, "pair.restitution", jnp.array([e]))
    return gs.model.with_leaf(model, "pair.friction", jnp.array([mu]))


def test_an_oblique_impact_with_friction_and_spin():
    """N2b: the arm is the radius. Without cuts it is radius plus half the gap, with slope 4."""
    for impacts, right in ((4, [0.3, 0.1]), (1, [0.3, 0.1]), (0, [4.05, 0.1])):
        law = Complementarity(max_impacts=impacts)
        simulator = gs.Simulator(ball(0.5, 0.2), 0.004, contact=law)

        def out(p, simulator=simulator):
            start = simulator.initial_state(
                {"ball.z": p[0]}, {"ball.x": 2.0, "ball.z": -1.0, "ball.ry": p[1]}
            )
            end = simulator.rollout(start, steps=75)
            return end.q[-1, 0] + 0.1 * end.qd[-1, 4]

        slope = jax.jacfwd(out)(jnp.array([0.2513, -3.0]))
        np.testing.assert_allclose(slope, right, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("law", ["ncp", pytest.param("lcp", marks=pytest.mark.slow)])
def test_slopes_at_the_ends(law):
    """N2d: restitution 0 and friction 0 have the slopes of the allowed side, and stay finite."""
    model = ball(0.0, 0.0)
    simulator = gs.Simulator(model, 0.004, contact=LAWS[law])
    start = simulator.initial_state({"ball.z": 0.2513}, {"ball.x": 2.0, "ball.z": -1.0})

    def end(p):
        changed = gs.model.with_leaf(model, "pair.restitution", p[:1])
        changed = gs.model.with_leaf(changed, "pair.friction", p[1:])
        return replace(simulator, model=changed).rollout(start, steps=75).q[-1, :3]

    zero = jnp.zeros(2)
    for slopes in (jax.jacfwd(end)(zero), jax.jacrev(end)(zero)):
        # Bouncing back at e for the 0.1487 s that are left; slowed by mu for as long.
        right = [[0, -0.1487], [0, 0], [0.1487, 0]]
        np.testing.assert_allclose(slopes, right, rtol=1e-6, atol=1e-9)
    wide = np.stack([(end(zero + 1e-6 * d) - end(zero)) / 1e-6 for d in np.eye(2)], 1)
    np.testing.assert_allclose(wide, slopes, rtol=1e-4, atol=1e-6)


def test_contacts_that_close_in_one_step_have_each_its_own_time():
    """Three balls that meet the floor within one step of 20 ms, each as if it were alone."""
    builder = gs.Builder("balls", gravity=(0, 0, 0))
    builder.geom("plane", (), name="floor")
    for name in "abc":
        builder.link(name, joint="free", mass=1.0, inertia=0.004)
        builder.geom("sphere", 0.1, name, name=name, restitution=0.5, friction=0.2)
    model = gs.model.keep_pairs(builder.build(), "floor/*")
    simulator = gs.Simulator(model, 0.02, contact=LAWS["ncp"])

    def out(z):
        q = jnp.tile(jnp.array([0, 0, 0, 1.0, 0, 0, 0]), 3).at[2::7].set(z)
        qd = jnp.tile(jnp.array([2.0, 0, -1.0, 0, -3.0, 0]), 3)
        end = simulator.rollout(simulator.initial_state(q, qd), steps=15)
        return end.q[-1, ::7] + 0.1 * end.qd[-1, 4::6]

    z = jnp.array([0.2413, 0.2450, 0.2501])
    np.testing.assert_allclose(jax.jacfwd(out)(z), 0.3 * np.eye(3), rtol=1e-6, atol=1e-9)


def test_forces_of_a_cut_step_are_its_mean():
    """The recorded force times the step is the whole impulse of the bounce."""
    simulator = gs.Simulator(ball(0.5, 0.2), 0.004, contact=LAWS["ncp"])
    start = simulator.initial_state({"ball.z": 0.1213}, {"ball.x": 2.0, "ball.z": -1.0})
    record = ("contact.force_n", "contact.force_t")
    moved = simulator.rollout(start, steps=10, record=record)
    impulse = 0.004 * np.sum(moved.recorded["contact.force_n"])
    assert impulse == pytest.approx(1.5, rel=1e-9)
    friction = 0.004 * np.linalg.norm(np.sum(moved.recorded["contact.force_t"], 0))
    assert friction == pytest.approx(0.3, rel=1e-9)


def test_rolling_over_a_hump_cuts_no_step():
    """A ball that leaves and returns by micrometres each step is pressed on, not hit."""
    builder = gs.Builder("hump", gravity=(0, 0, -9.81))
    builder.geom("sphere", 1.0, name="hump")
    builder.link("ball", joint="free", mass=1.0, inertia=0.004)
    builder.geom("sphere", 0.1, "ball", name="ball", friction=0.0)
    model = builder.build()
    paths = []
    for impacts in (0, 4):
        simulator = gs.Simulator(model, 0.002, contact=Complementarity(max_impacts=impacts))
        start = simulator.initial_state({"ball.z": 1.1}, {"ball.x": 0.5})
        paths.append(np.asarray(simulator.rollout(start, steps=150).q))
    np.testing.assert_allclose(*paths, atol=1e-12)
