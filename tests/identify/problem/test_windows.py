"""Cutting recordings into windows: where they start, what is in them, what is left out."""

import machines
import numpy as np
import pytest

import zoo
from graftsim import Builder, Channel, Problem, ProblemError, Recording, Simulator
from graftsim.identify.problem.windows import Cutting, control_channels, cut, unmeasured
from graftsim.sensors.sensors import make_sensors

PENDULUM = zoo.pendulum()


def swing(time, name="run", extra=()):
    """A joint's recording with q = t, on any clock."""
    time = np.asarray(time, float)
    channels = [Channel("joint.q[bob]", time, time, "rad"), *extra]
    return Recording({c.name: c for c in channels}, name)


def windows(
    recordings, model=PENDULUM, channels=("joint.q[bob]",), dt=0.01, horizon=0.1, **options
):
    """Windows of some recordings."""
    return cut(model, make_sensors(model, channels), recordings, Cutting(dt, horizon, **options))


def test_windows_tile_a_recording():
    """Windows follow each other without a hole; samples on both edges are in."""
    found = windows([swing(np.arange(0, 1.005, 0.01))])
    assert len(found) == 10
    assert found.steps == 10
    np.testing.assert_allclose(found.start, np.arange(10) / 10, atol=1e-12)
    assert found.time[0].shape == (10, 11)
    assert found.mask[0].all()
    np.testing.assert_allclose(found.time[0][3], np.arange(11) / 100, atol=1e-12)
    np.testing.assert_allclose(found.value[0][3, :, 0], 0.3 + np.arange(11) / 100, atol=1e-12)


def test_each_sample_once():
    """Where initial states are fitted, the sample between two windows belongs to the later one."""
    a, b = swing(np.arange(0, 0.305, 0.01), "a"), swing(np.arange(0, 0.305, 0.01), "b")
    found = windows([a, b], once=True)
    assert len(found) == 6
    np.testing.assert_array_equal(found.mask[0].sum(1), [10, 10, 11, 10, 10, 11])
    absolute = (found.start[:, None] + found.time[0])[found.mask[0]]
    np.testing.assert_allclose(absolute[:31], np.arange(31) / 100, atol=1e-12)


def test_stride_overlaps_windows():
    """A stride below the horizon gives overlapping windows."""
    found = windows([swing(np.arange(0, 0.505, 0.01))], stride=0.05)
    np.testing.assert_allclose(found.start, np.arange(9) * 0.05, atol=1e-12)


def test_gap_leaves_out_the_windows_it_touches():
    """No window spans a gap; those before and after it stay."""
    time = np.arange(0, 1.005, 0.01)
    time = time[(time < 0.345) | (time > 0.505)]
    found = windows([swing(time)])
    for start in found.start:
        assert start + 0.1 <= 0.35 + 1e-9 or start >= 0.505
    assert len(found) >= 7


def test_gap_in_a_command_counts_too():
    """A command without samples for a while makes that stretch unusable."""
    model = machines.arm()
    time = np.arange(0, 1.005, 0.01)
    late = time[(time < 0.295) | (time > 0.605)]
    recording = Recording(
        {
            "joint.q[hinge]": Channel("joint.q[hinge]", time, time, "rad"),
            "control[motor]": Channel("control[motor]", late, late, "N m"),
        },
        "run",
    )
    found = windows([recording], model, ("joint.q[hinge]",))
    assert not any(0.21 < s < 0.6 for s in found.start)


def test_limit_keeps_an_even_selection():
    """Of too many windows an even selection stays, first and last among them."""
    found = windows([swing(np.arange(0, 2.005, 0.01))], limit=5)
    np.testing.assert_allclose(found.start, [0, 0.5, 1.0, 1.4, 1.9], atol=0.11)
    assert len(found) == 5
    assert found.start[0] == 0
    assert found.start[-1] == pytest.approx(1.9)


def test_several_recordings_with_different_channels():
    """Windows of all recordings stand side by side; a sensor missing in one is masked there."""
    extra = Channel("joint.qd[bob]", np.arange(0, 0.505, 0.01), np.ones(51), "rad/s")
    a, b = swing(np.arange(0, 0.505, 0.01), "a", [extra]), swing(np.arange(0, 0.305, 0.01), "b")
    found = windows([a, b], channels=("joint.q[bob]", "joint.qd[bob]"))
    assert found.recording == ("a",) * 5 + ("b",) * 3
    assert found.mask[1][:5].all()
    assert not found.mask[1][5:].any()
    assert np.isfinite(found.value[1]).all()


def test_mixed_rates_and_padding():
    """Each sensor keeps its own samples; shorter windows are padded with a masked, real value."""
    fast = np.arange(0, 1.0005, 0.001)
    slow = np.arange(0, 1.005, 0.023)
    extra = Channel("joint.qd[bob]", slow, 5 + slow, "rad/s")
    found = windows([swing(fast, extra=[extra])], channels=("joint.q[bob]", "joint.qd[bob]"))
    assert found.time[0].shape[1] == 101
    counts = found.mask[1].sum(1)
    assert set(counts) == {4, 5}
    for i, n in enumerate(counts):
        absolute = found.start[i] + found.time[1][i, :n]
        np.testing.assert_allclose(found.value[1][i, :n, 0], 5 + absolute, atol=1e-9)
        assert (found.value[1][i, n:, 0] == found.value[1][i, n - 1, 0]).all()


def test_commands_hold_their_last_value():
    """A command acts until the next is sent; a step that has two takes their mean over its time."""
    model = machines.arm()
    time = np.arange(0, 0.2005, 0.005)
    sent = np.array([0.0, 0.052, 0.1, 0.13, 0.2])
    values = np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    recording = Recording(
        {
            "joint.q[hinge]": Channel("joint.q[hinge]", time, time, "rad"),
            "control[motor]": Channel("control[motor]", sent, values, "N m"),
        },
        "run",
    )
    found = windows([recording], model, ("joint.q[hinge]",), horizon=0.2)
    expected = [1] * 5 + [1.8] + [2] * 4 + [3] * 3 + [4] * 7
    np.testing.assert_allclose(found.controls[0, :, 0], expected, rtol=1e-12)
    # On a clock that counts from 1970, where a step's start is known to 2e-7 s only.
    shifted = {c.name: c.replace(time=c.time + 1.7e9) for c in recording.channels.values()}
    late = windows([Recording(shifted, "run")], model, ("joint.q[hinge]",), horizon=0.2)
    np.testing.assert_allclose(late.controls[0, :, 0], expected, atol=2e-4)


def test_measured_torque_is_interpolated_through_the_motor():
    """A measured torque is taken midway through each step, over gear and gain."""
    builder = Builder("arm").link("arm", axis=(1, 0, 0), mass=1, inertia=0.1, joint_name="hinge")
    model = builder.actuator("motor", "hinge", gear=2.0, gain=5.0).build()
    time = np.arange(0, 0.205, 0.01)
    recording = Recording(
        {
            "joint.q[hinge]": Channel("joint.q[hinge]", time, time, "rad"),
            "joint.tau[hinge]": Channel("joint.tau[hinge]", time, 10 + 100 * time, "N m"),
        },
        "run",
    )
    assert control_channels(model, [recording]) == ("joint.tau[hinge]",)
    found = windows([recording], model, ("joint.q[hinge]",))
    middle = found.start[1] + 0.01 * np.arange(10) + 0.005
    np.testing.assert_allclose(found.controls[1, :, 0], (10 + 100 * middle) / 10)


def test_measured_joint_state():
    """Positions and velocities at a window's start come from a parabola through nearby samples."""
    time = np.arange(0, 1, 0.01)
    model = zoo.double_pendulum()
    channels = {
        f"joint.q[rod{i}]": Channel(f"joint.q[rod{i}]", time, np.sin(3 * time + i), "rad")
        for i in range(2)
    }
    rate = Channel("joint.qd[rod1]", time, np.full(100, 7.0), "rad/s")
    recording = Recording({**channels, rate.name: rate}, "run")
    found = windows([recording], model, tuple(channels), horizon=0.3)
    at = found.start
    np.testing.assert_allclose(found.q0[1:, 0], np.sin(3 * at[1:]), atol=2e-5)
    np.testing.assert_allclose(found.qd0[1:, 0], 3 * np.cos(3 * at[1:]), atol=0.02)
    # Where velocities are measured too, they are taken as they are.
    np.testing.assert_allclose(found.qd0[:, 1], 7.0, atol=1e-9)


def test_measured_pose_of_a_free_body():
    """A pose channel gives position, quaternion, world linear and body angular velocity."""
    model = Builder("box").link("box", joint="free", mass=1, inertia=(1, 2, 3)).build()
    time = np.arange(0, 1, 0.005)
    spin, speed = np.array([0.3, -1.0, 2.0]), np.array([1.0, 2.0, -3.0])
    angle = np.linalg.norm(spin)
    half = angle * time[:, None] / 2
    quaternion = np.concatenate([np.cos(half), np.sin(half) * spin / angle], -1)
    pose = Channel(
        "link.pose[box]", time, np.concatenate([time[:, None] * speed, quaternion], -1), ""
    )
    found = windows([Recording({pose.name: pose}, "run")], model, (pose.name,), horizon=0.25)
    for i, t in enumerate(found.start):
        np.testing.assert_allclose(found.q0[i, :3], t * speed, atol=1e-9)
        k = int(np.argmin(np.abs(time - t)))
        np.testing.assert_allclose(found.q0[i, 3:], quaternion[k], atol=1e-9)
        np.testing.assert_allclose(found.qd0[i], np.concatenate([speed, spin]), atol=1e-6)


def test_initial_states_by_function():
    """A function of recording and time gives the initial states instead."""
    found = windows(
        [swing(np.arange(0, 0.505, 0.01))], initial=lambda r, t: (np.array([t]), np.array([2 * t]))
    )
    np.testing.assert_allclose(found.q0[:, 0], found.start)
    np.testing.assert_allclose(found.qd0[:, 0], 2 * found.start)


def test_unmeasured_degrees_of_freedom_are_named():
    """What no channel measures directly is listed by label."""
    time = np.arange(0, 1, 0.01)
    channel = Channel("joint.q[rod1]", time, time, "rad")
    assert unmeasured(zoo.double_pendulum(), Recording({channel.name: channel}, "r")) == ["rod0"]


def test_no_window_fits():
    """A horizon beyond every stretch says how long the longest is."""
    with pytest.raises(ProblemError, match=r"No window of 2 s.*longest stretch.*1 s.*shorter"):
        windows([swing(np.arange(0, 1.005, 0.01))], horizon=2.0)


def test_commands_for_nobody():
    """A command without its actuator, or a torque without a motor, names the near ones."""
    time = np.arange(0, 1, 0.01)
    model = machines.arm()
    for name, part in (
        ("control[moter]", "no actuator of that name. Nearest: motor"),
        ("joint.tau[elbow]", "there is no joint 'elbow'. Available: hinge"),
    ):
        channel = Channel(name, time, time, "N m")
        with pytest.raises(ProblemError) as error:
            control_channels(model, [Recording({name: channel}, "run")])
        assert part in str(error.value)


def test_no_window_fits_between_gaps():
    """The longest stretch that is named has no gap in any channel."""
    times = [np.r_[0:0.5:0.01, 0.9:2.0:0.01], np.r_[0.05:1.4:0.01, 1.5:1.8:0.01]]
    names = ("joint.q[rod0]", "joint.q[rod1]")
    channels = {n: Channel(n, t, t, "rad") for n, t in zip(names, times, strict=True)}
    simulator = Simulator(zoo.double_pendulum(), 0.01)
    # 0.05 to 0.49, 0.9 to 1.39 and 1.5 to 1.79.
    with pytest.raises(ProblemError, match=r"without a pause of more than 5.* intervals: 0.49 s"):
        Problem(simulator, Recording(channels, "r"), ["joint.damping[*]"], horizon=1.0, holdout=0)
