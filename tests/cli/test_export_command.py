"""`graftsim export`: from the folder of a fit to a file for another program."""

import json
import re

import mujoco
import numpy as np
import pytest

import graftsim as gs
from graftsim.cli import main
from graftsim.errors import FileError, ProblemError
from graftsim.export import actuator_net
from graftsim.export.formats import EXPORT_FORMATS

DAMPING, DELAY = 0.2, 0.004


def robot(damping=DAMPING, delay=DELAY):
    b = gs.Builder("servo")
    b.link("arm", joint_name="elbow", axis=(0, 1, 0), mass=1.0, com=(0, 0, -0.2), inertia=0.01,
           damping=damping)  # fmt: skip
    b.actuator("servo", "elbow", "position", kp=20.0, kd=0.5, delay=delay, longest_delay=0.02)
    return b.build()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A fit of damping and delay to 4 s of steps, by the command line."""
    place = tmp_path_factory.mktemp("export")
    simulator = gs.Simulator(robot(), 0.005, substeps=100, integrator=gs.ImplicitDamping())
    rng = np.random.default_rng(0)
    u = np.repeat(rng.uniform(-0.5, 0.5, 40), 20)[:, None]
    motion = simulator.rollout(simulator.initial_state(), u)
    time, q = np.asarray(motion.time)[:-1], np.asarray(motion.q)[:-1]
    noisy = q[:, 0] + 1e-4 * rng.standard_normal(len(time))
    log = {
        "joint.q[elbow]": gs.Channel("joint.q[elbow]", time, noisy, "rad"),
        "control[servo]": gs.Channel("control[servo]", time, u[:, 0], "rad"),
    }
    gs.write_csv(gs.Recording(log, "log"), place / "log.csv")
    gs.write_mjcf(robot(0.1, 0.0), place / "servo.xml")
    out = place / "fit"
    flags = ["--free", "joint.damping[*]", "actuator.delay[*]=0:0.02", "--quiet", "--no-check"]
    assert (
        main(["fit", str(place / "servo.xml"), str(place / "log.csv"), *flags, "--out", str(out)])
        == 0
    )
    return out


def test_a_robot_file_has_the_numbers_of_the_fit(folder, tmp_path):
    """MJCF as MuJoCo reads it; URDF as this package does; what URDF cannot say is printed."""
    out = tmp_path / "robot.xml"
    assert main(["export", str(folder), "--as", "mjcf", "--out", str(out)]) == 0
    model = mujoco.MjModel.from_xml_path(str(out))
    assert model.dof_damping[0] == pytest.approx(DAMPING, rel=0.05)
    out = tmp_path / "robot.urdf"
    done = gs.export(folder, "urdf", out)
    assert float(gs.load(out).joint.damping[0]) == pytest.approx(DAMPING, rel=0.05)
    assert any("actuator" in x for x in done.notes)


def test_ranges_are_those_of_the_fit(folder, tmp_path):
    """Value and deviation of fit.json, two of them to each side, and the bounds that were given."""
    assert main(["export", str(folder), "--as", "mjlab", "--out", str(tmp_path / "a.py")]) == 0
    text = (tmp_path / "a.py").read_text()
    facts = json.loads((folder / "fit.json").read_text())["parameters"]
    (row,) = [r for r in facts if r["name"] == "actuator.delay[servo]"]
    assert (row["lower"], row["upper"]) == (0.0, 0.02)
    part = text.split('"delay_seconds": {')[1]
    low, high = map(float, re.search(r"\(([\d.e-]+), ([\d.e-]+)\)", part).groups())
    wanted = np.clip(row["value"] + 2 * np.array([-1, 1]) * row["std"], 0.0, 0.02)
    assert [low, high] == pytest.approx(wanted, rel=1e-4)
    assert abs(row["value"] - DELAY) < 2e-4


def test_a_net_is_learnt_from_the_log_that_the_fit_was_made_of(
    folder, tmp_path, capsys, monkeypatch
):
    """The command of the fit says where it is; a log that is gone is an error that says so."""
    monkeypatch.setattr(actuator_net, "ITERATIONS", 100)
    out = tmp_path / "net"
    assert main(["export", str(folder), "--as", "onnx-actuator", "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "the net is not needed: kp = 20, kd = 0.5 and a delay of 4" in said
    assert (out / "servo.onnx").is_file() and (out / "metadata.json").is_file()
    log = folder.parent / "log.csv"
    log.rename(folder.parent / "gone.csv")
    try:
        assert main(["export", str(folder), "--as", "onnx-actuator", "--out", str(out)]) == 2
        assert "where graftsim fit was run" in " ".join(capsys.readouterr().err.split())
    finally:
        (folder.parent / "gone.csv").rename(log)


def test_the_help_names_every_format(capsys):
    """Read from their classes."""
    with pytest.raises(SystemExit):
        main(["export", "--help"])
    said = " ".join(capsys.readouterr().out.replace("│", " ").split())
    for form in EXPORT_FORMATS:
        assert form.name in said and form.help.split()[0] in said


def test_wrong_use_says_what_is_accepted(folder, tmp_path, capsys):
    """No fit there, half a fit, another format, another step, no recordings."""
    assert main(["export", str(tmp_path), "--as", "isaac"]) == 2
    assert "folder of graftsim fit" in capsys.readouterr().err
    odd = ("", "[]", '{"parameters": 3}', '{"parameters": [1]}', '{"parameters": [{"name": "a"}]}')
    std = '{"parameters": [{"name": "a", "status": "b", "std": "c"}]}'
    for text in (*odd, std, '{"parameters": [], "grafts": [7]}'):
        (tmp_path / "fit.json").write_text(text)
        with pytest.raises(FileError, match=r"not a fit\.json"):
            gs.export(tmp_path, "isaac")
    (tmp_path / "fit.json").write_text('{"parameters": []}')
    with pytest.raises(FileError, match=r"robot\.xml: no such file"):
        gs.export(tmp_path, "isaac")
    with pytest.raises(ProblemError, match="must be positive"):
        gs.export(folder, "isaac", tmp_path / "x.py", dt=0.0)
    with pytest.raises(ProblemError, match="recordings="):
        gs.export(folder, "onnx-actuator", tmp_path / "net")
