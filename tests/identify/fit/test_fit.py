"""Fits from end to end on recordings whose truth is known."""

import dataclasses

import machines
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.engine import ImplicitDamping

DAMPING = {"joint.damping[*]": gs.Positive()}


def check_truth(result, truth):
    """Every true value lies in its stated interval, and the interval says something."""
    for row in result.parameters:
        assert row.low <= truth[row.name] <= row.high, row
        # A delay of readings is known if that of commands is as in the file.
        assert row.status in ("identified", "conditional"), row
        assert row.high - row.low < 0.6 * abs(truth[row.name]), row


def test_pendulum_damping(pendulum_fit):
    """Both dampings of a double pendulum come out within their 95 % intervals."""
    assert pendulum_fit.outcome == "converged"
    check_truth(pendulum_fit, {"joint.damping[rod0]": 0.05, "joint.damping[rod1]": 0.05})
    np.testing.assert_allclose(pendulum_fit.model.joint.damping, 0.05, rtol=0.05)
    assert pendulum_fit.value("joint.damping[rod1]") == pendulum_fit.parameters[1].value


def test_errors_fall_to_the_noise(pendulum_fit):
    """Fitted and held-out errors end at the sensors' noise, from ten times more."""
    for row in pendulum_fit.errors:
        assert row.train_after == pytest.approx(1e-3, rel=0.2)
        assert row.train_before > 5 * row.train_after
        assert row.heldout_after < 2e-3 < row.heldout_before
        assert row.unit == "rad"
    assert pendulum_fit.settings["residual over noise"] == pytest.approx(1.0, abs=0.25)


def test_result_holds_what_a_report_needs(pendulum_fit):
    """Traces, replays, history and JSON fit together."""
    traces, last = pendulum_fit.traces, pendulum_fit.history[-1]
    assert {t.channel for t in traces} == {"joint.q[rod0]", "joint.q[rod1]"}
    assert {t.heldout for t in traces} == {True, False}
    for t in traces:
        assert t.measured.shape == t.before.shape == t.after.shape == (len(t.time), 1)
        assert np.abs(t.after - t.measured).max() < 6e-3
    assert all(r.measured.shape == r.simulated.shape for r in pendulum_fit.replays)
    costs = [h.cost for h in pendulum_fit.history]
    assert (np.diff(costs) <= 0).all()
    assert (last.stage, last.horizon) == (0, pytest.approx(0.3))
    assert pendulum_fit.as_json()["parameters"][0]["name"] == "joint.damping[rod0]"
    assert np.abs(pendulum_fit.correlation).max() == pytest.approx(1.0)


def test_same_fit_twice_is_bit_identical(pendulum_problem, pendulum_fit):
    """I6: the same problem fitted again gives the same bits."""
    again = gs.fit(pendulum_problem)
    assert [r.value for r in again.parameters] == [r.value for r in pendulum_fit.parameters]
    np.testing.assert_array_equal(again.covariance, pendulum_fit.covariance)
    assert [h.cost for h in again.history] == [h.cost for h in pendulum_fit.history]


def test_driven_arm(arm_recording):
    """Mass, damping, friction and rotor inertia of a driven arm, from its angle and torque."""
    start = machines.arm(mass=0.8, damping=0.2, friction=0.05, armature=0.05)
    problem = gs.Problem(
        gs.Simulator(start, machines.DT, integrator=ImplicitDamping()),
        arm_recording,
        ["link.mass[arm]", "joint.damping[*]", "joint.friction[*]", "joint.armature[*]"],
        growth=(0.2, 1.0),
    )
    result = gs.fit(problem)
    assert result.outcome == "converged"
    assert {h.stage for h in result.history} == {0, 1}
    for name, truth in {
        "link.mass[arm]": 1.2,
        "joint.damping[hinge]": 0.05,
        "joint.friction[hinge]": 0.2,
        "joint.armature[hinge]": 0.02,
    }.items():
        row = next(r for r in result.parameters if r.name == name)
        assert row.low <= truth <= row.high, row
    assert result.value("link.mass[arm]") == pytest.approx(1.2, rel=0.03)
    assert result.value("joint.friction[hinge]") == pytest.approx(0.2, rel=0.1)
    for row in result.errors:
        assert row.heldout_after < 0.2 * row.heldout_before


def test_offset_and_delay_of_a_sensor(arm_recording):
    """A sensor that reads 0.1 rad too much, 20 ms late, is found out against known torques."""
    angle = arm_recording["joint.q[hinge]"]
    late = angle.replace(time=angle.time + 0.02, values=angle.values + 0.1)
    problem = gs.Problem(
        gs.Simulator(machines.arm(), machines.DT, integrator=ImplicitDamping()),
        arm_recording.with_channel(late),
        {"sensor.offset[*]": gs.Unbounded(), "sensor.delay[*]": gs.Bounds(0.0, 0.1)},
        growth=(1.0,),
    )
    result = gs.fit(problem)
    assert result.outcome == "converged"
    check_truth(result, {"sensor.offset[joint.q:hinge]": 0.1, "sensor.delay[joint.q:hinge]": 0.02})


def test_one_step_loss():
    """The papers' loss of single steps finds the damping from quiet sensors of angle and rate."""
    dt, truth = 0.002, machines.arm(friction=0.0)
    moved = machines.roll(truth, [1.0], steps=500, dt=dt, integrator=ImplicitDamping())
    recording = machines.recording(truth, moved, noise=1e-6, rates=True)
    start = gs.Simulator(machines.arm(friction=0.0, damping=0.3), dt, integrator=ImplicitDamping())
    problem = gs.Problem(
        start, recording, DAMPING, horizon="sample", initial="measured", max_windows=300
    )
    result = gs.fit(problem)
    assert problem.nlocal == 0
    assert result.value("joint.damping[hinge]") == pytest.approx(0.05, rel=0.05)


def test_huber_forgives_outliers(outliers):
    """With wild samples Huber's loss is several times nearer to the truth than squares."""
    errors = {}
    for loss in ("squared", "huber"):
        problem = gs.Problem(
            machines.pendulum_start(),
            outliers,
            DAMPING,
            loss=loss,
            horizon=0.3,
            growth=(1.0,),
            noise=dict.fromkeys(outliers, 1e-3),
        )
        result = gs.fit(problem)
        errors[loss] = max(abs(r.value - 0.05) for r in result.parameters)
    assert errors["huber"] < 0.3 * errors["squared"]
    assert errors["huber"] < 0.005


@pytest.mark.parametrize("name", ["lbfgs", "adam"])
def test_first_order_solvers_reach_the_same_minimum(pendulum_problem, pendulum_fit, name):
    """L-BFGS and Adam end near Levenberg-Marquardt's cost on an easy problem."""
    solver = dataclasses.replace(
        {"lbfgs": gs.LBFGS(), "adam": gs.Adam()}[name], iterations={"lbfgs": 300, "adam": 300}[name]
    )
    seen = []
    # Fewer unknowns and less contrast than with free initial states: these need it.
    problem = gs.Problem(
        machines.pendulum_start(0.1),
        machines.pendulum_recording(),
        {"joint.damping[*]": gs.Positive()},
        horizon=0.3,
        growth=(1.0,),
        initial="measured",
    )
    exact = gs.fit(problem)
    result = gs.fit(problem, local=solver, progress=lambda h, *_: seen.append(h.cost))
    assert min(seen) <= 1.001 * exact.history[-1].cost
    assert min(seen) < 0.5 * seen[0]
    for a, b in zip(result.parameters, exact.parameters, strict=True):
        assert a.value == pytest.approx(b.value, rel=0.02)


def test_unknown_solver(pendulum_problem):
    """A solver that does not exist is refused with those that do."""
    with pytest.raises(gs.ProblemError, match=r"newton.*levenberg_marquardt, lbfgs, adam"):
        gs.fit(pendulum_problem, local="newton")


def test_start_that_turns_nan():
    """I5: a start that leaves the finite numbers is an error with recording and time, at once."""
    model = zoo.double_pendulum(stiffness=1e9)
    problem = gs.Problem(
        gs.Simulator(model, machines.DT), machines.pendulum_recording(), DAMPING, growth=(1.0,)
    )
    with pytest.raises(gs.ProblemError, match=r"cannot be simulated.* at 0 s of 'run'.*smaller dt"):
        gs.fit(problem)


@pytest.mark.parametrize("selector", ["joint.limit_stiffness[rod0]", "link.inertia[rod1].zz"])
def test_parameter_without_effect_stays_and_is_named(selector):
    """A parameter on which no residual depends is named and left; the others are fitted."""
    problem = gs.Problem(
        machines.pendulum_start(),
        machines.pendulum_recording(),
        {"joint.damping[*]": gs.Positive(), selector: gs.Unbounded()},
        growth=(1.0,),
        horizon=0.1,
    )
    with pytest.warns(
        gs.GraftsimWarning, match="without effect: no residual depends on it"
    ) as said:
        result = gs.fit(problem)
    assert any(str(w.message).startswith(selector) for w in said)
    row = {r.name: r for r in result.parameters}[selector]
    assert row.status == "without effect" and row.value == row.start
    others = [r for r in result.parameters if r.name != selector]
    # Conditional: on what the file says of masses, say.
    assert {r.status for r in others} <= {"identified", "conditional"}
    assert all(r.value != r.start for r in others)


def test_nothing_to_fit_is_refused_before_anything_runs():
    """A problem without free numbers can be posed, to judge by; a fit of it says what to name."""
    posed = gs.Problem(machines.pendulum_start(), machines.pendulum_recording())
    with pytest.raises(gs.ProblemError, match="Nothing is free"):
        gs.fit(posed)


def test_a_problem_cannot_be_changed(pendulum_problem):
    """It is a value: fits, checkpoints and workers rely on that."""
    with pytest.raises(dataclasses.FrozenInstanceError):
        pendulum_problem.horizon = 2.0
