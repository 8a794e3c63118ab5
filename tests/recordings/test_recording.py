"""Channels and recordings: data that cannot be inconsistent, operations that return new ones."""

import sys

import numpy as np
import pytest

from graftsim.errors import LogError
from graftsim.recordings.recording import Channel, Recording


def channel(name="joint.q[elbow]", time=(0.0, 0.1, 0.2, 0.3), values=None, unit="rad"):
    time = np.array(time)
    return Channel(name, time, np.sin(time) if values is None else values, unit)


def recording(*channels):
    return Recording({c.name: c for c in channels}, "run")


def test_values_become_columns_and_are_read_only_copies():
    time, values = np.arange(3.0), np.arange(3.0)
    made = Channel("control[a]", time, values, "N")
    values[0] = 9
    assert made.values.shape == (3, 1)
    assert made.values[0, 0] == 0
    assert made.column_names == ("control[a]",)
    with pytest.raises(ValueError, match="read-only"):
        made.time[0] = 1


@pytest.mark.parametrize(
    ("time", "values", "says"),
    [
        ([0, 1], [1, 2, 3], "do not fit"),
        ([], [], "do not fit"),
        ([0, np.nan], [1, 2], "NaN"),
        ([0, 1], [1, np.inf], "NaN"),
        ([0, 1, 1], [1, 2, 3], "does not increase at sample 2"),
    ],
)
def test_impossible_channels_are_refused(time, values, says):
    with pytest.raises(LogError, match=says) as caught:
        Channel("joint.q[a]", np.array(time), np.array(values), "rad")
    assert "joint.q[a]" in str(caught.value)


def test_wrong_name_lists_the_nearest():
    with pytest.raises(LogError, match=r"joint\.q\[elbw\].*Nearest: joint\.q\[elbow\]"):
        recording(channel())["joint.q[elbw]"]


def test_empty_and_mismatched_recordings_are_refused():
    with pytest.raises(LogError, match="no channel"):
        Recording({})
    with pytest.raises(LogError, match="holds 'joint"):
        Recording({"other": channel()})


def test_times_of_channels_with_their_own_clocks():
    slow = channel("control[m]", time=(-1.0, 1.0))
    both = recording(channel(), slow)
    assert both.names == ("joint.q[elbow]", "control[m]")
    assert (both.start, both.end, both.duration) == (-1.0, 1.0, 2.0)
    assert both.overlap == (0.0, 0.3)
    assert len(both) == 2
    assert "control[m]" in both


def test_gaps_and_segments():
    time = np.concatenate([np.arange(10) * 0.1, 5 + np.arange(5) * 0.1])
    made = recording(channel(time=time))
    (gap,) = made.gaps("joint.q[elbow]")
    assert gap == pytest.approx((0.9, 5.0))
    assert made.gaps("joint.q[elbow]", factor=100.0) == []
    assert made["joint.q[elbow]"].segments() == [slice(0, 10), slice(10, 15)]


def test_trim_keeps_both_ends_and_the_original():
    made = recording(channel(), channel("joint.qd[elbow]"))
    short = made.trim(0.1, 0.2)
    assert np.array_equal(short["joint.q[elbow]"].time, [0.1, 0.2])
    assert len(made["joint.q[elbow]"].time) == 4
    assert np.array_equal(made.trim(start=0.2)["joint.qd[elbow]"].time, [0.2, 0.3])
    with pytest.raises(LogError, match=r"joint\.q\[elbow\].*no sample between 7 s and"):
        made.trim(start=7)


def test_rename_select_shift_with_channel():
    made = recording(channel(), channel("joint.q[wrist]"))
    assert made.rename({"joint.q[elbow]": "joint.q[e]"}).names == ("joint.q[e]", "joint.q[wrist]")
    with pytest.raises(LogError, match="two channels would be named"):
        made.rename({"joint.q[elbow]": "joint.q[wrist]"})
    with pytest.raises(LogError, match="no channel 'nope'"):
        made.rename({"nope": "joint.q[wrist]"})
    assert made.select("joint.q[wrist]").names == ("joint.q[wrist]",)
    moved = made.shift(10.0)
    assert moved.start == 10.0
    assert "shifted by 10 s" in moved.notes[0]
    assert made.with_channel(channel("control[m]")).names[-1] == "control[m]"
    assert "control[m]" not in made


def test_summary_tells_unit_rate_range_gaps_notes():
    time = np.concatenate([np.arange(10) * 0.1, [5.0]])
    wide = Channel("link.position[tip]", time, np.ones((11, 3)), "m", notes=("by hand",))
    text = repr(Recording({wide.name: wide}, "run 7", ("columns not read: x",)))
    for part in ("run 7", "link.position[tip]", "11 x 3", "10 Hz", "1 .. 1", "1 (4.1 s)"):
        assert part in text
    assert "note: columns not read: x" in text
    assert "note: link.position[tip]: by hand" in text
    assert repr(wide).startswith("Channel(link.position[tip], m, 11 x 3")


def test_reading_logs_needs_no_heavy_library():
    import subprocess

    code = (
        "import sys, types, pathlib, importlib.util as u\n"
        "spec = u.find_spec('graftsim')\n"
        "bare = types.ModuleType('graftsim'); bare.__path__ = spec.submodule_search_locations\n"
        "sys.modules['graftsim'] = bare\n"
        "import graftsim.io.logs.read, graftsim.recordings.signals\n"
        "assert not {'jax', 'scipy', 'polars'} & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
