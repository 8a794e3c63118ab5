"""Trajectory optimisation: against closed forms, and on machines that must swing up."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest
from controlled import (
    CART,
    DOUBLE,
    PUCK,
    SLED,
    cart_pole,
    double_pendulum,
    effort,
    puck,
    sled,
)
from scipy.optimize import lsq_linear

import graftsim as gs
from graftsim import control

T = 15


def dense_sled():
    """Residuals of SLED as M u + r, from rest at 0: v' = v + h u / m, q' = q + h v'."""
    h, m = 0.1, 2.0
    v = np.tril(np.ones((T, T))) * h / m
    q = h * np.tril(np.ones((T, T))) @ v
    before = np.vstack([np.zeros(T), q[:-1]])
    M = np.vstack([0.1 * np.eye(T), before, 10 * q[-1:], 3 * v[-1:]])
    r = np.concatenate([np.zeros(T), -np.ones(T), [-10.0], [0.0]])
    return M, r


def test_a_linear_problem_is_solved_by_least_squares():
    """One step without damping, and its cost is that of the dense problem."""
    M, r = dense_sled()
    u = np.linalg.lstsq(M, -r, rcond=None)[0]
    simulator = sled()
    found = control.ilqr(simulator, simulator.initial_state(), SLED, T)
    assert found.outcome == control.Outcome.CONVERGED
    np.testing.assert_allclose(found.controls[:, 0], u, atol=1e-6 * np.abs(u).max())
    assert found.cost == pytest.approx(0.5 * np.sum((M @ u + r) ** 2), rel=1e-9)


def test_limits_are_kept_and_the_best_within_them_is_found():
    """The same with commands between -3 and 4, beside SciPy's bounded least squares."""
    M, r = dense_sled()
    right = lsq_linear(M, -r, (-3, 4), tol=1e-14)
    simulator = sled()
    found = control.ilqr(simulator, simulator.initial_state(), SLED, T, limits=(-3, 4))
    u = np.asarray(found.controls[:, 0])
    assert u.min() == -3 and u.max() == 4
    np.testing.assert_allclose(u, right.x, atol=1e-5)
    assert found.cost == pytest.approx(right.cost, rel=1e-8)


def test_gains_are_those_of_the_riccati_equation():
    """Of an optimal law without limits the cost of a displaced start is the least there is."""
    simulator = sled()
    found = control.ilqr(simulator, simulator.initial_state(), SLED, T)
    start = simulator.initial_state({"sled": 0.3}, {"sled": -0.2})
    one = control.ILQR(iterations=1)
    steered = control.ilqr(simulator, start, SLED, T, warm=found, solver=one)
    best = control.ilqr(simulator, start, SLED, T)
    assert steered.costs[0] == pytest.approx(best.cost, rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(
    ("machine", "cost", "start", "top", "strength"),
    [
        (cart_pole, CART, [0.0, 0.0], [1.0, -1.0], [10.0]),
        (double_pendulum, DOUBLE, [0.0, 0.0], [-1.0, -1.0], [5.0, 3.0]),
    ],
)
def test_swings_up_from_hanging(machine, cost, start, top, strength):
    """In four seconds, within the limits of its motors, and at rest there."""
    simulator = machine()
    first = 0.1 * np.random.default_rng(0).standard_normal((200, len(strength)))
    state = simulator.initial_state(np.array(start))
    found = control.ilqr(simulator, state, cost, 200, controls=first)
    heights = np.cos(np.cumsum(np.asarray(found.states.q[-1]))) if len(strength) == 2 else np.array(
        [np.cos(found.states.q[-1, 0]), np.cos(found.states.q[-1, 1])]
    )  # fmt: skip
    np.testing.assert_allclose(heights, top, atol=1e-3)
    np.testing.assert_allclose(found.states.qd[-1], 0, atol=0.02)
    assert (np.abs(found.controls) <= strength).all()
    assert (np.diff(found.costs) <= 0).all()
    # What it says of the motion is what a roll-out does.
    again = simulator.rollout(state, found.controls)
    np.testing.assert_allclose(again.q[-1], found.states.q[-1], atol=1e-6)


def test_a_warm_start_needs_fewer_iterations():
    """Shifted by a step, as a receding horizon does."""
    simulator = sled()
    found = control.ilqr(simulator, simulator.initial_state(), SLED, T, limits=(-3, 4))
    after = replace(simulator.initial_state(), q=found.states.q[1], qd=found.states.qd[1])
    warm = control.ilqr(simulator, after, SLED, T, limits=(-3, 4), warm=found.shifted())
    cold = control.ilqr(simulator, after, SLED, T, limits=(-3, 4))
    assert warm.costs[0] < cold.costs[0]
    assert warm.cost == pytest.approx(cold.cost, rel=1e-6)


def follow(x, u, r):
    return jnp.concatenate([x.q - r, 1e-3 * u])


def arrive(x, r):
    return x.q - r


def test_a_reference_is_followed():
    """Rows of it are arguments of the cost: another reference runs on the same code."""
    simulator, cost = sled(), control.LeastSquares(follow, arrive)
    for goal in (0.5, -0.3):
        line = goal * np.linspace(0, 1, T + 1)[:, None] ** 2
        state = simulator.initial_state()
        found = control.ilqr(simulator, state, cost, T, reference=line)
        np.testing.assert_allclose(found.states.q[3:], line[3:], atol=2e-3)


def test_endings_are_named():
    """No time, no iterations, a motion that is not finite."""
    simulator = sled()
    state = simulator.initial_state()
    none = control.ilqr(simulator, state, SLED, T, solver=control.ILQR(time_limit=0.0))
    assert none.outcome == control.Outcome.TIME_LIMIT and none.iterations == 0
    few = control.ilqr(simulator, state, SLED, T, solver=control.ILQR(iterations=0))
    assert few.outcome == control.Outcome.ITERATION_LIMIT
    far = control.ilqr(simulator, state, SLED, T, controls=np.full((T, 1), 1e200))
    assert far.outcome == control.Outcome.NON_FINITE and far.outcome.advice
    assert (far.controls == 1e200).all()


def many(x, u):
    return u


def one_argument(x):
    return x.q[0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"horizon": 0}, "horizon of 0 steps"),
        ({"state": "nan"}, "state.qd is not finite at 'sled'"),
        ({"controls": np.zeros((T, 2))}, r"controls must have shape .* \(15, 1\), got \(15, 2\)"),
        ({"controls": np.full((T, 1), np.inf)}, "not finite: inf in step 0"),
        ({"limits": (1, -1)}, "limits cross for command 0"),
        ({"limits": (np.zeros(3), np.ones(3))}, r"two arrays \[1\]"),
        ({"reference": np.zeros((T, 1))}, "a row for each step and one for the end, 16"),
        ({"cost": control.ScalarCost(many, one_argument)}, r"running cost returns .* \(1,\)"),
        ({"cost": control.LeastSquares(many, one_argument)}, "terminal cost returns"),
        ({"cost": control.ScalarCost(one_argument, one_argument)}, "running cost cannot be called"),
        ({"cost": effort}, "cost is a function"),
    ],
)
def test_wrong_use_is_refused(change, message):
    """Before anything is compiled, with what would be accepted."""
    simulator = sled()
    state = simulator.initial_state()
    if change.pop("state", None):
        state = replace(state, qd=jnp.array([jnp.nan]))
    given = {"horizon": T, "cost": SLED} | change
    with pytest.raises(gs.errors.ControlError, match=message):
        control.ilqr(simulator, state, **given)


def test_actuators_without_limits_have_none_and_torques_have_theirs():
    """Force divided by gain, and what the command's range leaves of it."""
    simulator = sled(gain=2.0, force_range=(-6, 8), control_range=(-1, 10))
    found = control.ilqr(simulator, simulator.initial_state(), SLED, T)
    assert found.controls.max() == pytest.approx(4.0, abs=1e-4)
    assert found.controls.min() == pytest.approx(-1.0, abs=1e-4)


@pytest.mark.long
def test_a_puck_is_pushed_to_its_place_through_contact():
    """It is hit, slides half a metre and is stopped by friction there; the finger comes back."""
    simulator = puck()
    first = np.full((100, 1), 3.0)
    found = control.ilqr(simulator, simulator.initial_state(), PUCK, 100, controls=first)
    assert found.costs[0] > 10
    assert abs(float(found.states.q[-1, 1]) - 0.5) < 1e-3
    assert abs(float(found.states.qd[-1, 1])) < 0.02
    assert abs(float(found.states.q[-1, 0])) < 0.1
    # Between them is a gap in the end: the puck was let go.
    assert float(found.states.q[-1, 1] - found.states.q[-1, 0]) > 0.2


@pytest.mark.long
def test_newton_steps_end_at_a_minimum_in_fewer_iterations():
    """With the curvature of the steps, where without it the limit of iterations comes first."""
    simulator = cart_pole()
    first = 0.1 * np.random.default_rng(0).standard_normal((200, 1))
    state = simulator.initial_state()
    slow = control.ilqr(simulator, state, CART, 200, controls=first)
    newton = control.ILQR(newton=1e-3)
    fast = control.ilqr(simulator, state, CART, 200, controls=first, solver=newton)
    assert fast.outcome == control.Outcome.CONVERGED
    assert fast.iterations < slow.iterations
    assert fast.cost < slow.cost
