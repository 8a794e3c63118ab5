"""Logs whose columns say what they are: which channel of a robot each becomes, and what is said."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.errors import LogError
from graftsim.io.logs.names import RobotNames, matched
from graftsim.io.logs.presets.plain_columns import PlainColumns
from graftsim.io.logs.presets.unitree import Unitree
from graftsim.io.logs.read import read_recording, recording_from_arrays
from graftsim.io.logs.tables import array_table
from log_samples import JOINTS, TIME, Q, joint_states, nanoseconds, write_mcap_json

LEGS = [f"{leg}_{part}" for leg in ("FL", "FR", "RL", "RR") for part in ("hip", "thigh", "calf")]


def robot(joints, drives=(), limits=None, prefix=""):
    """A chain of hinges with servos on some of them."""
    builder, parent = gs.Builder("robot"), "world"
    for joint in joints:
        name = f"link_{joint}"
        builder.link(
            name, parent, joint_name=prefix + joint, axis=(0, 1, 0), mass=1.0, inertia=0.1,
            **({} if limits is None else {"lower": limits[0], "upper": limits[1]}),
        )  # fmt: skip
        parent = name
    for joint in drives:
        builder.actuator(f"{joint}_servo", prefix + joint, "position", kp=10.0)
    return builder.build()


@pytest.mark.parametrize(
    ("logged", "known", "found"),
    [
        (["a", "b"], ["b", "a"], {"a": "a", "b": "b"}),
        (["left/elbow"], ["elbow", "wrist"], {"left/elbow": "elbow"}),
        (["elbow"], ["arm_elbow", "wrist"], {"elbow": "arm_elbow"}),
        (["elbow"], ["left_elbow", "right_elbow"], {}),
        (["left/elbow", "right/elbow"], ["elbow"], {}),
        (["below"], ["elbow", "low"], {}),
        (["elbow", "left/elbow"], ["elbow", "l_elbow"], {"elbow": "elbow"}),
    ],
)
def test_names_are_matched_exactly_then_by_a_unique_end(logged, known, found):
    """Never by place, and not where two could be meant."""
    assert matched(logged, known) == found


def test_joint_states_go_to_joints_of_like_names(tmp_path):
    """What fits no joint is named; a topic of commands goes to the actuators that take them."""
    path = write_mcap_json(tmp_path / "log.mcap", joint_states(nanoseconds()))
    model = robot(["shoulder", "wrist"], prefix="arm_")
    made = read_recording(path, robot=model)
    assert made.names == ("joint.q[arm_shoulder]", "joint.qd[arm_shoulder]")
    assert any("no joint of the robot is called elbow (it has arm_" in n for n in made.notes)
    path = write_mcap_json(
        tmp_path / "log.mcap", joint_states(nanoseconds()), topic="/arm/joint_commands"
    )
    made = read_recording(path, robot=robot(JOINTS, drives=["elbow"]))
    assert np.array_equal(made["control[elbow_servo]"].values[:, 0], Q[:, 1])
    assert "signal[desired.q:shoulder]" in made


@pytest.mark.parametrize("parts", [("desired", "actual"), ("reference", "feedback")])
def test_the_state_of_a_trajectory_controller(parts):
    """Desired beside actual, by its names of both generations."""
    arrays = {"/c.header.stamp": TIME}
    for part, add in zip(parts, (0.1, 0.0), strict=True):
        for k, joint in enumerate(JOINTS):
            arrays[f"/c.{part}.positions[{joint}]"] = Q[:, k] + add
    table = array_table(arrays, "log")
    model = robot(JOINTS, drives=JOINTS)
    plan = {
        g.channel: g.spec.columns[0]
        for preset in gs_presets()
        if (found := preset.propose(table, RobotNames.of(model)))
        for g in found.guesses
    }
    assert plan == {
        "control[shoulder_servo]": f"/c.{parts[0]}.positions[shoulder]",
        "control[elbow_servo]": f"/c.{parts[0]}.positions[elbow]",
        "joint.q[shoulder]": f"/c.{parts[1]}.positions[shoulder]",
        "joint.q[elbow]": f"/c.{parts[1]}.positions[elbow]",
    }


def gs_presets():
    from graftsim.io.logs.presets import PRESETS

    return PRESETS


def test_unitree_motors_are_in_its_order_of_legs():
    """FR first, whatever the order of the robot's file; gains that change are channels."""
    arrays = {"time": TIME}
    for i in range(20):
        arrays[f"/lowstate.motor_state[{i}].q"] = TIME + i
        arrays[f"/lowcmd.motor_cmd[{i}].q"] = TIME - i
        arrays[f"/lowcmd.motor_cmd[{i}].kp"] = 20 + TIME
        arrays[f"/lowcmd.motor_cmd[{i}].kd"] = 0 * TIME + i
    model = robot(LEGS, drives=LEGS)
    found = Unitree().propose(array_table(arrays, "log"), RobotNames.of(model))
    plan = {g.channel: g.spec.columns[0] for g in found.guesses}
    assert plan["joint.q[FR_hip]"] == "/lowstate.motor_state[0].q"
    assert plan["joint.q[FL_hip]"] == "/lowstate.motor_state[3].q"
    assert plan["joint.q[RL_calf]"] == "/lowstate.motor_state[11].q"
    assert plan["control[RR_thigh_servo]"] == "/lowcmd.motor_cmd[7].q"
    assert plan["control[FR_calf_servo.kp]"] == "/lowcmd.motor_cmd[2].kp"
    assert len(plan) == 36 and "order of legs" in found.notes[0]
    assert found.start["actuator.kd[FL_hip_servo]"] == 3 and len(found.start) == 12
    assert "motor_cmd.kd: the same throughout" in found.notes[-1]


def test_arrays_of_all_joints_in_the_robots_order():
    """By their names and width; gains that the log states come with them."""
    model = robot(JOINTS, drives=JOINTS)
    arrays = {"time": TIME, "joint_position": Q, "commanded_position": Q + 1, "qpos_error": Q}
    made = recording_from_arrays(arrays, robot=model)
    assert made.names == (
        *(f"joint.q[{j}]" for j in JOINTS),
        *(f"control[{j}_servo]" for j in JOINTS),
    )
    with pytest.raises(LogError, match="array 'q' has 2 columns, the robot 3 joints"):
        recording_from_arrays({"time": TIME, "q": Q}, robot=robot(["a", "b", "c"]))
    with pytest.raises(LogError, match="no column was mapped"):
        recording_from_arrays({"time": TIME, "joint_position": Q})


def test_what_no_driver_fills_is_left_out(tmp_path):
    """Efforts of zero throughout are no torques; those of one joint that rests are."""
    messages = []
    for stamp, at, fields in joint_states(nanoseconds()):
        messages.append((stamp, at, {**fields, "effort": np.zeros(2)}))
    path = write_mcap_json(tmp_path / "log.mcap", messages)
    made = read_recording(path)
    assert not any(name.startswith("joint.tau") for name in made)
    assert any("0 throughout: /joint_states.effort" in note for note in made.notes)
    messages = [(t, at, {**f, "effort": np.array([0.0, 1.0])}) for t, at, f in messages]
    assert "joint.tau[shoulder]" in read_recording(write_mcap_json(path, messages))


def test_commands_without_names_are_asked_for():
    """Numbers of a topic that commands, beside states with names."""
    arrays = {"/c.header.stamp": TIME, "time": TIME, "/forward_commands.data": Q}
    arrays |= {f"/s.position[{j}]": Q[:, k] for k, j in enumerate(JOINTS)}
    made = recording_from_arrays(arrays)
    assert any("/forward_commands.data has 2 numbers without names" in n for n in made.notes)


def test_a_gripper_in_percent_of_its_travel():
    """LeRobot's 0 to 100 becomes the travel in the robot's file, the arm degrees."""
    names = ["shoulder.pos", "gripper.pos"]
    values = np.stack([90 * np.sin(TIME), 50 + 50 * np.sin(TIME)], axis=1)
    arrays = {f"observation.state[{n}]": values[:, k] for k, n in enumerate(names)}
    model = robot(["shoulder", "gripper"], limits=(-0.2, 1.8))
    made = recording_from_arrays({"time": TIME, **arrays}, robot=model)
    assert np.allclose(made["joint.q[shoulder]"].values[:, 0], np.pi / 2 * np.sin(TIME))
    assert np.allclose(made["joint.q[gripper]"].values[:, 0], 0.8 + np.sin(TIME))
    assert any("0 to 100 taken as the travel" in note for note in made.notes)


def test_a_data_set_of_old_names():
    """`main_shoulder` has no ending, and ends as the robot's joint is called."""
    arrays = {f"observation.state[main_{j}]": 90 * Q[:, k] for k, j in enumerate(JOINTS)}
    made = recording_from_arrays({"time": TIME, **arrays}, robot=robot(JOINTS))
    assert np.allclose(made["joint.q[elbow]"].values[:, 0], np.pi / 2 * Q[:, 1])


def test_a_data_set_without_names():
    """State and action in degrees go by the robot's order, if it has as many joints."""
    arrays = {"time": TIME, "observation.state": np.degrees(8 * Q), "action": np.degrees(8 * Q) + 1}
    made = recording_from_arrays(arrays, robot=robot(JOINTS, drives=JOINTS))
    assert np.allclose(made["joint.q[elbow]"].values[:, 0], 8 * Q[:, 1])
    assert np.allclose(made["control[shoulder_servo]"].values[:, 0], 8 * Q[:, 0] + np.pi / 180)
    with pytest.raises(LogError, match="no column was mapped"):
        recording_from_arrays({"time": TIME, "observation.state": Q}, robot=robot(["a"]))


@pytest.mark.parametrize(
    ("columns", "joints", "channels"),
    [
        (["q_1", "dq_1", "tau_2"], ["j1", "j2"], ["joint.q[j1]", "joint.qd[j1]", "joint.tau[j2]"]),
        (["pos_meas1", "pos_meas2"], ["joint0", "joint1"], ["joint.q[joint0]", "joint.q[joint1]"]),
        (["actual_q_0", "target_q_0"], ["pan", "lift"], ["joint.q[pan]", "control[pan_servo]"]),
        (["elbow_pos", "ElbowVel"], ["elbow", "pan"], ["joint.q[elbow]", "joint.qd[elbow]"]),
        (["position", "u"], ["hinge"], ["joint.q[hinge]", "control[hinge_servo]"]),
        (["/states/left_knee/position"], ["left_knee"], ["joint.q[left_knee]"]),
        (["current_1"], ["j1"], ["signal[current:j1]"]),
        (
            ["q_d_0", "q_0", "tau_J_d_0", "tau_J_0"],
            ["panda_joint1", "panda_joint2"],
            ["joint.q[panda_joint1]", "joint.tau[panda_joint1]", "control[panda_joint1_servo]"],
        ),
        (["tau_cmd_1"], ["j1"], ["joint.tau[j1]"]),
        (["elbow_temperature", "frame_index"], ["elbow"], None),
    ],
)
def test_columns_by_the_words_in_their_names(columns, joints, channels):
    """For import alone: joints by name, by number, by count from 0 or 1."""
    table = array_table(dict.fromkeys(columns, TIME), "log")
    names = RobotNames.of(robot(joints, drives=joints))
    found = PlainColumns().propose(table, names)
    assert (None if found is None else [g.channel for g in found.guesses]) == channels


@pytest.mark.parametrize(
    ("column", "values", "unit"),
    [
        ("q_1", 90 * np.sin(TIME), "deg"),
        ("q_1", np.sin(TIME), None),
        ("q_deg_1", np.sin(TIME), "deg"),
        ("dq_1 [rpm]", TIME, "rpm"),
        ("q_1 (raw)", TIME, None),
        ("motor_q_1", 90 * TIME, None),
    ],
)
def test_units_by_name_then_by_range(column, values, unit):
    """A joint that goes beyond a full turn is in degrees, unless it is a motor's."""
    table = array_table({column: values}, "log")
    (guess,) = PlainColumns().propose(table, RobotNames.of(robot(["j1"]))).guesses
    assert guess.spec.unit == unit


PATTERN = {
    "joint.q[joint{n}]": "q_{n}",
    "joint.tau[joint{n}]": {"column": "tau_{n}", "unit": "mNm"},
}


def test_a_pattern_stands_for_all_that_fit():
    """Of seven joints, and what is mapped by name is left to that."""
    arrays = {"time": TIME} | {f"{k}_{n}": TIME + n for k in ("q", "tau") for n in range(1, 8)}
    made = recording_from_arrays(arrays, PATTERN)
    assert len(made) == 14
    assert made["joint.tau[joint7]"].values[0, 0] == pytest.approx(0.007)
    own = recording_from_arrays(arrays, {**PATTERN, "joint.q[joint1]": "tau_1"})
    assert own["joint.q[joint1]"].column_names == ("tau_1",)
    known = recording_from_arrays(arrays, PATTERN, robot=robot(["joint2", "joint3"]))
    assert set(known) == {f"joint.{k}[joint{n}]" for k in ("q", "tau") for n in (2, 3)}


def test_patterns_of_vectors_and_of_two_blanks():
    """All columns of a vector; a column of two blanks; a blank that comes twice."""
    arrays = {"time": TIME} | {f"{side}{n}_{part}": TIME for side in "LR" for n in (1, 2)
                               for part in "xyz"}  # fmt: skip
    vectors = {"link.position[{s}_{n}]": ["{s}{n}_x", "{s}{n}_y", "{s}{n}_z"]}
    made = recording_from_arrays(arrays, vectors)
    assert made.names == tuple(f"link.position[{s}_{n}]" for s in "LR" for n in (1, 2))
    twice = {"time": TIME, "a/a": TIME, "a/b": TIME}
    assert recording_from_arrays(twice, {"signal[{x}]": "{x}/{x}"}).names == ("signal[a]",)


@pytest.mark.parametrize(
    ("columns", "says"),
    [
        ({"joint.q[joint{n}]": "p_{n}"}, r"fits nothing. Available: time, q_1"),
        ({"joint.q[joint{n}]": "q_{m}"}, "do not have the same blanks"),
        ({"joint.q[joint{n}]": "q_1"}, "do not have the same blanks"),
        ({"joint{n}": "q_{n}"}, "is not a pattern of a channel"),
        ({"joint.q[arm{n}]": "q_{n}"}, "It would be for arm1, which the robot does not have"),
    ],
)
def test_patterns_that_fit_nothing(columns, says):
    """Said with what is there."""
    with pytest.raises(LogError, match=says):
        recording_from_arrays({"time": TIME, "q_1": TIME}, columns, robot=robot(["joint1"]))


def test_braces_in_a_robots_own_names_are_no_blanks():
    """A joint called `a{1}` is mapped as it is."""
    made = recording_from_arrays(
        {"time": TIME, "q": TIME}, {"joint.q[a{1}]": "q"}, robot=robot(["a{1}"])
    )
    assert made.names == ("joint.q[a{1}]",)


def test_a_published_log_needs_no_mapping(data_dir, assets_dir):
    """A Go2's arrays, read with its robot file: twelve servos and their joints, in order."""
    model = gs.load(assets_dir / "unitree" / "go2.xml")
    path = data_dir / "unitree_servo" / "go2_run0.npz"
    made = read_recording(path, robot=model)
    raw = np.load(path)
    for k, joint in enumerate(model.tree.dofs):
        assert np.array_equal(made[f"joint.q[{joint}]"].values[:, 0], raw["joint_position"][:, k])
    servo = model.actuator.names[4]
    assert np.array_equal(made[f"control[{servo}]"].values[:, 0], raw["commanded_position"][:, 4])
