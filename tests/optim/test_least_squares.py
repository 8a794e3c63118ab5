"""Levenberg-Marquardt with an arrowhead Jacobian, against SciPy on the same problem written out."""

import dataclasses

import numpy as np
import pytest
from grouped import TIGHT, Curves, free, reference, solve

from graftsim.optim.least_squares import LevenbergMarquardt, levenberg_marquardt
from graftsim.optim.local_solver import Point


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("local", [0, 1, 2])
def test_same_minimum_as_scipy(seed, local):
    """On random problems with and without local unknowns the minimum is SciPy's to 1e-8."""
    problem = Curves(seed, p=3 + seed % 3, local=local)
    bounds = free(problem.p, local)
    point = solve(problem, np.ones(problem.p), bounds)
    theta, inner, cost = reference(problem, np.ones(problem.p), bounds)
    assert point.outcome == "converged"
    assert abs(point.cost - cost) <= 1e-10 * cost
    np.testing.assert_allclose(point.theta, theta, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(point.local, inner, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("seed", range(4))
def test_priors_weigh_as_extra_residuals(seed):
    """Gaussian priors of theta and of the local unknowns move the minimum as SciPy says."""
    problem = Curves(seed)
    bounds = free(
        problem.p,
        2,
        prior_mean=problem.truth + 0.2,
        prior_std=[0.01, np.inf, 0.02, 1.0],
        local_std=[0.5, 0.2],
    )
    point = solve(problem, np.ones(4), bounds)
    theta, inner, cost = reference(problem, np.ones(4), bounds)
    assert point.outcome == "converged"
    np.testing.assert_allclose(point.theta, theta, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(point.local, inner, rtol=1e-6, atol=1e-7)
    assert abs(point.cost - cost) <= 1e-10 * cost


@pytest.mark.parametrize("seed", range(4))
def test_optimum_outside_ends_on_the_bound(seed):
    """With the free minimum outside the box, parameters end exactly on their bounds."""
    problem = Curves(seed)
    upper = problem.truth + np.array([1.0, -0.3, 1.0, 1.0])
    bounds = free(4, 2, upper=upper, lower=problem.truth + np.array([-1.0, -5, 0.2, -1.0]))
    inside = np.clip(np.ones(4), bounds.lower, bounds.upper)
    point = solve(problem, inside, bounds)
    theta, _, cost = reference(problem, inside, bounds)
    assert point.outcome == "converged"
    assert point.theta[1] == upper[1]
    assert point.theta[2] == bounds.lower[2]
    assert point.cost <= cost * (1 + 1e-8)
    np.testing.assert_allclose(point.theta, theta, rtol=1e-5, atol=1e-6)


def test_start_on_a_bound_leaves_it():
    """I2: a parameter that starts on its bound leaves it when the gradient points inwards."""
    problem = Curves(1)
    bounds = free(4, 2, lower=np.zeros(4))
    point = solve(problem, np.array([1.0, 0.0, 0.0, 0.0]), bounds)
    theta, _, _ = reference(problem, np.ones(4), bounds)
    np.testing.assert_allclose(point.theta, theta, rtol=1e-7)
    assert (point.theta > 0).all()


def test_bound_held_while_pushed_outwards_and_left_later():
    """A parameter is held on its bound at first, and let go when the push turns."""

    # r = (x y - 1, x - 2, (y - 1) / 2): at x = -1 the cost pushes y below 0, at the minimum above.
    def residual(theta, local):
        x, y = theta
        return np.array([[x * y - 1, 3 * (x - 2), (y - 1) / 2]])

    def jacobian(theta, local):
        x, y = theta
        J = np.array([[[y, x], [3.0, 0.0], [0.0, 0.5]]])
        return residual(theta, local), J, np.zeros((1, 3, 0))

    trail = []
    start = Point(np.array([-1.0, 0.0]), np.zeros((1, 0)), np.inf, 1e-3)
    point = levenberg_marquardt(
        residual,
        jacobian,
        start,
        free(2, lower=[-5, 0]),
        TIGHT,
        lambda p, size: trail.append(p.theta.copy()),
    )
    assert trail[1][1] == 0.0, "pushed outwards at the start, it must not move"
    assert point.theta[1] > 0.3
    assert point.outcome == "converged"


def test_every_parameter_on_a_bound_pushed_outwards():
    """With nothing free to move the start is the minimum."""
    problem = Curves(2, local=0)
    far = problem.truth - 5
    point = solve(problem, far, free(4, lower=far - 1, upper=far))
    assert (point.theta <= far).all()


def test_non_finite_trial_steps_are_rejected():
    """A step into a region without numbers is taken back and tried shorter."""
    calls = {"bad": 0}

    def residual(theta, local):
        with np.errstate(invalid="ignore"):
            r = np.array([[np.log(theta[0]) - np.log(0.01)]])
        calls["bad"] += int(not np.isfinite(r).all())
        return r

    def jacobian(theta, local):
        return residual(theta, local), np.array([[[1 / theta[0]]]]), np.zeros((1, 1, 0))

    start = Point(np.array([5.0]), np.zeros((1, 0)), np.inf, 1e-6)
    point = levenberg_marquardt(residual, jacobian, start, free(1), TIGHT)
    assert calls["bad"] > 0, "the first Gauss-Newton step goes below zero"
    assert point.theta[0] == pytest.approx(0.01, rel=1e-8)
    assert point.outcome == "converged"


@pytest.mark.parametrize("where", ["residual", "J_theta", "J_local"])
def test_non_finite_start_is_an_outcome(where):
    """A start that cannot be evaluated ends at once as "non-finite", and is returned unchanged."""
    problem = Curves(3)

    def jacobian(theta, local):
        r, J, J_local = problem.jacobian(theta, local)
        broken = {"residual": r, "J_theta": J, "J_local": J_local}[where]
        broken[2, 1] = np.nan
        return r, J, J_local

    point = levenberg_marquardt(
        problem.residual, jacobian, problem.start(np.ones(4)), free(4, 2), TIGHT
    )
    assert point.outcome == "non-finite"
    np.testing.assert_array_equal(point.theta, np.ones(4))


def test_wrong_derivative_stalls():
    """When no step lowers the cost, as with a gradient of the wrong sign, the outcome says so."""
    problem = Curves(4)

    def jacobian(theta, local):
        r, J, J_local = problem.jacobian(theta, local)
        return r, -J, -J_local

    point = levenberg_marquardt(
        problem.residual, jacobian, problem.start(np.ones(4)), free(4, 2), TIGHT
    )
    assert point.outcome == "stalled"
    np.testing.assert_array_equal(point.theta, np.ones(4))


def test_iteration_limit():
    """The limit of iterations ends the search and is named; each iteration lowers the cost."""
    problem, costs = Curves(5), []
    options = dataclasses.replace(TIGHT, iterations=3)
    point = solve(problem, 3 * np.ones(4), free(4, 2), options, lambda p, g: costs.append(p.cost))
    assert point.outcome == "iteration limit"
    assert point.iteration == 3
    assert len(costs) == 4
    assert (np.diff(costs) < 0).all()


def test_resumed_equals_uninterrupted():
    """Stopping after two iterations and going on from the returned point changes no bit."""
    problem, bounds = Curves(6), free(4, 2)
    whole = solve(problem, np.ones(4), bounds)
    options = dataclasses.replace(TIGHT, iterations=2)
    part = solve(problem, np.ones(4), bounds, options)
    on = levenberg_marquardt(
        problem.residual, problem.jacobian, dataclasses.replace(part, outcome=None), bounds, TIGHT
    )
    np.testing.assert_array_equal(on.theta, whole.theta)
    np.testing.assert_array_equal(on.local, whole.local)
    assert on.iteration == whole.iteration


def test_default_tolerances_reach_the_minimum():
    """The default options end within a hundredth of a standard deviation of the minimum."""
    problem, bounds = Curves(7), free(4, 2)
    loose = solve(problem, np.ones(4), bounds, LevenbergMarquardt())
    tight = solve(problem, np.ones(4), bounds)
    assert loose.outcome == "converged"
    assert loose.iteration <= tight.iteration
    np.testing.assert_allclose(loose.theta, tight.theta, rtol=1e-3)


def test_parameter_without_effect_stays():
    """A column of zeros neither moves its parameter nor spoils the others."""
    problem = Curves(0)

    def widen(theta, local):
        r, J, J_local = problem.jacobian(theta[:4], local)
        return r, np.concatenate([J, np.zeros((*J.shape[:2], 1))], -1), J_local

    start = problem.start([*np.ones(4), 7.0])
    point = levenberg_marquardt(
        lambda t, l: problem.residual(t[:4], l), widen, start, free(5, 2), TIGHT
    )
    plain = solve(problem, np.ones(4), free(4, 2))
    assert point.theta[4] == 7.0
    np.testing.assert_allclose(point.theta[:4], plain.theta, rtol=1e-8)
