"""`graftsim fit`: from a robot file and logs to numbers, a report and exit codes."""

import json
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

import graftsim as gs
from graftsim.cli import fit
from graftsim.cli.fit_options import SolverOptions

QUICK = ["--dt", "0.01", "--horizon", "0.3", "--growth", "1.0", "--free", "joint.damping[*]"]
START = ["--start", "joint.damping[*]=0.2"]


@pytest.fixture(scope="module")
def fitted(place, tmp_path_factory):
    """The round trip as a program: a fit of the simulated log; the process, and its folder."""
    out = tmp_path_factory.mktemp("fit") / "out"
    command = [sys.executable, "-m", "graftsim", "fit", place / "robot.urdf", place / "a.csv"]
    # Some test plug-ins pretend a narrow terminal while they set up.
    environment = {k: v for k, v in os.environ.items() if k != "COLUMNS"}
    done = subprocess.run(
        [*map(str, command), *QUICK, *START, "--out", str(out)],
        capture_output=True,
        text=True,
        env=environment,
    )
    return done, out


def test_round_trip_finds_the_damping(fitted):
    """A log made with damping 0.05 gives it back, from a start of 0.2."""
    done, out = fitted
    assert done.returncode == 0, done.stderr
    numbers = json.loads((out / "fit.json").read_text())
    assert numbers["outcome"] == "converged"
    for row in numbers["parameters"]:
        assert row["start"] == 0.2
        assert row["value"] == pytest.approx(0.05, rel=0.05)
    assert numbers["settings"]["precision"] == "float64"
    assert numbers["command"].startswith("graftsim fit ")
    assert "'joint.damping[*]'" in numbers["command"]


def test_what_is_printed(fitted):
    """The table goes to standard output; what is going on, with labels, to standard error."""
    done, out = fitted
    assert "joint.damping[elbow]" in done.stdout
    assert "95 % interval" in done.stdout
    assert "converged" in done.stdout
    assert "\na: 2 s\n" in done.stderr
    for quantity in ("joint.q ", "joint.qd", "control"):
        (row,) = [x for x in done.stderr.splitlines() if x.startswith(f"│ {quantity}")]
        assert "shoulder, elbow" in row and "100 Hz" in row
    assert f"report: {out / 'report.html'}" in done.stderr
    assert "Traceback" not in done.stderr


def test_what_is_written(fitted):
    """The folder holds the report, the numbers, and a robot file with the fitted damping."""
    _, out = fitted
    names = {p.name for p in out.iterdir()}
    assert {"report.html", "fit.json"} <= names
    robots = [p for p in out.iterdir() if p.suffix in (".urdf", ".xml")]
    assert robots, names
    model = gs.load(robots[0])
    assert float(model.joint.damping[0]) == pytest.approx(0.05, rel=0.05)


def test_json_is_alone_on_standard_output(cli, place, tmp_path):
    """--json prints the result and nothing else there; the iteration limit ends with code 1."""
    code, out, err = cli(
        "fit",
        place / "robot.urdf",
        place / "a.csv",
        *QUICK,
        *START,
        "--out",
        tmp_path / "o",
        "--initial",
        "measured",
        "--iterations",
        1,
        "--json",
    )
    result = json.loads(out)
    assert code == 1, err
    assert result["outcome"] == "iteration limit"
    assert "limit of iterations" in " ".join(result["warnings"])
    assert "horizon 0.3 s (1 of 1), cost" in err


def test_quiet_resume_and_run_file(cli, place, tmp_path):
    """A run file gives the options, flags override it; --quiet is silent; --resume goes on."""
    (tmp_path / "run.toml").write_text(
        f'robot = "{place}/robot.urdf"\nlogs = ["{place}/[ab].csv"]\nquiet = true\n'
        'initial = "measured"\niterations = 1\ndt = 0.01\nhorizon = 0.3\ngrowth = [1.0]\n'
        'sensors = ["joint.q[shoulder]", "joint.q[elbow]"]\n'
        f'out = "{tmp_path}/out"\n'
        '[free]\n"joint.damping[*]" = {lower = 0.001, upper = 1.0, shared = true}\n'
        '[start]\n"joint.damping[*]" = 0.3\n[noise]\n"joint.q[elbow]" = 0.002\n'
    )
    code, out, err = cli("fit", "--run", tmp_path / "run.toml")
    assert (code, out, err) == (1, "", "")
    first = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert first["iterations"] == 2
    assert [r["name"] for r in first["parameters"]] == ["joint.damping[*]"]
    assert first["settings"]["sensors"]["joint.q[elbow]"]["noise"] == [0.002]
    assert first["settings"]["recordings"] == ["a", "b"]
    code, out, err = cli("fit", "--run", tmp_path / "run.toml", "--iterations", 30, "--resume")
    assert (code, out, err) == (0, "", "")
    second = json.loads((tmp_path / "out" / "fit.json").read_text())
    assert second["outcome"] == "converged"
    assert second["parameters"][0]["value"] == pytest.approx(0.05, rel=0.1)


@pytest.mark.parametrize(
    ("names", "flags", "wanted"),
    [
        (["joint.damping[a]", "actuator.delay[*]"], {}, "auto"),
        (["actuator.kp[m]"], {"seed": 3}, "auto"),
        (["actuator.kp[m]"], {"search": "none"}, None),
        (["joint.damping[a]", "link.mass[b]"], {}, None),
        (["joint.damping[a]"], {"search": "auto"}, "auto"),
        (["joint.damping[a]"], {"search": "basin_hopping", "starts": 8}, "basin_hopping"),
    ],
)
def test_which_search_a_fit_makes(names, flags, wanted):
    """By default `auto` where gains or delays are free, else none; a flag says otherwise."""
    problem = SimpleNamespace(parameters=SimpleNamespace(names=names))
    found = fit._search(SolverOptions(**flags), problem)
    assert (None if found is None else found.name) == wanted
    assert found is None or found.seed == flags.get("seed", 0)


def test_a_search_is_asked_for_and_reported(cli, place, tmp_path):
    """--search goes through many starts first; the settings say what it did."""
    bounds = ["--free", "joint.damping[*]=0:1", "--initial", "measured", "--quiet"]
    search = ["--search", "basin_hopping", "--seed", 3]
    out = tmp_path / "out"
    code, _, err = cli(
        "fit", place / "robot.urdf", place / "a.csv", *QUICK[:-2], *bounds, *search, "--out", out
    )
    numbers = json.loads((out / "fit.json").read_text())
    assert code == 0, err
    assert numbers["settings"]["search"].startswith("BasinHopping: ")
    assert "local solves" in numbers["settings"]["search"]
    assert [r["value"] for r in numbers["parameters"]] == pytest.approx([0.05, 0.05], rel=0.05)
