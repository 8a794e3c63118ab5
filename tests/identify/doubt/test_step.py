"""The shift by the integrator's step, where it can be said and where it cannot."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.dynamics.actuation import act_after
from graftsim.identify.doubt.retimed import delayed, half_steps
from graftsim.identify.doubt.step import shift_of_parameters
from graftsim.identify.problem.residuals import as_data
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.residual_program import ResidualProgram
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


def lagged(delay):
    """A problem of a wheel on a servo that lags, from a log of 2 s of steps of its command."""
    builder = gs.Builder("wheel", gravity=(0, 0, 0))
    builder.link("wheel", axis=(0, 0, 1), mass=1.0, inertia=0.5, joint_name="axle")
    builder.actuator("servo", "axle", "position", kp=9.0, time_constant=0.04, delay=delay)
    simulator = gs.Simulator(builder.build(), 0.01)
    u = np.repeat(np.random.default_rng(3).normal(size=(25, 1)), 8, 0)
    run = simulator.rollout(simulator.initial_state(), u)
    arrays = {"time": np.asarray(run.time), "q": np.asarray(run.q[:, 0]), "u": np.append(u, 0)}
    columns = {"joint.q[axle]": "q", "control[servo]": "u"}
    log = gs.recording_from_arrays(arrays, columns, name="steps", time="time")
    return gs.Problem(simulator, log, ["actuator.kp[servo]"], horizon=0.3, holdout=0)


@pytest.mark.parametrize("delay", [0.0, 0.023])
def test_a_lag_has_followed_the_same_commands_in_half_steps(delay):
    """But for what is further back than the half of what is remembered."""
    problem = lagged(delay)
    windows, simulator = problem.train_windows(), problem.simulator
    data = as_data(windows, problem.sigma, float)
    timing, halved = half_steps(simulator, data)
    rest = timing.put_into(problem.setup).simulator
    assert data.before.shape == halved.before.shape and float(rest.dt) == 0.005
    whole = [act_after(simulator.model.actuator, b, simulator.dt) for b in data.before]
    half = [act_after(rest.model.actuator, b, rest.dt) for b in halved.before]
    np.testing.assert_allclose(half, whole, atol=2 * np.exp(-6))
    assert np.ptp(whole) > 1


def test_a_late_command_was_late_before_the_window_too():
    """By three steps: the commands of the log three steps before, also in what a lag remembers."""
    problem = lagged(0.0)
    windows = problem.train_windows()
    program = ResidualProgram(problem, as_data(windows, problem.sigma, float))
    data = delayed(program, np.zeros((len(windows), 1)), 0.03, 0).data
    u = np.concatenate([windows.before[:, ::-1], windows.controls], 1)
    moved = np.concatenate([data.before[:, ::-1], data.controls], 1)
    np.testing.assert_allclose(moved[:, 3:], u[:, :-3], atol=1e-12)
