"""Corrections of recordings: each does what it says, to the channels that a pattern chooses."""

import numpy as np
import pytest

from graftsim.errors import LogError
from graftsim.recordings.corrections import Corrections, chosen, corrected
from graftsim.recordings.recording import Channel, Recording

T = 0.01 * np.arange(100)


def log(**more):
    """Two joints, a command and a stamp."""
    values = {
        "joint.q[a]": (np.sin(T), "rad or m"),
        "joint.q[b]": (np.cos(T), "rad or m"),
        "control[a]": (T, "SI"),
        "signal[stamp]": (50 + 1.01 * T, "SI"),
    } | more
    channels = [Channel(name, T, x, unit) for name, (x, unit) in values.items()]
    return Recording({c.name: c for c in channels}, "run")


def one(recording=None, **how):
    """The recording corrected."""
    (found,) = corrected([recording or log()], Corrections(**how))
    return found


def test_patterns():
    """As everywhere: labels in brackets, wildcards, several by commas, quotes."""
    names = ["joint.q[a]", "joint.q[b]", "joint.qd[a]", "control[a]", 'control["x[1]"]']
    assert chosen("joint.q[*]", names) == names[:2]
    assert chosen("joint.q[b,a]", names) == names[:2]
    assert chosen("control[a]", names) == ["control[a]"]
    assert chosen('control["x[1]"]', names) == names[4:]
    assert chosen("joint.q", names) == chosen("joint[*]", names) == []


def test_scale_by_factor_and_by_unit():
    """A unit's factor comes from the table of units, and its SI unit with it."""
    found = one(scale={"joint.q[*]": "deg", "control[a]": -2.0})
    np.testing.assert_allclose(found["joint.q[b]"].values[:, 0], np.cos(T) * np.pi / 180)
    assert found["joint.q[a]"].unit == "rad"
    np.testing.assert_allclose(found["control[a]"].values[:, 0], -2 * T)
    assert "taken as deg" in found["joint.q[a]"].notes


def test_offset_comes_after_scale():
    """The offset is in SI."""
    found = one(scale={"joint.q[a]": "deg"}, offset={"joint.q[a]": 0.5})
    np.testing.assert_allclose(found["joint.q[a]"].values[:, 0], np.sin(T) * np.pi / 180 + 0.5)


def test_rename_and_trim():
    """Other channels stay as they are."""
    found = one(rename={"joint.q[b]": "joint.q[c]"}, trim=(0.2, None))
    assert found.names == ("joint.q[a]", "joint.q[c]", "control[a]", "signal[stamp]")
    assert found.start == pytest.approx(0.2) and found.end == T[-1]


def test_distinct_samples():
    """Of held samples the first of each stays; a rest keeps samples, so that it is no gap."""
    held = np.repeat(np.sin(T[::4]), 4)
    held[60:90] = held[60]
    found = one(log(**{"joint.q[a]": (held, "rad")}), distinct=("joint.q[a]",))["joint.q[a]"]
    np.testing.assert_allclose(found.time[:15], T[:60:4])
    assert np.diff(found.time).max() == pytest.approx(0.04) and not found.gaps()


def test_unwrap():
    """Full turns are joined."""
    wrapped = (8 * T + np.pi) % (2 * np.pi) - np.pi
    found = one(log(**{"joint.q[a]": (wrapped, "rad")}), unwrap=("joint.q[a]",))
    np.testing.assert_allclose(found["joint.q[a]"].values[:, 0], 8 * T, atol=1e-12)


def test_clocks():
    """Even samples, another unit, or the time of a channel."""
    assert one(clock="ms").end == pytest.approx(1e-3 * T[-1])
    stamped = one(clock="signal[stamp]")
    np.testing.assert_allclose(stamped["joint.q[a]"].time, 50 + 1.01 * T)
    bursts = np.sort(np.concatenate([T[::2], T[::2] + 1e-4]))
    uneven = Recording({"joint.q[a]": Channel("joint.q[a]", bursts, bursts, "rad")}, "run")
    even = one(uneven, clock="even")["joint.q[a]"].time
    np.testing.assert_allclose(np.ptp(np.diff(even)), 0, atol=1e-12)
    assert (even[0], even[-1]) == (bursts[0], bursts[-1])


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"scale": {"joint.q[c]": 2.0}}, "no channel is called joint.q"),
        ({"scale": {"joint.q[a]": "kN"}}, "cannot be in kN"),
        ({"scale": {"joint.q[a]": "furlong"}}, "furlong"),
        ({"rename": {"joint.q[a]": "joint.q[b]"}}, "two channels would be named"),
        ({"rename": {"joint.q[a]": "elbow"}}, "not a channel name"),
        ({"clock": "fast"}, "'even', the unit"),
        ({"clock": "control[b]"}, "there is no channel"),
        ({"clock": "joint.q[b]"}, "does not rise"),
        ({"unwrap": ("control[a]",)}, "only an angle"),
        ({"trim": (5.0, None)}, "no sample between"),
    ],
)
def test_wrong_corrections(how, says):
    """What cannot be is said with what would be accepted."""
    with pytest.raises(LogError, match=says):
        one(**how)


def test_unit_vectors_have_no_scale():
    """A quaternion is not scaled."""
    pose = np.tile([0, 0, 0, 1.0, 0, 0, 0], (100, 1))
    recording = Recording({"link.pose[x]": Channel("link.pose[x]", T, pose, "SI")}, "run")
    with pytest.raises(LogError, match="unit vectors"):
        one(recording, scale={"link.pose[x]": 2.0})
