"""`graftsim discover`: from a robot file and logs to sentences, a report and exit codes."""

import json

import pytest

import graftsim as gs
from graftsim.cli import main
from graftsim.cli.discover_options import parse_discover
from graftsim.cli.grafts import candidates_from, split

ROBOT = """<robot name="one"><link name="base"/>
  <link name="arm"><inertial><origin xyz="0 0 -0.3"/><mass value="1.2"/>
    <inertia ixx="0.03" iyy="0.03" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="hinge" type="continuous"><parent link="base"/><child link="arm"/>
    <axis xyz="1 0 0"/></joint></robot>
"""
FRICTION = ["joint.friction[*]=0.3", "joint.friction_velocity[*]=0.08"]
INTEGRATOR = ["--integrator", "semi_implicit_euler", "--substeps", "1"]
QUICK = [*INTEGRATOR, "--dt", "0.01", "--horizon", "0.25", "--initial", "free", "--hidden", "2",
         "--candidates", "joint.tau_passive[*]=joint.qd[*]", "--sensors", "joint.q[hinge]",
         "joint.qd[hinge]"]  # fmt: skip


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """A single pendulum with Coulomb friction that its file does not have; three logs of 3 s."""
    folder = tmp_path_factory.mktemp("discover")
    (folder / "robot.urdf").write_text(ROBOT)
    for k, angle in enumerate((1.4, -1.0, 2.0)):
        code = main([
            "simulate", str(folder / "robot.urdf"), "--seconds", "3", "--dt", "0.01", *INTEGRATOR,
            "--q", f"hinge={angle}", "--set", *FRICTION, "--noise", "0.002", "--seed", str(k),
            "--out", str(folder / f"run{k}.csv"),
        ])  # fmt: skip
        assert code == 0
    return folder


def command(logs, out, *args):
    """Arguments of a discovery on these logs."""
    return ["discover", logs / "robot.urdf", logs / "run0.csv", logs / "run1.csv", "--heldout",
            logs / "run2.csv", *QUICK, "--out", out, *args]  # fmt: skip


def refused(cli, *args):
    """The message of a discovery that is refused: code 2, standard error only, no traceback."""
    code, out, err = cli("discover", *args)
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    return err


def test_friction_is_found_and_said(cli, logs, tmp_path):
    """The sentences on standard output, what is going on on standard error, the report written."""
    code, out, err = cli(*command(logs, tmp_path / "out"))
    assert code == 0, err
    assert out.startswith("joint.tau_passive[hinge] lacks an effect of joint.qd[hinge]: without it")
    assert "sign(joint.qd[hinge])" in out and "times the sensor noise" in out
    assert "screening 1 pairs" in err and "by joint.qd[hinge]: kept" in err
    assert f"report: {tmp_path / 'out' / 'report.html'}" in err
    names = {p.name for p in (tmp_path / "out").iterdir()}
    assert names == {"report.html", "fit.json", "robot.xml", "grafts.safetensors"}
    numbers = json.loads((tmp_path / "out" / "fit.json").read_text())
    (finding,) = numbers["discovery"]["findings"]
    assert finding["variable"] == "joint.tau_passive[hinge]"
    term = next(t for t in finding["formula"] if t["kind"] == "coulomb")
    assert term["value"] == pytest.approx(-0.3, rel=0.1)
    assert numbers["parameters"] == [] and numbers["command"].startswith("graftsim discover ")


def test_nothing_missing_is_code_0_and_json_is_alone(cli, logs, tmp_path):
    """With the friction in the model nothing is missing; --json prints the numbers alone."""
    start = ["--start", *FRICTION, "--json"]
    code, out, err = cli(*command(logs, tmp_path / "out", *start))
    assert code == 0, err
    numbers = json.loads(out)
    assert numbers["discovery"]["findings"] == [] and numbers["grafts"] == []
    assert numbers["discovery"]["sentences"][0].startswith("Nothing is missing: of 1 pairs")
    assert "nothing is missing" in err
    assert not (tmp_path / "out" / "grafts.safetensors").exists()
    assert "Nothing is missing" in (tmp_path / "out" / "report.html").read_text()


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--candidates", "joint.tau_passive[*]"], ["not of the form VARIABLE=INPUT"]),
        (["--candidates", "joint.tau_pasive[*]=joint.q"], ["no variable", "joint.tau_passive"]),
        (["--candidates", "joint.tau_passive[knee]=joint.q"], ["selects no row", "hinge"]),
        (["--candidates", "joint.tau_passive[*]=joint.qdd[*]"], ["is computed after its target"]),
        (["--free", "joint.dampin[*]"], ["joint.dampin", "joint.damping"]),
        (["--level", "2"], ["--level: a number <= 1.0 is expected, not 2.0"]),
        (["--horizon", "2.9"], ["Windows held out: 1, too few"]),
    ],
)
def test_wrong_values(cli, logs, tmp_path, flags, parts):
    """Each wrong value is named, with what would be accepted."""
    args = command(logs, tmp_path / "out", "--quiet", *flags)[1:]
    err = refused(cli, *args)
    for part in parts:
        assert part in err
    assert not (tmp_path / "out").exists()


def test_missing_robot_and_logs(cli, logs):
    """The message names the command."""
    assert "graftsim discover ROBOT LOG..." in refused(cli)
    assert "Which recordings? graftsim discover" in refused(cli, logs / "robot.urdf")


def test_run_file_with_candidates(tmp_path):
    """Keys are the flags of discover; candidates may be a table; keys of fit are unknown."""
    path = tmp_path / "run.toml"
    path.write_text(
        'robot = "r.urdf"\nlogs = ["a.csv"]\nlevel = 0.01\nhidden = [4, 4]\ndt = 0.01\n'
        '[candidates]\n"joint.tau_passive[*]" = ["joint.q", "joint.qd"]\n'
    )
    options, tables = parse_discover(["--run", str(path)])
    assert options.search.level == 0.01 and options.search.hidden == (4, 4)
    assert options.robot == str(tmp_path / "r.urdf") and options.simulation.dt == 0.01
    found = candidates_from((), tables["candidates"])
    assert found == {"joint.tau_passive[*]": ("joint.q", "joint.qd")}
    path.write_text("iterations = 3\n")
    with pytest.raises(gs.ProblemError, match="unknown key 'iterations'"):
        parse_discover(["--run", str(path)])


def test_forms_of_a_variable_with_inputs():
    """Commas and equal signs inside brackets belong to a selector."""
    assert split("joint.tau[*]") == ("joint.tau[*]", ())
    assert split("joint.tau[a,b]=joint.q[a,b],joint.qd[*]") == (
        "joint.tau[a,b]",
        ("joint.q[a,b]", "joint.qd[*]"),
    )
    assert split("joint.tau[a=b]=joint.q") == ("joint.tau[a=b]", ("joint.q",))
    for wrong in ("", "=joint.q", "joint.tau=", "joint.tau=joint.q,,joint.qd"):
        with pytest.raises(gs.ProblemError, match="not of the form"):
            split(wrong)
