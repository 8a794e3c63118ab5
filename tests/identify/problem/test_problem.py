"""Posing a problem: what is explained by default, what is refused, what is warned of."""

import machines
import numpy as np
import pytest

import zoo
from graftsim import Channel, GraftsimWarning, Positive, Problem, ProblemError, Recording

FREE = {"joint.damping[*]": Positive()}


def test_defaults():
    """By default every sensor is explained, windows are half a second, a quarter is held out."""
    problem = Problem(machines.pendulum_start(), machines.pendulum_recording(), FREE)
    assert [s.channel for s in problem.setup.sensors.specs] == ["joint.q[rod0]", "joint.q[rod1]"]
    assert problem.horizons[-1] == 0.5
    np.testing.assert_allclose(problem.horizons, [0.12, 0.5], atol=0.011)
    train, held = problem.train[0], problem.heldout[0]
    assert train.end < held.start + 1e-9
    assert held.end - held.start == pytest.approx(0.75, abs=0.02)
    assert problem.free_states
    assert problem.nlocal == 4


def test_noise_is_estimated_from_the_samples():
    """White noise of 3 mrad on a smooth motion is found to a tenth; a given value is taken."""
    recording = machines.pendulum_recording(noise=3e-3)
    problem = Problem(machines.pendulum_start(), recording, FREE, noise={"joint.q[rod1]": 0.5})
    assert problem.sigma[0] == pytest.approx(3e-3, rel=0.15)
    assert problem.sigma[1] == 0.5


def test_commands_are_not_sensors():
    """Torques that drive the simulation are not explained by it."""
    model, u = machines.arm(), machines.drive(100)
    moved = machines.roll(model, [0.0], controls=u, steps=100)
    recording = machines.recording(model, moved, controls=u)
    problem = Problem(machines.setup(model).simulator, recording, FREE)
    assert [s.channel for s in problem.setup.sensors.specs] == ["joint.q[hinge]"]
    assert problem.describe()["controls"] == ["control[motor]"]


def test_chosen_sensors_and_default_domains():
    """Channels can be chosen by name; plain selectors take the domains of physics."""
    problem = Problem(
        machines.pendulum_start(),
        machines.pendulum_recording(),
        ["joint.damping[rod1]"],
        sensors=["joint.q[rod1]"],
        initial=lambda r, t: (np.zeros(2), np.zeros(2)),
    )
    assert problem.parameters.lower.tolist() == [0.0]
    assert [s.channel for s in problem.setup.sensors.specs] == ["joint.q[rod1]"]


def test_one_step_is_a_window_of_one_sample():
    """horizon="sample" compares single samples from measured states, as the papers do."""
    problem = Problem(
        machines.pendulum_start(),
        machines.pendulum_recording(),
        FREE,
        horizon="sample",
        initial="measured",
    )
    assert problem.horizons == (0.01,)
    assert problem.nlocal == 0


def test_heldout_recordings_leave_the_fitted_ones_whole():
    """Recordings given for judgement replace the held-out share."""
    a, b = machines.pendulum_recording(), machines.pendulum_recording(1)
    problem = Problem(machines.pendulum_start(), a, FREE, holdout=b)
    assert problem.train == (a,)
    assert problem.heldout == (b,)


@pytest.mark.parametrize(
    ("options", "parts"),
    [
        ({"loss": "absolute"}, ["loss 'absolute'", "squared, huber, tukey"]),
        ({"holdout": 0.95}, ["holdout", "0.95"]),
        ({"horizon": 0.0}, ["horizon must be positive"]),
        ({"initial": "zero"}, ["initial 'zero'", "'free', 'measured'"]),
        ({"noise": {"joint.q[rod9]": 1.0}}, ["noise for joint.q[rod9]", "joint.q[rod0]"]),
        ({"noise": {"joint.q[rod0]": 0.0}}, ["noise of joint.q[rod0] must be a positive number"]),
        ({"sensors": ["joint.q[rod9]"]}, ["joint.q[rod9] is not recorded", "joint.q[rod0]"]),
        ({"recordings": []}, ["no recording"]),
    ],
)
def test_wrong_settings_are_named(options, parts):
    """Each wrong setting is refused before any time is spent, with what would be accepted."""
    given = {
        "simulator": machines.pendulum_start(),
        "recordings": machines.pendulum_recording(),
        "free": FREE,
    } | options
    with pytest.raises(ProblemError) as error:
        Problem(**given)
    for part in parts:
        assert part in str(error.value)


@pytest.mark.parametrize(
    ("options", "part"),
    [
        ({"horizon": 2.4, "growth": (0.1, 1.0)}, "No window of 2.4 s"),
        ({"horizon": 1.0, "growth": (0.1, 1.0)}, "held out for judgement: No window of 1 s"),
    ],
)
def test_longest_windows_are_checked_first(options, part):
    """A horizon that does not fit, also into what is held out, is refused before short ones run."""
    with pytest.raises(ProblemError, match=part):
        Problem(machines.pendulum_start(), machines.pendulum_recording(), FREE, **options)
    if "held" in part:
        Problem(
            machines.pendulum_start(), machines.pendulum_recording(), FREE, holdout=0, **options
        )


def test_recording_without_a_sensor():
    """A recording of signals that no sensor explains lists the sensors there are."""
    time = np.arange(0, 1, 0.01)
    channel = Channel("signal[temperature]", time, time, "K")
    recording = Recording({channel.name: channel}, "hot")
    with pytest.raises(ProblemError, match=r"signal\[temperature\].*link.pose"):
        Problem(machines.pendulum_start(), recording, FREE)


def test_unmeasured_joints():
    """Joints that no channel measures: an error with measured states, a warning with free ones."""
    recording = machines.pendulum_recording().select("joint.q[rod1]")
    with pytest.raises(ProblemError, match=r"no channel measures rod0"):
        Problem(machines.pendulum_start(), recording, FREE, initial="measured")
    with pytest.warns(GraftsimWarning, match=r"No channel measures rod0"):
        Problem(machines.pendulum_start(), recording, FREE)


def test_label_of_another_robot():
    """A joint that the robot does not have is named with those it has."""
    with pytest.raises(ProblemError, match=r"joint.q\[rod0\].*Available: bob"):
        Problem(machines.setup(zoo.pendulum(), ()).simulator, machines.pendulum_recording(), FREE)
