"""Parameters that move several leaves at once: length, inertial, tilt."""

import machines
import numpy as np
import pytest

from graftsim import Builder, ProblemError, Unbounded
from graftsim.identify.problem.parameters import Parameters
from graftsim.spatial import rotation


@pytest.fixture(scope="module")
def cart():
    """A slide, an arm, a hand."""
    return machines.setup(machines.cart())


def changed(setup, selector, values):
    """The model with these values, and the parameters."""
    parameters = Parameters(setup, {selector: Unbounded()})
    return parameters.apply(setup, np.asarray(values, float)).simulator.model, parameters


def test_length_moves_all_that_hangs_on_the_link(cart):
    """A link twice as long has its centre of mass, child joint and shapes twice as far."""
    model, p = changed(cart, "link.length[arm]", [1.2])
    before = cart.simulator.model
    np.testing.assert_allclose(p.start, [0.6])
    assert (p.names, p.units) == (("link.length[arm]",), ("m",))
    np.testing.assert_allclose(model.link.com[1], 2 * before.link.com[1])
    np.testing.assert_allclose(model.joint.origin[2], [0, 0, -1.2])
    np.testing.assert_allclose(model.geom.position[0], [0, 0, -1.2])
    # What does not hang on it stays.
    np.testing.assert_array_equal(model.joint.origin[1], before.joint.origin[1])
    np.testing.assert_array_equal(model.link.com[2], before.link.com[2])
    np.testing.assert_array_equal(model.frame.position, before.frame.position)
    np.testing.assert_array_equal(model.link.inertia, before.link.inertia)


def test_length_of_a_last_link_is_to_its_centre_of_mass(cart):
    """A link without children is measured to its centre of mass, and carries its frames along."""
    model, p = changed(cart, "link.length[hand]", [0.1])
    np.testing.assert_allclose(p.start, [0.05])
    np.testing.assert_allclose(model.frame.position[0], [0.04, 0.02, -0.2])


def test_length_of_a_point_is_refused(cart):
    """A link without extent cannot be stretched."""
    model = Builder("b").link("dot", mass=1.0, inertia=0.1).build()
    with pytest.raises(ProblemError, match=r"link.length\[dot\]: the link has no extent"):
        Parameters(machines.setup(model, ()), {"link.length[*]": Unbounded()})


def test_inertial_starts_at_the_model(cart):
    """Log-Cholesky coordinates at their start give the model back."""
    before = cart.simulator.model
    parameters = Parameters(cart, {"link.inertial[arm]": Unbounded()})
    assert len(parameters) == 10
    model = parameters.apply(cart, parameters.start).simulator.model
    np.testing.assert_allclose(model.link.mass, before.link.mass, rtol=1e-12)
    np.testing.assert_allclose(model.link.com, before.link.com, atol=1e-12)
    np.testing.assert_allclose(model.link.inertia, before.link.inertia, atol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_any_inertial_is_a_body_that_can_exist(cart, seed):
    """Whatever the ten numbers, mass is positive and the triangle inequality holds."""
    shift = np.random.default_rng(seed).normal(size=10)
    parameters = Parameters(cart, {"link.inertial[arm]": Unbounded()})
    model = parameters.apply(cart, parameters.start + shift).simulator.model
    xx, yy, zz, xy, xz, yz = np.asarray(model.link.inertia[1])
    a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    assert model.link.mass[1] > 0
    assert a > 0
    assert a + b > c


def test_inertial_of_a_point_mass_is_refused():
    """A body without extent has no such coordinates; the message says what to free instead."""
    model = Builder("b").link("dot", axis=(1, 0, 0), mass=1.0, com=(0, 0, -1)).build()
    with pytest.raises(ProblemError, match=r"link.inertial\[dot\].*Free link.mass"):
        Parameters(machines.setup(model, ()), {"link.inertial[*]": Unbounded()})


def test_tilt_turns_a_joint(cart):
    """A rotation vector turns the joint's orientation, from none at the start."""
    model, p = changed(cart, "joint.tilt[wrist]", [0.0, 0.3, 0.0])
    np.testing.assert_array_equal(p.start, 0)
    assert p.names == tuple(f"joint.tilt[wrist].{c}" for c in "xyz")
    expected = [np.cos(0.15), 0, np.sin(0.15), 0]
    np.testing.assert_allclose(model.joint.rotation[2], expected, atol=1e-12)
    angle = np.linalg.norm(np.asarray(rotation.logarithm(model.joint.rotation[2])))
    assert angle == pytest.approx(0.3)
