"""Bags of messages that are more than joint states, by definitions that they bring with them."""

import sqlite3

import numpy as np
import pytest
from rosbags.rosbag2 import StoragePlugin, Writer
from rosbags.typesys import Stores, get_types_from_msg, get_typestore

import graftsim as gs
from graftsim.errors import LogError
from graftsim.io.logs.flatten import column_names, flattened
from graftsim.io.logs.read import read_recording, write_csv
from graftsim.recordings.recording import Channel, Recording
from graftsim.selectors import row_name
from log_samples import COUNT, NS, START, TIME, joint_states, nanoseconds, write_ros

MOTOR = "uint8 mode\nfloat32 q\nfloat32 dq\nfloat32 tau_est\n"
LOW = "uint32 tick\nunitree_go/MotorState[20] motor_state\nfloat32[4] foot_force\n"
POINT = "float64[] positions\nfloat64[] velocities\n"
CONTROL = (
    "std_msgs/Header header\nstring[] joint_names\ntest/Point reference\ntest/Point feedback\n"
)


def store_of(*definitions):
    """ROS 2's types and these: (name, definition)."""
    store = get_typestore(Stores.ROS2_HUMBLE)
    types = {}
    for name, text in definitions:
        types |= get_types_from_msg(text, name)
    store.register(types)
    return store


def write_bag(folder, store, topic, name, messages, plugin=StoragePlugin.MCAP, version=9):
    with Writer(folder, version=version, storage_plugin=plugin) as writer:
        connection = writer.add_connection(topic, name, typestore=store)
        for logged, message in messages:
            writer.write(connection, logged, store.serialize_cdr(message, name))
    return folder


def test_low_level_state_of_a_quadruped(tmp_path):
    """Structures in arrays, no header: numbers by motor, on the time of arrival."""
    store = store_of(("unitree_go/msg/MotorState", MOTOR), ("unitree_go/msg/LowState", LOW))
    motor, low = (store.types[f"unitree_go/msg/{n}"] for n in ("MotorState", "LowState"))
    messages = (
        (t, low(tick=k, foot_force=np.ones(4, np.float32), motor_state=[
            motor(mode=1, q=float(i + TIME[k]), dq=1.0, tau_est=0.5) for i in range(20)]))
        for k, t in enumerate(nanoseconds().tolist())
    )  # fmt: skip
    write_bag(tmp_path / "log", store, "/lowstate", "unitree_go/msg/LowState", messages)
    columns = {
        "joint.q[FR_hip]": "/lowstate.motor_state[0].q",
        "signal[feet]": "/lowstate.foot_force",
    }
    made = read_recording(tmp_path / "log", columns)
    assert np.allclose(made["joint.q[FR_hip]"].values[:, 0], TIME, atol=1e-6)
    assert np.allclose(made["joint.q[FR_hip]"].time, TIME)
    assert made["signal[feet]"].width == 4
    builder, parent = gs.Builder("dog"), "world"
    for leg in ("FL", "FR", "RL", "RR"):
        for part in ("hip", "thigh", "calf"):
            link = f"{leg}_{part}"
            builder.link(link, parent, joint_name=f"{link}_joint", mass=1.0, inertia=0.1)
            parent = link
    by_robot = read_recording(tmp_path / "log", robot=builder.build())
    assert by_robot["joint.q[FL_hip_joint]"].values[0, 0] == 3.0
    assert len(by_robot) == 36


def test_a_controllers_state(tmp_path):
    """Names of joints hold for the arrays of the structures below them."""
    store = store_of(("test/msg/Point", POINT), ("test/msg/Control", CONTROL))
    point, control = store.types["test/msg/Point"], store.types["test/msg/Control"]
    header, stamp = store.types["std_msgs/msg/Header"], store.types["builtin_interfaces/msg/Time"]

    def message(k, t):
        q = np.array([TIME[k], 2 * TIME[k]])
        return control(
            header=header(stamp=stamp(sec=t // NS, nanosec=t % NS), frame_id=""),
            joint_names=["elbow", "wrist"],
            reference=point(positions=q + 1, velocities=np.zeros(0)),
            feedback=point(positions=q, velocities=np.array([1.0, 2.0])),
        )

    messages = ((t + 5, message(k, t)) for k, t in enumerate(nanoseconds().tolist()))
    write_bag(tmp_path / "log", store, "/arm/state", "test/msg/Control", messages)
    made = read_recording(tmp_path / "log")
    assert np.array_equal(made["joint.q[wrist]"].values[:, 0], 2 * TIME)
    assert np.array_equal(made["signal[desired.q:elbow]"].values[:, 0], TIME + 1)
    assert "joint.qd[elbow]" in made


def test_types_that_a_bag_does_not_define(tmp_path):
    """A db3 of old has no definitions: ROS 2's own are known, others are named as skipped."""
    store = store_of(("test/msg/Point", POINT))
    point = store.types["test/msg/Point"]
    messages = ((t, point(positions=np.zeros(2), velocities=np.zeros(0))) for t in nanoseconds(5))
    with Writer(tmp_path / "log", version=8, storage_plugin=StoragePlugin.SQLITE3) as writer:
        c = writer.add_connection("/mine", "test/msg/Point", typestore=store)
        for t, m in messages:
            writer.write(c, int(t), store.serialize_cdr(m, "test/msg/Point"))
    base = next((tmp_path / "log").glob("*.db3"))
    with sqlite3.connect(base) as connection:
        connection.execute("DELETE FROM message_definitions")
    with pytest.raises(
        LogError, match=r"/mine \(test/msg/Point: the bag does not define this type"
    ):
        read_recording(base)


def test_simulated_time_beside_the_time_of_day(tmp_path):
    """Stamps count from 0, arrival from 1970: each is a clock, and the difference is said."""
    write_ros(tmp_path / "log", joint_states(1 + nanoseconds() - START * NS, nanoseconds()))
    with pytest.warns(gs.GraftsimWarning, match="header.stamp is .* behind the time of arrival"):
        made = read_recording(tmp_path / "log")
    assert made.epoch == 0 and made.end == pytest.approx(TIME[-1])
    by_arrival = read_recording(tmp_path / "log", time="log_time")
    assert by_arrival.end == pytest.approx(TIME[-1])
    assert any("count from different moments" in note for note in by_arrival.notes)


def test_names_in_messages_that_name_nothing():
    """Twice the same, or more names than numbers: numbers stand by their places."""
    shape, numbers, stamp = flattened({"name": ["a", "a"], "position": [1.0, 2.0]})
    assert column_names(shape) == ["position[0]", "position[1]"]
    assert numbers.tolist() == [1.0, 2.0] and stamp is None
    shape, *_ = flattened({"name": ["a", "b", "c"], "position": [1.0, 2.0], "on": True})
    assert column_names(shape) == ["position[0]", "position[1]", "on"]
    deep = {"a": 1.0}
    for _ in range(100):
        deep = {"a": deep}
    assert flattened(deep)[1].tolist() == []


# --- clocks and names in headers (P11)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_clocks_from_1970_have_even_steps(tmp_path, unit):
    """A sample interval of 1 ms is one, though float64 tells only 0.24 us apart at 1.7e9 s."""
    per_second = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[unit]
    stamps = (START + 0.25 + 0.001 * np.arange(COUNT)) * per_second
    digits = 6 if unit == "s" else 0
    rows = [f"{t:.{digits}f},{0.01 * k}" for k, t in enumerate(stamps)]
    (tmp_path / "log.csv").write_text("\n".join(["time,joint.q[a]", *rows]))
    made = read_recording(tmp_path / "log.csv")
    assert made["joint.q[a]"].interval == pytest.approx(0.001, rel=1e-9)
    assert made.epoch == START and made.start == pytest.approx(0.25, abs=1e-6)


@pytest.mark.parametrize("title", ["time [s]", "time (s)", "Time[ms]", "t [us]", "timestamp [ns]"])
def test_units_of_clocks_in_brackets(tmp_path, title):
    """As engineers write them."""
    (tmp_path / "log.csv").write_text(f"{title},joint.q[a]\n0,1\n1,2\n2,4\n")
    scale = {"s": 1, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[title[-3:].strip("[(])")]
    assert read_recording(tmp_path / "log.csv").end == pytest.approx(2 * scale)


@pytest.mark.parametrize("label", ["a[1]", "arm[left].elbow", 'a"b', "x,y", "{n}", "a]"])
def test_bracketed_names_read_back(tmp_path, label):
    """What `write_csv` writes of any label is the same channel again."""
    channel = Channel(row_name("joint.q", label), TIME, np.sin(TIME), "rad")
    write_csv(Recording({channel.name: channel}), tmp_path / "log.csv")
    assert read_recording(tmp_path / "log.csv").names == (channel.name,)
