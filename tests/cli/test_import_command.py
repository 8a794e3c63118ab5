"""`graftsim import`, patterns and presets in the command line, logs that are parts of one run."""

import csv
import json
import tomllib

import numpy as np
import pytest

import log_samples
from graftsim.cli.fit_options import read_run_file

FIT = ("--horizon", "0.25", "--growth", "1", "--iterations", "2", "--free", "joint.damping[*]")
TIME = 0.01 * np.arange(150)


def write(path, **columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(np.stack(list(columns.values()), axis=1).tolist())
    return path


@pytest.fixture
def plain(place, tmp_path):
    """The recording of two joints with columns that are no channels: degrees, numbered from 1."""
    from graftsim import read_recording

    made = read_recording(place / "a.csv")
    q = {f"pos_{k}": made[f"joint.q[{j}]"] for k, j in enumerate(("shoulder", "elbow"), 1)}
    columns = {name: np.degrees(c.values[:, 0]) for name, c in q.items()}
    time = next(iter(q.values())).time
    return write(tmp_path / "plain.csv", **{"stamp": time, **columns, "volts": 0 * time + 24})


def test_a_run_file_is_guessed_and_fits(place, plain, tmp_path, cli):
    """Names, units and clock with their reasons; the run file is read back as it was written."""
    out = tmp_path / "deep" / "run.toml"
    out.parent.mkdir()
    code, said, _ = cli("import", plain, "--robot", place / "robot.urdf", "--out", out)
    assert code == 0 and "graftsim fit --run" in said
    content = tomllib.loads(out.read_text())
    assert content["columns"] == {
        "time": "stamp",
        "joint.q[shoulder]": {"column": "pos_1", "unit": "deg"},
        "joint.q[elbow]": {"column": "pos_2", "unit": "deg"},
    }
    text = out.read_text()
    assert "# degrees, since pos_1 goes beyond a full turn" in text.replace(
        "# measured joint.q of shoulder by the words in its name; ", "# "
    )
    assert "# not taken: volts" in text
    options, _ = read_run_file(out)
    assert options.logs == (str(out.parent / "../plain.csv"),)
    code, _, err = cli("fit", "--run", out, *FIT, "--out", tmp_path / "fit", "--quiet")
    assert code in (0, 1), err
    code, _, err = cli("import", plain, "--out", out)
    assert code == 2 and "--force writes over it" in err


def test_a_log_of_channels_needs_no_mapping(place, tmp_path, cli):
    """Said in the run file, which has no table of columns then."""
    out = tmp_path / "run.toml"
    assert cli("import", place / "a.csv", place / "b.csv", "--out", out)[0] == 0
    text = out.read_text()
    assert "need no mapping" in text and "columns" not in tomllib.loads(text)
    assert len(tomllib.loads(text)["logs"]) == 2


def test_repairs_are_proposed_with_their_reason(tmp_path, cli):
    """Missing cells, time stamps that come twice: what the fit would refuse is in the run file."""
    log, out = tmp_path / "log.csv", tmp_path / "run.toml"
    rows = [f"{0.01 * (k - (k == 7)):.2f},{k},{'' if k == 3 else 2}" for k in range(30)]
    log.write_text("\n".join(["time,q_1,tau_1", *rows]) + "\n")
    assert cli("import", log, "--out", out)[0] == 0
    content = tomllib.loads(out.read_text())
    assert content["missing"] == "gap" and content["duplicates"] == "keep_first"
    assert "the cell is empty" in out.read_text() and "is there twice" in out.read_text()


def test_what_cannot_be_guessed(tmp_path, cli):
    """No column with a meaning; no clock: the run file says what is to be written."""
    out = tmp_path / "run.toml"
    log = write(tmp_path / "log.csv", time=TIME, temperature=TIME)
    code, _, err = cli("import", log, "--out", out)
    assert code == 2 and "nothing can be guessed" in err and "temperature" in err
    log = write(tmp_path / "log.csv", q_1=np.sin(TIME), q_2=np.cos(TIME))
    code, said, _ = cli("import", log, "--out", out)
    assert code == 1 and "not readable yet" in said
    assert "# time = 0.01" in out.read_text()
    assert cli("import", tmp_path / "none.csv")[0] == 2


def test_names_that_toml_must_quote(tmp_path, cli):
    """Quotation marks, brackets, ends of lines and letters of any kind in names of columns."""
    out = tmp_path / "run.toml"
    odd = 'a"b\\c\u2028é pos'
    log = write(tmp_path / "log.csv", **{"time": TIME, odd: TIME})
    assert cli("import", log, "--out", out)[0] == 0
    (column,) = tomllib.loads(out.read_text())["columns"].values()
    assert column == odd


def test_patterns_in_flags(place, plain, tmp_path, cli):
    """Seven joints need one flag."""
    names = plain.read_text().replace("pos_1", "shoulder_q").replace("pos_2", "elbow_q")
    plain.write_text(names)
    columns = ("--columns", "time=stamp", "joint.q[{j}]={j}_q:deg")
    code, _, err = cli(
        "fit", place / "robot.urdf", plain, *columns, *FIT, "--out", tmp_path / "fit"
    )
    assert code in (0, 1), err
    assert "shoulder, elbow" in err
    code, _, err = cli("fit", place / "robot.urdf", plain, "--columns", "joint.q[{j}]={j}_p", *FIT)
    assert code == 2 and "fits nothing" in err


def split(place, tmp_path, late=0.0):
    """Positions in one file; torques that did nothing much in another, on a clock that is late."""
    from graftsim import read_recording

    made = read_recording(place / "a.csv")
    q = {name: c.values[:, 0] for name, c in made.channels.items() if name.startswith("joint.q[")}
    time = made["joint.q[elbow]"].time
    motion = write(tmp_path / "motion.csv", time=time, **q)
    tau = {"joint.tau[shoulder]": 0.001 * np.sin(time), "joint.tau[elbow]": 0 * time}
    drive = write(tmp_path / "drive.csv", time=time + late, **tau)
    return motion, drive


def test_commands_and_measurements_in_two_files(place, tmp_path, cli):
    """Merged when it is clear (L2), with a note; else refused with the option that merges."""
    motion, drive = split(place, tmp_path)
    fit = ("fit", place / "robot.urdf")
    code, _, err = cli(*fit, motion, drive, *FIT, "--out", tmp_path / "fit")
    assert code in (0, 1), err
    assert "merged with drive" in err and err.count("joint.tau") == 1
    split(place, tmp_path, late=100.0)
    code, _, err = cli(*fit, motion, drive, *FIT)
    assert code == 2 and "drive has commands only" in err and "--merge clock" in err
    code, _, err = cli(*fit, motion, drive, *FIT, "--merge", "clock")
    assert code == 2 and "no time in common" in err
    code, _, err = cli(*fit, motion, "--merge", "align", *FIT)
    assert code == 2 and "two logs or more" in err


def test_a_mapping_over_two_files(place, tmp_path, cli):
    """Each file has a part of the columns; a column that none has is an error."""
    motion, drive = split(place, tmp_path)
    motion.write_text(
        motion.read_text().replace("joint.q[shoulder]", "a").replace("joint.q[elbow]", "b")
    )
    drive.write_text(drive.read_text().replace("joint.tau[shoulder]", "u"))
    mapping = ("joint.q[shoulder]=a", "joint.q[elbow]=b", "joint.tau[shoulder]=u")
    fit = ("fit", place / "robot.urdf", motion, drive, *FIT, "--columns", *mapping)
    code, _, err = cli(*fit, "--out", tmp_path / "fit")
    assert code in (0, 1), err
    code, _, err = cli(*fit, "joint.tau[elbow]=v")
    assert code == 2 and "no column 'v'" in err
    code, _, err = cli(*fit, "--merge", "no")
    assert code == 2


def test_two_files_with_columns_of_their_own(tmp_path, cli):
    """Both are looked at, and the run file maps the columns of both."""
    out = tmp_path / "run.toml"
    motion = write(tmp_path / "motion.csv", time=TIME, q_1=np.sin(TIME), q_2=np.cos(TIME))
    drive = write(tmp_path / "drive.csv", time=TIME, tau_1=TIME, tau_2=TIME)
    assert cli("import", motion, drive, "--out", out)[0] == 0
    content = tomllib.loads(out.read_text())
    assert len(content["logs"]) == 2
    assert content["columns"]["joint.q[joint1]"] == "q_1"
    assert content["columns"]["joint.tau[joint2]"] == "tau_2"


def test_commands_stamped_by_another_clock(tmp_path, cli):
    """In one log with the motion: --merge align finds by how much, before the fit (U5)."""
    robot = tmp_path / "arm.xml"
    robot.write_text(
        '<mujoco><compiler angle="radian"/><worldbody><body name="b"><joint name="j" axis="0 1 0" '
        'damping="0.1"/><inertial pos="0 0 -0.2" mass="1" diaginertia="0.05 0.05 0.01"/></body>'
        '</worldbody><actuator><position name="m" joint="j" kp="50" kv="3"/></actuator></mujoco>'
    )
    time = 0.01 * np.arange(1050)
    wanted = 0.5 * np.sin(2 * time) + 0.3 * np.sin(0.3 * time**2)
    drive = write(tmp_path / "drive.csv", **{"time": time, "control[m]": wanted})
    code, _, err = cli("simulate", robot, "--controls", drive, "--seconds", "10", "--dt", "0.01",
                       "--noise", "0.001", "--out", tmp_path / "run.csv")  # fmt: skip
    assert code == 0, err
    from graftsim import read_recording

    made = read_recording(tmp_path / "run.csv")
    q, u = made["joint.q[j]"], made["control[m]"]
    late = np.interp(q.time + 0.2, u.time, u.values[:, 0])  # stamped 0.2 s too early
    log = write(
        tmp_path / "late.csv", **{"time": q.time, "joint.q[j]": q.values[:, 0], "control[m]": late}
    )
    code, _, err = cli("fit", robot, log, "--merge", "align", *FIT, "--out", tmp_path / "fit")
    assert code in (0, 1), err
    offset, std = (float(x) for x in err.split("offset ")[1].split(" s,")[0].split(" +- "))
    assert abs(offset - 0.2) < 2 * std < 0.05


def test_a_bag_fits_as_its_table_does(place, tmp_path, cli, monkeypatch):
    """The same motion as JointState messages, joints in changing order: the same damping."""
    from graftsim import read_recording

    made = read_recording(place / "a.csv")
    joints = ("shoulder", "elbow")
    q, qd = (
        np.concatenate([made[f"{kind}[{j}]"].values for j in joints], axis=1)
        for kind in ("joint.q", "joint.qd")
    )
    names = {"JOINTS": joints, "Q": q, "QD": qd, "COUNT": len(q)}
    for name, value in names.items():
        monkeypatch.setattr(log_samples, name, value)
    stamps = log_samples.START * log_samples.NS + 10_000_000 * np.arange(len(q))
    messages = log_samples.joint_states(stamps, stamps + 1234, lambda k: joints[:: 1 - 2 * (k % 2)])
    bag = log_samples.write_ros(tmp_path / "bag", messages)
    fit = ("fit", place / "robot.urdf")
    results = []
    for log in (place / "a.csv", bag):
        code, out, err = cli(*fit, log, "--json", "--out", tmp_path / log.stem, *FIT)
        assert code in (0, 1), err
        results.append({p["name"]: p["value"] for p in json.loads(out)["parameters"]})
    assert results[0] == pytest.approx(results[1], rel=1e-6)
