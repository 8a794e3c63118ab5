"""The shift by the integrator's step, where it can be said and where it cannot."""

import numpy as np

from graftsim.identify.doubt.step import shift_of_parameters
from graftsim.identify.results.linearisation import Linearisation
from graftsim.optim.bounded import Bounded


def linear(J):
    """Windows with these Jacobians, without initial states and priors."""
    w, m, p = J.shape
    far = np.full(p, np.inf)
    bounds = Bounded(-far, far, np.zeros(p), far, np.zeros(0))
    return Linearisation(
        np.zeros((w, m)), J, np.zeros((w, m, 0)), np.zeros(p), np.zeros((w, 0)), bounds
    )


def test_a_change_that_a_parameter_explains_is_its_shift():
    """Residuals that change as if it moved by 0.3 in half the step: by 0.6 in all, for order 1."""
    J = np.random.default_rng(0).normal(size=(3, 8, 2))
    change = J @ np.array([0.3, -0.1])
    found = shift_of_parameters(linear(J), change, np.ones((3, 8)), 1)
    np.testing.assert_allclose(found, [-0.6, 0.2], rtol=1e-12)
    found = shift_of_parameters(linear(J), change, np.ones((3, 8)), 2)
    np.testing.assert_allclose(found, [-0.4, 0.4 / 3], rtol=1e-12)


def test_without_samples_before_the_middle_nothing_is_said():
    """Windows of a single step have none."""
    J = np.ones((3, 8, 2))
    assert shift_of_parameters(linear(J), np.zeros((3, 8)), np.zeros((3, 8)), 1) is None
