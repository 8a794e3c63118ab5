"""Least squares from many starts at once, and searches made of it."""

import numpy as np
import pytest

from graftsim.optim.bounded import Bounded
from graftsim.optim.global_search import BasinHopping, RandomRestarts
from graftsim.optim.least_squares import (
    LevenbergMarquardt,
    Points,
    levenberg_marquardt,
    minimise_many,
)
from graftsim.optim.local_solver import Point
from graftsim.optim.population import DifferentialEvolution

T = np.linspace(0, 1, 12)


def curve(theta, local):
    """Residuals [n, w, m] of a e^(-b t) + c_w, w windows with an offset c of their own."""
    a, b = theta[:, 0, None, None], theta[:, 1, None, None]
    truth = 2 * np.exp(-3 * T) + np.array([[0.3], [-0.2]]) + 0.01 * np.sin(40 * T)
    return a * np.exp(-b * T) + local - truth


def slopes(theta, local):
    """With Jacobians by theta and by the offsets."""
    a, b = theta[:, 0, None, None], theta[:, 1, None, None]
    decay = np.broadcast_to(np.exp(-b * T), (len(theta), 2, len(T)))
    J_l = np.ones((len(theta), 2, len(T), 1))
    return curve(theta, local), np.stack([decay, -a * T * decay], -1), J_l


def limits(lower=(-np.inf, -np.inf), upper=(np.inf, np.inf)):
    """Bounds, no priors."""
    wide = np.full(2, np.inf)
    return Bounded(np.array(lower), np.array(upper), np.zeros(2), wide, np.full(1, np.inf))


def at(starts):
    """Before the first iteration, offsets zero."""
    return Points.at(starts, np.zeros((len(starts), 2, 1)), 1e-3)


STARTS = np.array([[1.0, 1.0], [0.5, 6.0], [3.0, 0.2], [2.0, 3.0]])


@pytest.mark.parametrize("upper", [(np.inf, np.inf), (1.5, 8.0)])
def test_each_start_ends_where_the_solver_of_one_does(upper):
    """Free and on a bound; the answer of a start does not depend on its neighbours."""
    bounds = limits((0.0, 0.0), upper)
    options = LevenbergMarquardt(40)
    found = minimise_many(curve, slopes, at(STARTS), bounds, options)
    for k, start in enumerate(np.clip(STARTS, 0, upper)):
        one = levenberg_marquardt(
            lambda t, l: curve(t[None], l[None])[0],
            lambda t, l: tuple(x[0] for x in slopes(t[None], l[None])),
            Point(start, np.zeros((2, 1)), np.inf, options.damping),
            bounds,
            options,
        )
        np.testing.assert_allclose(found.theta[k], one.theta, rtol=1e-5)
        np.testing.assert_allclose(found.local[k], one.local, atol=1e-5)
        alone = minimise_many(curve, slopes, at(STARTS[k : k + 1]), bounds, options)
        np.testing.assert_allclose(alone.theta[0], found.theta[k], rtol=1e-7)
    assert set(found.outcome) == {"converged"}


def test_a_start_that_cannot_be_evaluated_harms_no_other():
    """It is lost, and said to be."""

    def broken(theta, local):
        r, J_t, J_l = slopes(theta, local)
        return np.where(theta[:, :1, None] > 2.5, np.nan, r), J_t, J_l

    found = minimise_many(
        lambda t, l: broken(t, l)[0], broken, at(STARTS), limits(),
        LevenbergMarquardt(40),
    )  # fmt: skip
    assert list(found.outcome == "non-finite") == [False, False, True, False]
    assert np.isinf(found.cost[2])
    np.testing.assert_allclose(found.theta[[0, 1, 3]], [[2, 3]] * 3, rtol=0.02)


def valley(theta):
    """Descends to the nearest whole number; the lowest of them is at 7."""
    minima = np.round(theta)
    return minima, np.abs(minima - 7).sum(-1)


def test_sharing_the_best_point_finds_lower_minima():
    """Basin hopping closes in; a search is the same alone and beside others."""
    low, high = np.zeros(2), np.full(2, 50.0)
    starts = np.array([[40.0, 40.0], [1.0, 30.0], [25.0, 3.0]])
    options = BasinHopping(workers=24, rounds=12, seed=3)
    together = options.minimise(valley, starts, low, high)
    assert (together.cost <= 2).all()
    alone = options.minimise(valley, starts[:1], low, high)
    np.testing.assert_array_equal(alone.theta[0], together.theta[0])
    restarts = RandomRestarts(24, seed=3).minimise(valley, starts, low, high)
    assert (together.cost <= restarts.cost).all() and (together.cost < restarts.cost).any()


def test_a_search_ends_when_it_is_good_enough():
    """The round that finds a good point is its last."""
    options = BasinHopping(workers=4, rounds=9)
    found = options.minimise(
        valley, np.array([[7.0, 7.0], [30.0, 30.0]]), np.zeros(2), np.full(2, 50.0), 0.5
    )
    assert found.rounds[0] == 1 and found.rounds[1] > 1


def test_a_population_finds_the_lowest_minimum():
    """Coordinates without room stay; it ends when it is good enough; the same twice."""
    low, high = np.array([0.0, 30.0, 0.0]), np.array([50.0, 30.0, 50.0])

    def solve(theta):
        found, cost = valley(theta[:, [0, 2]])
        return np.stack([found[:, 0], theta[:, 1], found[:, 1]], 1), cost

    start, options = np.array([40.0, 30.0, 3.0]), DifferentialEvolution(24, 60, seed=2)
    found, again = (options.minimise(solve, start[None], low, high, 0.5) for _ in range(2))
    np.testing.assert_array_equal(found.theta, [[7.0, 30.0, 7.0]])
    assert found.rounds[0] < 60
    np.testing.assert_array_equal(found.costs, again.costs)


def test_a_lost_point_does_not_spoil_a_population():
    """Infinite costs are only never chosen."""

    def solve(theta):
        found, cost = valley(theta)
        return found, np.where(theta[:, 0] > 25, np.inf, cost)

    low, high = np.zeros(2), np.full(2, 50.0)
    found = DifferentialEvolution(16, 60).minimise(solve, np.full((1, 2), 40.0), low, high, 0.5)
    np.testing.assert_array_equal(found.theta, [[7.0, 7.0]])
