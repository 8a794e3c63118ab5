"""`graftsim fit` used wrongly: what is wrong, where, and what would be right, in one message."""

import numpy as np
import pytest


def refused(cli, *args):
    """The message of a fit that is refused: code 2, standard error only, no traceback."""
    code, out, err = cli("fit", *args)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--free", "joint.damping[knee]"], ["joint.damping[knee]", "shoulder, elbow"]),
        (["--free", "joint.damping[*]=5"], ["'5' must be LOW:HIGH"]),
        (["--free", "joint.damping[*]=a:b"], ["'a' is not a number"]),
        (["--free", "link.mass[upper]=2:3"], ["link.mass[upper] starts at 1 kg", "outside"]),
        (["--start", "joint.damping[*]"], ["--start", "NAME=VALUE"]),
        (["--noise", "joint.q[elbow]=loud"], ["noise of joint.q[elbow]", "'loud'"]),
        (["--columns", "joint.q[elbow]=pos9"], ["pos9", "a.csv"]),
        (["--columns", "joint.q[elbow]=joint.q[elbow] (rad):furlong"], ["furlong"]),
        (["--dt", "1e-9"], ["has 5e+08 steps of 1e-09 s", "larger dt"]),
        (["--growth"], ["--growth: a value is expected"]),
        (["--run", "/dev/zero"], ["/dev/zero: is no regular file"]),
        (["--horizon", "30"], ["No window of 30 s", "shorter horizon"]),
        (["--sensors", "joint.q[knee]"], ["joint.q[knee] is not recorded"]),
        (["--heldout", "nowhere.csv"], ["nowhere.csv", "no file matches"]),
    ],
)
def test_wrong_values(cli, place, tmp_path, flags, parts):
    """Each wrong value names the flag or the name, and what would be accepted."""
    robot, log = place / "robot.urdf", place / "a.csv"
    err = refused(cli, robot, log, *flags, "--quiet", "--out", tmp_path / "out")
    for part in parts:
        assert part in err
    assert not (tmp_path / "out").exists()


def test_missing_robot_and_logs(cli, place):
    """Without robot or recordings the message says how to give them."""
    assert "Which robot? graftsim fit ROBOT LOG..." in refused(cli)
    assert "Which recordings?" in refused(cli, place / "robot.urdf")
    assert "nowhere.urdf" in refused(cli, "nowhere.urdf", place / "a.csv")
    assert "nowhere*.csv: no file matches" in refused(cli, place / "robot.urdf", "nowhere*.csv")


def test_robot_that_is_a_log(cli, place):
    """Robot and log in the wrong order are told apart."""
    err = refused(cli, place / "a.csv", place / "robot.urdf")
    assert "a.csv" in err


def test_log_of_other_columns(cli, place, tmp_path):
    """A log whose headers are no channels lists its columns and shows a mapping."""
    time = np.arange(0, 1, 0.01)
    rows = "".join(f"{t:.2f},{np.sin(t):.6f}\n" for t in time)
    (tmp_path / "other.csv").write_text("time,pos1\n" + rows)
    err = refused(cli, place / "robot.urdf", tmp_path / "other.csv")
    for part in ("other.csv", "pos1", "mapping"):
        assert part in err


def test_log_with_a_hole(cli, place, tmp_path):
    """A cell that is no number names file, row and column."""
    lines = (place / "a.csv").read_text().splitlines()
    cells = lines[20].split(",")
    cells[1] = "nan"
    lines[20] = ",".join(cells)
    (tmp_path / "hole.csv").write_text("\n".join(lines) + "\n")
    err = refused(cli, place / "robot.urdf", tmp_path / "hole.csv")
    for part in ("hole.csv", "joint.q[shoulder]", "21"):
        assert part in err


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("iteration = 3", ["unknown key 'iteration'", "iterations"]),
        ("iterations = 'many'", ["iterations = 'many'", "`int`"]),
        ("loss = 'cubic'", ["loss = 'cubic'", "cubic"]),
        ("growth = 0.5", ["growth = 0.5", "array"]),
        ("robot = 3", ["robot = 3", "`str`"]),
        ("logs = 'a.csv'", ["logs = 'a.csv'", "array"]),
        ("run = 'x.toml'", ["unknown key 'run'"]),
        ("quiet = maybe", ["run.toml", "line 1"]),
        ("[free]\n'joint.damping[*]' = {lowest = 0}", ["unknown keys ['lowest']"]),
        ("[free]\n'joint.damping[*]' = 3", ["3 must be [low, high]"]),
        ("[solver]\niterations = 3", ["solver"]),
        ("[free]\n'joint.damping[*]' = {prior = [0.1]}", ["prior = [0.1]", "[mean, std]"]),
        ("[free]\n'joint.damping[*]' = {lower = 'a'}", ["lower: 'a' is not a number"]),
        ("[free]\n'joint.damping[*]' = {shared = 1}", ["shared = 1", "true or false"]),
        ("[free]\n'joint.damping[*]' = ['a', 1]", ["'a' is not a number"]),
        ("[start]\n'joint.damping[*]' = 1979-05-27", ["value of joint.damping[*]", "a number"]),
        ("[start]\n'joint.damping[*]' = nan", ["nan is not a number"]),
        ("[noise]\n'joint.q[elbow]' = [[1]]", ["noise of joint.q[elbow]", "positive number"]),
        ("[noise]\n'joint.q[elbow]' = inf", ["noise of joint.q[elbow]", "positive number"]),
        ("[sensors]\n'joint.q[elbow]' = 3", ["joint.q[elbow]: 3 is no table"]),
        ("[sensors.'joint.q[elbow]']\nscale = 'a'", ["'a' is not a finite number"]),
        ("[noise]\n'joint.q[knee]' = 0.1", ["joint.q[knee]", "no such sensor"]),
        ("[sensors.'joint.q[elbow]']\ngain = 2", ["joint.q[elbow]", "gain"]),
    ],
)
def test_run_file_is_read_strictly(cli, place, tmp_path, text, parts):
    """Unknown keys and wrong types of a run file are named with their place."""
    path = tmp_path / "run.toml"
    path.write_text(text + "\n")
    err = refused(cli, place / "robot.urdf", place / "a.csv", "--run", path, "--quiet")
    for part in parts:
        assert part in err


def test_run_file_that_is_not_there(cli, tmp_path):
    """A missing run file is named."""
    assert "none.toml: No such file" in refused(cli, "--run", tmp_path / "none.toml")
