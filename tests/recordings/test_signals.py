"""Derivatives against closed forms, resampling that never bridges a gap, unwrapped angles."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from graftsim.errors import GraftsimWarning, LogError
from graftsim.recordings.recording import Channel, Recording
from graftsim.recordings.signals import (
    Butterworth,
    SavitzkyGolay,
    differentiate,
    low_pass,
    resample,
    unwrap,
)


def jittered(n=2000, dt=0.002, seed=0):
    return (np.arange(n) + np.random.default_rng(seed).uniform(-0.3, 0.3, n)) * dt


def angle(time, values, unit="rad"):
    return Channel("joint.q[a]", time, values, unit, "log.csv")


def record(*channels):
    return Recording({c.name: c for c in channels})


def test_derivative_of_a_sine_on_a_jittered_clock():
    time = jittered()
    rate = differentiate(angle(time, np.sin(7 * time)), SavitzkyGolay(0.03))
    assert rate.name == "joint.qd[a]"
    assert rate.unit == "rad/s"
    assert np.array_equal(rate.time, time)
    assert np.abs(rate.values[:, 0] - 7 * np.cos(7 * time)).max() < 7 * 1e-3
    assert any("SavitzkyGolay(window_s=0.03, order=3)" in note for note in rate.notes)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(-3, 3), min_size=4, max_size=4),
    st.floats(-100, 2e9),
    st.integers(0, 1000),
)
def test_a_polynomial_of_its_order_is_differentiated_exactly(factors, start, seed):
    # Differences of the clock as stored, which for a clock from 1970 has 0.2 us steps.
    time = start + jittered(80, 0.05, seed)
    s = time - start
    p = np.polynomial.Polynomial(factors)
    rate = differentiate(angle(time, p(s)), SavitzkyGolay(0.5, order=3))
    size = 1 + np.abs(factors).sum() * (1 + s[-1]) ** 3
    assert np.allclose(rate.values[:, 0], p.deriv()(s), atol=1e-9 * size)


def test_filters_do_not_reach_across_a_gap():
    time = np.concatenate([np.arange(100), 500 + np.arange(100), [900.0, 901.0]]) * 0.01
    step = np.where(time < 2, 0.0, np.where(time < 8, 5.0, 7.0))
    for method in (SavitzkyGolay(0.1), Butterworth(10.0)):
        rate = differentiate(angle(time, step), method)
        assert np.abs(rate.values).max() < 1e-9
        assert len(rate.time) == 200
        assert any("2 samples left out" in note for note in rate.notes)


def test_butterworth_has_no_lag_and_removes_noise():
    time = np.arange(4000) * 0.001
    clean = np.sin(2 * np.pi * time)
    noisy = clean + 0.1 * np.sin(2 * np.pi * 200 * time)
    smooth = low_pass(angle(time, noisy), Butterworth(20.0, order=2))
    assert np.abs(smooth.values[200:-200, 0] - clean[200:-200]).max() < 2e-3
    rate = differentiate(angle(time, noisy), Butterworth(20.0, order=2))
    error = rate.values[200:-200, 0] - 2 * np.pi * np.cos(2 * np.pi * time[200:-200])
    assert np.abs(error).max() < 0.03


def test_savitzky_golay_smooths_too():
    time = jittered(500)
    smooth = low_pass(angle(time, time**2), SavitzkyGolay(0.03))
    assert np.allclose(smooth.values[:, 0], time**2, atol=1e-12)


def test_unsuitable_filters_are_refused():
    made = angle(np.arange(100) * 0.01, np.zeros(100))
    with pytest.raises(LogError, match=r"holds 1 samples at a rate of 100 Hz"):
        differentiate(made, SavitzkyGolay(0.01))
    with pytest.raises(LogError, match="below half the sample rate, 50 Hz"):
        low_pass(made, Butterworth(60.0))
    with pytest.raises(LogError, match="must be positive"):
        SavitzkyGolay(-1.0)
    with pytest.raises(LogError, match="give name="):
        differentiate(made.replace(name="control[m]"), SavitzkyGolay(0.1))
    pose = Channel("link.pose[b]", [0.0, 1.0], np.eye(7)[[3, 3]], "m, 1")
    with pytest.raises(LogError, match="unit vectors"):
        differentiate(pose, SavitzkyGolay(0.1), name="signal[x]")


def test_units_of_derivatives():
    made = angle(np.arange(50) * 0.01, np.zeros(50), "rad or m")
    rate = differentiate(made, SavitzkyGolay(0.1))
    assert rate.unit == "rad/s or m/s"
    again = differentiate(rate, SavitzkyGolay(0.1))
    assert (again.name, again.unit) == ("joint.qdd[a]", "rad/s^2 or m/s^2")


def test_resample_is_linear_and_masks_the_gap():
    time = np.concatenate([np.arange(11), 20 + np.arange(11)]) * 0.1
    made = resample(record(angle(time, 3 * time)), dt=0.05)
    valid, values = made.valid["joint.q[a]"], made.values["joint.q[a]"][:, 0]
    inside = (made.time > 1 + 1e-9) & (made.time < 2 - 1e-9)
    assert np.array_equal(valid, ~inside)
    assert np.isnan(values[inside]).all()
    assert np.allclose(values[valid], 3 * made.time[valid])
    assert made.gaps["joint.q[a]"] == ((pytest.approx(1.0), pytest.approx(2.0)),)
    assert made.filled()["joint.q[a]"][inside].max() == 0
    assert len(made.recording()["joint.q[a]"].time) == valid.sum()
    assert resample(record(angle(time, time)), dt=0.05, gap_factor=np.inf).valid["joint.q[a]"].all()


def test_commands_are_held_and_nothing_is_extrapolated():
    command = Channel("control[m]", np.array([0.0, 1.0, 2.0]), np.array([1.0, 5.0, 9.0]), "N m")
    made = resample(record(command), times=[-0.1, 0.0, 0.9, 1.0, 1.9, 2.5, 3.5])
    assert made.valid["control[m]"].tolist() == [False, True, True, True, True, True, False]
    assert made.values["control[m]"][1:6, 0].tolist() == [1, 1, 5, 5, 9]
    linear = resample(record(command), times=[0.5], method={"control[m]": "linear"})
    assert linear.values["control[m]"][0, 0] == 3.0


def test_a_grid_on_the_samples_returns_them_also_with_a_clock_from_1970():
    time = 1.7e9 + np.arange(1000) * 0.01
    values = np.random.default_rng(0).normal(size=1000)
    made = resample(record(angle(time, values)), times=time)
    assert made.valid["joint.q[a]"].all()
    assert np.array_equal(made.values["joint.q[a]"][:, 0], values)
    even = resample(record(angle(time, values)), dt=0.01)
    assert len(even.time) == 1000
    assert np.abs(even.values["joint.q[a]"][:, 0] - values).max() < 1e-3


def test_grid_spans_what_all_channels_share():
    fast = angle(np.arange(101) * 0.01, np.zeros(101))
    slow = Channel("control[m]", 0.5 + np.arange(10) * 0.1, np.zeros(10), "N m")
    made = resample(record(fast, slow), dt=0.1)
    assert made.time[0] == 0.5
    assert made.time[-1] == pytest.approx(1.0)
    assert any("joint.q[a] resampled from 100 Hz to 10 Hz" in note for note in made.notes)
    with pytest.raises(LogError, match="no time in common"):
        resample(record(fast, slow.replace(time=slow.time + 9)), dt=0.1)


def test_quaternions_take_the_shorter_arc_and_stay_unit():
    quaternions = np.array([[1.0, 0, 0, 0], [-np.cos(0.1), -np.sin(0.1), 0, 0]])
    pose = Channel("link.pose[b]", [0.0, 1.0], np.hstack([np.zeros((2, 3)), quaternions]), "m, 1")
    middle = resample(record(pose), times=[0.5]).values["link.pose[b]"][0, 3:]
    assert np.allclose(middle, [np.cos(0.05), np.sin(0.05), 0, 0], atol=1e-12)


def test_wrong_use_of_resample():
    made = record(angle([0.0, 1.0], [0.0, 1.0]))
    with pytest.raises(LogError, match="either dt or times"):
        resample(made)
    with pytest.raises(LogError, match="positive"):
        resample(made, dt=0.0)
    with pytest.raises(LogError, match="increasing"):
        resample(made, times=[1.0, 0.0])
    with pytest.raises(LogError, match="'cubic' is not known"):
        resample(made, dt=0.1, method={"joint.q[a]": "cubic"})


def test_unwrap_joins_turns_and_resample_warns_before():
    time = np.arange(200) * 0.05
    wrapped = angle(time, (time + np.pi) % (2 * np.pi) - np.pi)
    with pytest.warns(GraftsimWarning, match="jumps by full turns"):
        resample(record(wrapped), dt=0.01)
    joined = unwrap(wrapped)
    assert np.allclose(joined.values[:, 0], time)
    assert joined.notes[-1] == "unwrapped"
    with pytest.raises(LogError, match="only an angle"):
        unwrap(wrapped.replace(unit="m"))
