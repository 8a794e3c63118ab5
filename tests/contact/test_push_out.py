"""Starts inside: overlaps are pushed out in positions, and nothing is thrown."""

import conformance_scenes as scenes
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.contact import Complementarity, LinearComplementarity
from graftsim.solvers.normal import press

LAWS = {"ncp": Complementarity(), "lcp": LinearComplementarity()}


def risen(model: gs.Model, law, height: str, z: float, dt: float, seconds: float):
    """How far a body climbs over z, where it ends, and its largest energy of motion."""
    simulator = gs.Simulator(model, dt, contact=law)
    moved = simulator.rollout(simulator.initial_state({height: z}), steps=round(seconds / dt))
    energy = jax.vmap(lambda q, qd: gs.dynamics.kinetic_energy(model, q, qd))(moved.q, moved.qd)
    z = np.asarray(moved.q[:, 2])
    return z.max(), z[-1], float(jnp.max(energy))


@pytest.mark.parametrize(
    "dt", [0.002, *(pytest.param(dt, marks=pytest.mark.slow) for dt in (0.0005, 0.0001))]
)
@pytest.mark.parametrize("depth", [0.001, 0.01])
@pytest.mark.parametrize("law", ["ncp", pytest.param("lcp", marks=pytest.mark.slow)])
def test_nothing_hops(law, depth, dt):
    """A ball and a box a little inside the floor come to lie on it, whatever the step."""
    for model, name, rest in ((scenes.ball(0.5), "ball.z", 0.1), (scenes.box(e=0.3), "box.z", 0.2)):
        top, end, energy = risen(model, LAWS[law], name, rest - depth, dt, 0.2)
        assert top < rest + 1e-8
        assert end == pytest.approx(rest, abs=1e-6)
        assert energy < 1e-15


@pytest.mark.parametrize("law", ["ncp", pytest.param("lcp", marks=pytest.mark.slow)])
def test_a_metre_inside_rises_at_the_largest_speed(law):
    """1 m/s by default: after half a second half of the way, at rest all the while."""
    top, end, energy = risen(scenes.box(), LAWS[law], "box.z", 0.2 - 1.0, 0.002, 0.5)
    assert top == end == pytest.approx(-0.3, abs=1e-6)
    assert energy < 1e-15


def test_a_slower_push():
    """`push` bounds the speed."""
    law = Complementarity(push=0.1)
    _, end, _ = risen(scenes.ball(), law, "ball.z", -0.1, 0.002, 0.5)
    assert end == pytest.approx(-0.05, abs=1e-6)


def test_the_share_of_an_overlap_has_its_derivative():
    """Of a small overlap 1 - alpha is left after a step, and so much of its change."""
    simulator = gs.Simulator(scenes.ball(), 0.002, contact=LAWS["ncp"])

    def left(depth):
        start = simulator.initial_state({"ball.z": 0.1 - depth})
        return 0.1 - simulator.rollout(start, steps=1).q[-1, 2]

    value, slope = jax.value_and_grad(left)(1e-4)
    assert (float(value), float(slope)) == pytest.approx((0.8e-4, 0.8), rel=1e-6)


def test_overlaps_of_a_start_are_named():
    """Four corners of a box that stands 10 mm deep, by the labels of their contacts."""
    model = scenes.box()
    start = gs.Simulator(model, 0.002).initial_state({"box.z": 0.19})
    found = gs.contact.overlaps(model, start.q)
    assert set(found) == {"floor/box.0", "floor/box.2", "floor/box.4", "floor/box.6"}
    assert list(found.values()) == pytest.approx([0.01] * 4)
    assert gs.contact.overlaps(model, start.q.at[2].set(0.2)) == {}


def test_pressed_impulses_solve_the_problem():
    """0 <= x, 0 <= A x + b, and one of them zero; derivatives against differences."""
    rng = np.random.default_rng(4)
    M = rng.normal(size=(5, 7))
    A, b = jnp.asarray(M @ M.T), jnp.asarray(rng.normal(size=5))
    x = press(A, b)
    w = A @ x + b
    assert float(jnp.min(x)) >= 0
    assert float(jnp.min(w)) > -1e-6
    assert float(jnp.max(jnp.abs(x * w))) < 1e-6
    dA, db = jnp.asarray(np.diag(rng.normal(size=5))), jnp.asarray(rng.normal(size=5))
    _, d = jax.jvp(press, (A, b), (dA, db))
    h = 1e-4
    wide = (press(A + h * dA, b + h * db) - press(A - h * dA, b - h * db)) / (2 * h)
    np.testing.assert_allclose(d, wide, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("law", ["ncp", pytest.param("lcp", marks=pytest.mark.slow)])
def test_an_overlap_that_no_coordinate_can_mend(law):
    """A planar body in a floor below its plane slides on, with finite slopes."""
    builder = gs.Builder("swimmer")
    builder.geom("plane", (), name="floor", position=(0, 0, -0.05), friction=0.0)
    builder.link("body", joint="planar", mass=1.0, inertia=0.1)
    builder.geom("sphere", 0.1, "body", name="ball", friction=0.0)
    simulator = gs.Simulator(builder.build(), 0.002, contact=LAWS[law])

    def end(speed):
        start = simulator.initial_state(None, {"body.x": speed})
        return simulator.rollout(start, steps=5).q[-1]

    np.testing.assert_allclose(end(0.3), [0.003, 0, 0], atol=1e-12)
    np.testing.assert_allclose(jax.jacrev(end)(0.3), [0.01, 0, 0], atol=1e-12)


def test_rows_that_no_impulse_moves_do_not_press():
    """A zero row and column, and nothing but zeros."""
    A = jnp.asarray(np.diag([2.0, 0.0]))
    np.testing.assert_allclose(press(A, jnp.asarray([-1.0, -1.0])), [0.5, 0.0], atol=1e-8)
    assert not np.any(press(jnp.zeros((2, 2)), jnp.asarray([-1.0, 1.0])))
