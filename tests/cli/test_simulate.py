"""`graftsim simulate`: a motion as a log, with options as flags."""

import json

import numpy as np
import pytest

import graftsim as gs


def test_log_of_a_motion(place):
    """The log has time, positions, velocities and commands, and reads back as a recording."""
    recording = gs.read_recording(place / "a.csv")
    assert set(recording.names) >= {"joint.q[shoulder]", "joint.qd[elbow]", "control[elbow]"}
    assert recording.duration == pytest.approx(2.0)
    assert recording["joint.q[shoulder]"].interval == pytest.approx(0.01)


def test_initial_state_values_and_variables(cli, place, tmp_path):
    """--q, --qd, --set and --record do what they say; without noise the start is exact."""
    out = tmp_path / "m.csv"
    code, said, _ = cli(
        "simulate",
        place / "robot.urdf",
        "--seconds",
        0.1,
        "--dt",
        0.01,
        "--q",
        "shoulder=0.3",
        "--qd",
        "elbow=2",
        "--set",
        "joint.damping[*]=0.5",
        "--record",
        "joint.tau_damping[elbow]",
        "link.position[lower]",
        "--out",
        out,
    )
    assert code == 0
    assert "shoulder, elbow" in said and "joint.tau_damping:elbow" in said
    recording = gs.read_recording(out)
    assert recording["joint.q[shoulder]"].values[0, 0] == 0.3
    assert recording["joint.qd[elbow]"].values[0, 0] == 2.0
    assert recording["signal[joint.tau_damping:elbow]"].values[0, 0] == pytest.approx(-1.0)


def test_commands_of_a_log_are_played(cli, place, tmp_path):
    """--controls plays the commands of a log."""
    time = np.arange(0, 0.31, 0.01)
    text = "time,control[shoulder]\n" + "".join(f"{t:.2f},{2.0 if t < 0.1 else 0}\n" for t in time)
    (tmp_path / "u.csv").write_text(text)
    code, _, err = cli(
        "simulate",
        place / "robot.urdf",
        "--seconds",
        0.2,
        "--dt",
        0.01,
        "--controls",
        tmp_path / "u.csv",
        "--out",
        tmp_path / "m.csv",
    )
    assert code == 0, err
    played = gs.read_recording(tmp_path / "m.csv")
    np.testing.assert_allclose(played["control[shoulder]"].values[:10, 0], 2.0)
    np.testing.assert_allclose(played["control[shoulder]"].values[11:, 0], 0.0)
    assert abs(played["joint.qd[shoulder]"].values[10, 0]) > 0.1


def test_noise_follows_its_seed(cli, place, tmp_path):
    """One seed, one log; another seed, another."""
    texts = []
    for seed in (1, 1, 2):
        cli(
            "simulate",
            place / "robot.urdf",
            "--seconds",
            0.1,
            "--dt",
            0.01,
            "--noise",
            0.1,
            "--seed",
            seed,
            "--out",
            tmp_path / "m.csv",
        )
        texts.append((tmp_path / "m.csv").read_text())
    assert texts[0] == texts[1] != texts[2]


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--q", "shoulder"], ["--q", "NAME=VALUE"]),
        (["--q", "shoulder=x"], ["--q shoulder", "'x' is not a number"]),
        (["--q", "sholder=1"], ["sholder", "shoulder"]),
        (["--set", "joint.damping[knee]=1"], ["joint.damping[knee]", "selects nothing"]),
        (["--seconds", "0.0001"], ["shorter than one step"]),
        (["--seconds", "1e7", "--dt", "1e-9"], ["1e+16 steps", "10,000,000"]),
        (["--dt", "0"], ["--dt: a number >= 1e-09 is expected, not 0.0"]),
        (["--record", "joint.torque[*]"], ["no variable named 'joint.torque'"]),
        (["--controls", "nowhere.csv"], ["nowhere.csv"]),
        (["--set", "joint.damping[*]=-500", "--q", "elbow=1"], ["leaves the finite numbers at"]),
        (["--out", "/nowhere/at/all/m.csv"], ["/nowhere/at/all"]),
    ],
)
def test_wrong_use_is_one_message(cli, place, tmp_path, monkeypatch, flags, parts):
    """Wrong values end with code 2, one message on standard error, and no log."""
    monkeypatch.chdir(tmp_path)
    code, out, err = cli("simulate", place / "robot.urdf", *flags)
    assert (code, out) == (2, "")
    assert err.splitlines()[-1].startswith("graftsim simulate: ")
    for part in parts:
        assert part in err
    assert list(tmp_path.glob("*.csv")) == []


def test_names_of_any_letters_go_through_simulation_log_and_fit(cli, place, tmp_path):
    """Joints called `a,b` and `k[1]=x` are moved, logged, read, freed and reported as such."""
    text = (place / "robot.urdf").read_text()
    text = text.replace("shoulder", "a,b").replace("elbow", "k[1]=x")
    (tmp_path / "robot.urdf").write_text(text)
    robot, log, out = (tmp_path / x for x in ("robot.urdf", "log.csv", "out"))
    code, said, err = cli(
        "simulate", robot, "--seconds", "2", "--dt", "0.01", "--q", '"a,b"=1.0', '"k[1]=x"=0.5',
        "--set", 'joint.damping["k[1]=x"]=0.2', "--noise", "0.001", "--out", log,
        "--record", 'joint.tau_passive["a,b"]',
    )  # fmt: skip
    assert code == 0, err
    assert '"a,b", "k[1]=x"' in said
    code, said, err = cli(
        "fit", robot, log, "--free", 'joint.damping["k[1]=x"]=0:1', "--sensors", 'joint.q["a,b"]',
        "joint.q['k[1]=x']", "--noise", 'joint.q["k[1]=x"]=0.001', "--horizon", "0.25",
        "--iterations", "5", "--profile", 'joint.damping["k[1]=x"]', "--out", out, "--json",
    )  # fmt: skip
    assert code in (0, 1), err
    (row,) = json.loads(said)["parameters"]
    assert row["name"] == 'joint.damping["k[1]=x"]'
    assert row["low"] < 0.2 < row["high"]
    assert (out / "report.html").is_file()
