"""`graftsim fit --method inverse`: forces to numbers and a robot; `both`: on to windows."""

import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from conftest import urdf
from graftsim.cli import main
from graftsim.dynamics.passive import passive_forces
from graftsim.dynamics.rnea import inverse_dynamics

RATE, SECONDS = 100.0, 20.0


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """A file with a damping of 0.2, and the forces of an arm whose damping is 0.05."""
    folder = tmp_path_factory.mktemp("inverse")
    (folder / "truth.urdf").write_text(urdf())
    (folder / "robot.urdf").write_text(urdf(damping=0.2))
    model = gs.load(folder / "truth.urdf")
    t = np.arange(int(RATE * SECONDS)) / RATE
    w, rng = 2 * np.pi * np.array([0.15, 0.25, 0.4]), np.random.default_rng(0)
    a = rng.normal(size=(2, 3))
    q, qd = np.sin(t[:, None] * w) @ a.T, np.cos(t[:, None] * w) @ (a * w).T
    qdd = -np.sin(t[:, None] * w) @ (a * w**2).T
    force = jax.vmap(lambda *x: inverse_dynamics(model, *x) - passive_forces(model, *x[:2]))
    tau = np.asarray(force(*map(jnp.asarray, (q, qd, qdd)))) + 0.01 * rng.normal(size=q.shape)
    channels = {}
    for i, dof in enumerate(model.tree.dofs):
        for kind, x, unit in (("q", q, "rad"), ("tau", tau, "N m")):
            name = f"joint.{kind}[{dof}]"
            channels[name] = gs.Channel(name, t, x[:, i], unit)
    gs.write_csv(gs.Recording(channels), folder / "log.csv")
    return folder


def test_numbers_and_robot(logged, capsys):
    """The table on standard output, the numbers in a file, the robot beside them."""
    out = logged / "out"
    files = [str(logged / "robot.urdf"), str(logged / "log.csv")]
    assert main(["fit", *files, "--method", "inverse", "--out", str(out)]) == 0
    said = capsys.readouterr()
    assert "joint.damping[elbow]" in said.out
    assert "cut off at" in said.out
    numbers = json.loads((out / "inverse.json").read_text())
    found = {r["name"]: r["value"] for r in numbers["numbers"]}
    assert found["joint.damping[elbow]"] == pytest.approx(0.05, abs=0.01)
    assert found["joint.damping[shoulder]"] == pytest.approx(0.05, abs=0.02)
    again = gs.load(out / "robot.xml")
    assert np.asarray(again.joint.damping) == pytest.approx([0.05, 0.05], abs=0.02)


def test_both_goes_on_from_there(logged, capsys):
    """The fit by windows starts from what the regression found."""
    out = logged / "both"
    command = ["fit", str(logged / "robot.urdf"), str(logged / "log.csv"), "--method", "both"]
    command += ["--free", "joint.damping[elbow]", "--growth", "1.0", "--json", "--out", str(out)]
    assert main(command) in (0, 1)
    (row,) = json.loads(capsys.readouterr().out)["parameters"]
    assert row["start"] == pytest.approx(0.05, abs=0.01)
    assert (out / "inverse.json").is_file()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--free", "joint.damping[*]"], "--method both"),
        (["--loss", "one_step"], "one_step"),
    ],
)
def test_options_that_do_not_go_with_it(logged, options, said, capsys):
    """Named, with what does."""
    files = [str(logged / "robot.urdf"), str(logged / "log.csv")]
    assert main(["fit", *files, "--method", "inverse", *options]) == 2
    assert said in capsys.readouterr().err


def test_a_rotor_before_the_check(tmp_path, capsys):
    """A link without inertia about its axis is refused, with the flag that lets it run."""
    text = urdf().replace('ixx="0.02" iyy="0.02" izz="0.0002"', 'ixx="0" iyy="0" izz="0"')
    text = text.replace('<origin xyz="0 0 -0.25"/><mass', '<origin xyz="0 0 0"/><mass')
    (tmp_path / "robot.urdf").write_text(text)
    command = ["simulate", str(tmp_path / "robot.urdf"), "--seconds", "0.05", "--dt", "0.01"]
    command += ["--out", str(tmp_path / "log.csv")]
    assert main(command) == 2
    assert "'joint.armature[elbow]=0.01' after --set" in capsys.readouterr().err
    assert main([*command, "--set", "joint.armature[elbow]=0.01"]) == 0
