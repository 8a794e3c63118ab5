"""Formulas: what a dropped term leaves behind, the others take over."""

import numpy as np
import pytest

from graftsim.identify.discover.formula import Quadratic
from graftsim.optim.bounded import Bounded
from graftsim.optim.local_solver import Point


def model(J, y, theta):
    """Of the least squares |J theta - y|^2 / 2 about theta."""
    n, r = len(theta), J @ theta - y
    wide = np.full(n, np.inf)
    bounds = Bounded(-wide, wide, np.zeros(n), wide, np.zeros(0))
    point = Point(theta, np.zeros((1, 0)), cost=0.5 * float(r @ r))
    return Quadratic(point, bounds, J.T @ r, J.T @ J)


@pytest.mark.parametrize("gone", [[0], [1], [0, 2]])
def test_the_others_take_over(gone):
    """x and sin x of small angles: alone, either is a spring of 2 with its own best stiffness."""
    x = np.linspace(-0.8, 1.0, 50)
    J = np.stack([x, np.sin(x), x**2], 1)
    y = 2.0 * x + 0.3 * x**2
    far = np.array([160.0, -158.0, 0.5])
    theta, cost = model(J, y, far).without(gone, np.ones(3, bool))
    rest = [i for i in range(3) if i not in gone]
    best = np.linalg.lstsq(J[:, rest], y, rcond=None)[0]
    np.testing.assert_allclose(theta[rest], best, rtol=1e-8)
    np.testing.assert_array_equal(theta[gone], 0.0)
    r = J @ theta - y
    np.testing.assert_allclose(cost, 0.5 * r @ r, rtol=1e-6, atol=1e-9)


def test_what_is_held_stays():
    """A weight that is not free keeps its value."""
    J, y = np.eye(3), np.array([1.0, 2.0, 3.0])
    free = np.array([True, True, False])
    theta, _ = model(J, y, np.array([0.5, 0.5, 0.5])).without([0], free)
    np.testing.assert_allclose(theta, [0.0, 2.0, 0.5])
