"""What commands print of logs."""

import io

import numpy as np
import pytest
from rich.console import Console

from graftsim.cli.tables import print_recordings
from graftsim.recordings.recording import Channel, Recording

JOINTS = [f"{leg}_{part}" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")]


def recording(name, end=2.0, amplitude=1.0):
    """Positions, velocities and torques of twelve joints at 500 Hz, an accelerometer at 100 Hz."""
    fast, slow = np.arange(0, end, 0.002), np.arange(0, end, 0.01)
    channels = {}
    for quantity, unit in (("joint.q", "rad"), ("joint.qd", "rad/s"), ("joint.tau", "N m")):
        for k, joint in enumerate(JOINTS):
            values = amplitude * (k + 1) * np.sign(np.sin(5 * fast))
            channels[f"{quantity}[{joint}]"] = Channel(f"{quantity}[{joint}]", fast, values, unit)
    name_ = "link.linear_acceleration[trunk]"
    channels[name_] = Channel(name_, slow, np.full((len(slow), 3), 9.81), "m/s^2")
    return Recording(channels, name)


def printed(*recordings, width=160):
    """What is printed, and its rows of cells."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    print_recordings(recordings, console)
    text = console.file.getvalue()
    return text, [[c.strip() for c in x.split("│")[1:-1]] for x in text.splitlines() if "│" in x]


def test_channels_are_a_row_for_each_quantity_with_joints_rate_and_range():
    """Thirty-seven channels are four rows, in the order of the log."""
    text, cells = printed(recording("walk"))
    assert text.startswith("walk: 1.998 s\n")
    rows = [row for row in cells if row[0]]
    assert [row[0] for row in rows] == [
        "joint.q", "joint.qd", "joint.tau", "link.linear_acceleration",
    ]  # fmt: skip
    assert [row[2] for row in rows] == ["500 Hz"] * 3 + ["100 Hz"]
    assert rows[0][3:] == ["-12 to 12", "rad"]
    assert rows[3][1:] == ["trunk", "100 Hz", "9.81 to 9.81", "m/s^2"]
    listed = " ".join(row[1] for row in cells[: len(cells) // 4 + 1])
    assert all(joint in listed for joint in JOINTS)


def test_logs_with_the_same_channels_share_a_table():
    """Their lengths add up, and the range is that of all; another kind of log has its own table."""
    other = recording("c").select("joint.q[FL_hip]")
    text, cells = printed(recording("a"), recording("b", 3.0, 2.0), other)
    assert text.startswith("a, b: 4.996 s\n")
    assert "\nc: 1.998 s\n" in text
    assert [row[3] for row in cells if row[0] == "joint.q"] == ["-24 to 24", "-1 to 1"]


def test_many_logs_are_counted():
    """A hundred names would be no table."""
    text, _ = printed(*(recording(f"run{i}", 0.1) for i in range(100)))
    assert text.startswith("run0, run1, run2, run3 and 96 more: ")


@pytest.mark.parametrize("width", [40, 80, 200])
def test_nothing_is_cut_off_in_a_narrow_terminal(width):
    """Names are folded, not shortened."""
    text, _ = printed(recording("walk"), width=width)
    assert "…" not in text
