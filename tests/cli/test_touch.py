"""--contact, --ground and --self-collision: from the flags to the pairs, the log and the fit."""

import json

import numpy as np
import pytest

import graftsim as gs
from graftsim.cli.discover_options import parse_discover
from graftsim.cli.fit_options import parse_fit

SLED = """<mujoco model="sled"><worldbody>
  <body name="sled"><joint name="x" type="slide" axis="1 0 0"/>
    <joint name="z" type="slide" axis="0 0 1"/>
    <geom name="runner" size=".1" mass="1" friction=".3"/></body>
</worldbody></mujoco>"""


@pytest.fixture(scope="module")
def sled(tmp_path_factory):
    """A robot that slides along x and falls along z, without a floor."""
    path = tmp_path_factory.mktemp("sled") / "sled.xml"
    path.write_text(SLED)
    return path


def slide(cli, sled, out, *flags, x=2, seconds=0.4):
    start = ("--seconds", seconds, "--dt", 0.01, "--q", "z=0.1", "--qd", f"x={x}")
    return cli("simulate", sled, *start, "--out", out, *flags)


def test_simulate_on_a_ground(cli, sled, tmp_path):
    """The floor carries and brakes; contact variables go into the log, by pair."""
    out = tmp_path / "m.csv"
    flags = ("--ground", 0, "--contact", "complementarity", "--record", "contact.force_n[*]")
    code, _, err = slide(cli, sled, out, *flags, "contact.force_t[ground/runner]")
    assert (code, err) == (0, "")
    log = gs.read_recording(out)
    np.testing.assert_allclose(log["joint.q[z]"].values, 0.1, atol=1e-9)
    assert log["joint.qd[x]"].values[-1, 0] == pytest.approx(2 - 0.3 * 9.81 * 0.4, rel=1e-6)
    force = log["signal[contact.force_n:ground/runner]"].values
    np.testing.assert_allclose(force, 9.81, rtol=1e-6)


@pytest.mark.parametrize("law", ["lcp", "spring-damper"])
def test_other_laws(cli, sled, tmp_path, law):
    """Each carries the sled."""
    out = tmp_path / "m.csv"
    code, _, err = slide(cli, sled, out, "--ground", 0, "--contact", law, seconds=0.1)
    assert (code, err) == (0, "")
    assert abs(gs.read_recording(out)["joint.q[z]"].values[-1, 0] - 0.1) < 5e-3


def test_notes(cli, sled, tmp_path):
    """Pairs without a law, and a law without pairs, are said on standard error."""
    out = tmp_path / "m.csv"
    _, _, err = slide(cli, sled, out, "--ground", 0, seconds=0.1)
    assert "The shapes ground/runner may touch, but contact is off: --contact" in err
    assert gs.read_recording(out)["joint.q[z]"].values[-1, 0] < 0.09
    _, _, err = slide(cli, sled, out, "--contact", "lcp", seconds=0.1)
    assert "--contact lcp has nothing to do" in err and "--ground 0" in err
    _, _, err = slide(cli, sled, out, seconds=0.1)
    assert err == ""


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--ground", "0", "--record", "contact.depth"], ["contact.depth", "--contact"]),
        (
            ["--ground", "0", "--contact", "lcp", "--integrator", "rk4"],
            ["--contact lcp", "rk4", "--integrator implicit_damping", "spring-damper"],
        ),
        (["--ground", "inf"], ["--ground: a number <= 1000000.0 is expected, not inf"]),
        (
            ["--ground", "0", "--set", "pair.friction[grund/*]=1"],
            ["pair.friction[grund/*]", "selects nothing"],
        ),
    ],
)
def test_wrong_use(cli, sled, tmp_path, flags, parts):
    """One message, code 2."""
    code, out, err = slide(cli, sled, tmp_path / "m.csv", *flags)
    assert (code, out) == (2, "")
    for part in parts:
        assert part in err, err


def test_inspect(cli, sled, assets_dir):
    """The table of pairs, what can be recorded and fitted of them; the same as JSON."""
    flags = ("--ground", 0, "--contact", "spring-damper")
    code, out, err = cli("inspect", sled, *flags, "--variables", "--parameters")
    assert (code, err) == (0, "")
    for words in ("Pairs that may touch", "contact.slip", "pair.restitution[ground/runner]"):
        assert words in out
    facts = json.loads(cli("inspect", sled, *flags, "--json")[1])
    assert [p["name"] for p in facts["pairs"]] == ["ground/runner"]
    rows = {v["name"]: v["rows"] for v in facts["variables"]}
    assert rows["contact.force_n"] == ["ground/runner"]
    assert json.loads(cli("inspect", sled, "--contact", "lcp", "--json")[1])["pairs"] == []
    robot = assets_dir / "pendulum" / "pendulum5.urdf"
    for flag, n in (("auto", 0), ("on", 6), ("off", 0)):
        facts = json.loads(cli("inspect", robot, "--self-collision", flag, "--json")[1])
        assert len(facts["pairs"]) == n


def test_fit_of_friction(cli, sled, tmp_path):
    """A run file carries the choice; the friction of a slide is found, and written."""
    for name, x in (("a", 2), ("b", -1.5)):
        made = ("--ground", 0, "--contact", "complementarity", "--set", "pair.friction[*]=0.2")
        code, _, err = slide(cli, sled, tmp_path / f"{name}.csv", *made, "--noise", 1e-3, x=x)
        assert code == 0, err
    run = tmp_path / "run.toml"
    run.write_text(
        f'robot = "{sled}"\nlogs = ["a.csv"]\nheldout = ["b.csv"]\nground = 0.0\n'
        'contact = "complementarity"\ndt = 0.01\nsubsteps = 1\nhorizon = 0.1\ngrowth = [1.0]\n'
        f'initial = "measured"\nout = "{tmp_path / "out"}"\n[free]\n"pair.friction[*]" = "default"'
    )
    code, _, err = cli("fit", "--run", run)
    assert code == 0, err
    numbers = json.loads((tmp_path / "out" / "fit.json").read_text())
    (row,) = numbers["parameters"]
    assert row["name"] == "pair.friction[ground/runner]" and row["start"] == 0.3
    assert row["value"] == pytest.approx(0.2, rel=0.02)
    assert numbers["settings"]["contact"] == "Complementarity"
    model = gs.load(tmp_path / "out" / "robot.xml")
    assert model.pair.names == ("ground/runner",)
    assert float(model.pair.friction[0]) == row["value"]
    code, _, err = cli("inspect", tmp_path / "out" / "robot.xml", "--ground", 0)
    assert code == 2 and "has a shape named 'ground' itself" in err


def test_flags_and_run_files_of_all_commands(tmp_path):
    """fit and discover take the same options, from flags and files."""
    run = tmp_path / "run.toml"
    run.write_text('contact = "lcp"\nground = -1\nself_collision = "on"\n')
    for parse in (parse_fit, parse_discover):
        touch = parse(["r.xml", "a.csv", "--run", str(run), "--ground", "0.5"])[0].touch
        assert (touch.contact, touch.ground, touch.self_collision) == ("lcp", 0.5, "on")
        assert parse(["r.xml", "a.csv"])[0].touch.contact == "none"
    run.write_text('contact = "rigid"\n')
    with pytest.raises(gs.ProblemError, match="contact = 'rigid'"):
        parse_fit(["r.xml", "a.csv", "--run", str(run)])
