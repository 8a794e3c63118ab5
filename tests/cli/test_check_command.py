"""`graftsim check`, what it says before a fit, and the options that mend recordings."""

import json

import numpy as np
import pytest

from graftsim.cli.groups import SimulationOptions
from graftsim.cli.options import TouchOptions
from graftsim.cli.robot import load_for
from graftsim.io.logs.read import read_recording
from graftsim.io.logs.write import write_csv
from graftsim.recordings.recording import Recording

SERVO = """<mujoco model="arm"><worldbody>
<body name="upper"><joint name="shoulder" axis="1 0 0" damping="0.05"/>
<inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.0002"/>
<body name="lower" pos="0 0 -0.5"><joint name="elbow" axis="1 0 0" damping="0.05"/>
<inertial pos="0 0 -0.25" mass="1" diaginertia="0.02 0.02 0.0002"/></body></body></worldbody>
<actuator><position name="s1" joint="shoulder" kp="40" kv="1"/></actuator></mujoco>
"""
QUICK = ["--horizon", "0.3", "--growth", "1.0", "--free", "joint.damping[*]", "--quiet"]


@pytest.fixture(scope="module")
def logs(place, tmp_path_factory):
    """Copies of a right log: elbow in degrees; named otherwise; torques beside it."""
    folder = tmp_path_factory.mktemp("logs")
    right = read_recording(place / "a.csv")
    q = right["joint.q[elbow]"]
    others = [right["joint.q[shoulder]"]]
    degrees = q.replace(values=np.degrees(q.values) * 10, unit="rad or m")
    named = q.replace(name="joint.q[elbwo]")
    t = q.time
    turned = right["joint.qd[elbow]"]
    turned = turned.replace(values=-turned.values)
    torque = q.replace(name="joint.tau[shoulder]", values=np.sin(20 * t), unit="N m")
    for name, channels in {
        "degrees": [*others, degrees],
        "named": [*others, named],
        "turned": [*others, q, turned],
        "torque": [*others, q, torque],
    }.items():
        write_csv(Recording({c.name: c for c in channels}, name), folder / f"{name}.csv")
    text = (folder / "degrees.csv").read_text().replace("joint.q[elbow] (rad)", "joint.q[elbow]")
    (folder / "degrees.csv").write_text(text)
    (folder / "servo.xml").write_text(SERVO)
    return folder


def test_right_log(cli, place):
    """A simulated log has nothing to find: exit code 0, and what was not checked is named."""
    code, out, err = cli("check", place / "robot.urdf", place / "a.csv")
    assert code == 0
    assert "recordings: nothing found" in out
    assert "not checked, for want of channels" in out and "clock" in out
    assert "joint.q" in err and "shoulder, elbow" in err


def test_error_and_its_remedy(cli, place, logs, tmp_path):
    """Degrees are an error, code 1; with the flag that is named they are none."""
    found = tmp_path / "found.json"
    args = ("check", place / "robot.urdf", logs / "degrees.csv", "--quiet")
    code, out, _ = cli(*args, "--json", found)
    assert code == 1
    assert "error" in out and "--scale 'joint.q[elbow]=deg'" in out
    (f,) = json.loads(found.read_text())["findings"]
    assert (f["level"], f["check"], f["channel"]) == ("error", "unit", "joint.q[elbow]")
    assert f["remedy"] == "--scale 'joint.q[elbow]=deg'" and f["number"] > 50
    code, out, _ = cli(*args, "--scale", "joint.q[elbow]=deg")
    assert code == 0 and "nothing found" in out


def test_run_file_of_a_fit(cli, place, logs, tmp_path):
    """The run file of a fit serves, with the corrections in it; a wrong key is still an error."""
    file = tmp_path / "run.toml"
    lines = [
        f"robot = '{place / 'robot.urdf'}'",
        f"logs = ['{logs / 'degrees.csv'}']",
        "iterations = 3",
        "scale = ['joint.q[elbow]=deg']",
        "[free]",
        "'joint.damping[*]' = 'shared'",
    ]
    file.write_text("\n".join(lines))
    assert cli("check", "--run", file)[0] == 0
    file.write_text("\n".join(["sclae = 1", *lines]))
    code, _, err = cli("check", "--run", file)
    assert code == 2 and "unknown key 'sclae'" in err


def test_fit_stops_on_errors(cli, place, logs, tmp_path):
    """A name that the robot has not stops a fit with the flag that mends it; which then fits."""
    args = ("fit", place / "robot.urdf", logs / "named.csv", *QUICK, "--out", tmp_path / "out")
    code, out, err = cli(*args)
    assert (code, out) == (2, "")
    assert "the recordings cannot be fitted as they are" in err
    assert "--rename 'joint.q[elbwo]=joint.q[elbow]'" in err and "--no-check" in err
    assert not (tmp_path / "out").exists()
    code, _, err = cli(*args, "--rename", "joint.q[elbwo]=joint.q[elbow]", "--iterations", "2")
    assert code in (0, 1), err
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h2>The recordings</h2>" in page and "Nothing was found in them." in page
    assert json.loads((tmp_path / "out" / "fit.json").read_text())["findings"] == []


def test_fit_goes_on_without_the_check(cli, place, logs, tmp_path):
    """--no-check fits all the same; the report has what was found."""
    args = ("fit", place / "robot.urdf", logs / "turned.csv", *QUICK, "--iterations", "1")
    assert cli(*args, "--out", tmp_path / "out")[0] == 2
    code, _, err = cli(*args, "--out", tmp_path / "out", "--no-check")
    assert code in (0, 1), err
    (row,) = json.loads((tmp_path / "out" / "fit.json").read_text())["findings"]
    assert (row["check"], row["channel"]) == ("sign", "joint.qd[elbow]")
    assert "--scale &#39;joint.qd[elbow]=-1&#39;" in (tmp_path / "out" / "report.html").read_text()


def test_a_log_that_is_held_out_is_not_fitted_too(cli, place, tmp_path):
    """A pattern may name it with the others."""
    args = ("fit", place / "robot.urdf", place / "a.csv", place / "b.csv", *QUICK)
    code, _, err = cli(*args, "--iterations", "1", "--heldout", place / "b.csv", "--out", tmp_path)
    assert code in (0, 1), err
    facts = json.loads((tmp_path / "fit.json").read_text())
    assert facts["settings"]["recordings"] == ["a"]


def test_torque_log_of_a_servo(cli, logs, tmp_path):
    """The message says what acts there and names the option, with which it is fitted."""
    args = ("fit", logs / "servo.xml", logs / "torque.csv", *QUICK, "--out", tmp_path / "out")
    code, _, err = cli(*args)
    assert code == 2
    assert "would drive the simulation, but the position actuator 's1' acts on its joint" in err
    assert "    --actuators torque" in err
    code, _, err = cli(*args, "--no-check")
    assert code == 2
    assert "what acts there is the position actuator 's1'. --actuators torque puts a torque" in err
    code, _, err = cli(*args, "--actuators", "torque", "--iterations", "1")
    assert code in (0, 1), err


def test_torque_actuators(logs):
    """One on each hinge, by the name of the file's where there is one, without gains or limits."""
    model = load_for(str(logs / "servo.xml"), SimulationOptions(actuators="torque"), TouchOptions())
    a = model.actuator
    assert (a.names, a.kinds, a.dof) == (("s1", "elbow"), ("torque", "torque"), (0, 1))
    assert np.all(np.asarray(a.gain) == 1) and np.all(np.isinf(np.asarray(a.force_upper)))


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--trim", "3"], "START:END is expected"),
        (["--trim", "a:3"], "'a' is not a number"),
        (["--scale", "joint.q[knee]=2"], "no channel is called joint.q[knee]"),
        (["--offset", "joint.q[elbow]=deg"], "'deg' is not a number"),
        (["--scale", "joint.q[elbow]"], "--scale: 'joint.q[elbow]' is not of the form"),
        (["--clock", "fast"], "clock 'fast'"),
    ],
)
def test_wrong_corrections_of_flags(cli, place, flags, says):
    """Each is an error of its own words."""
    code, out, err = cli("check", place / "robot.urdf", place / "a.csv", *flags)
    assert (code, out) == (2, "") and says in err
