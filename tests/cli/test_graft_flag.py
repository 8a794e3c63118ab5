"""`graftsim fit --graft`: networks from flags and run files, and what is said about them."""

import json

import pytest

import graftsim as gs
from graftsim.cli.fit_options import read_run_file
from graftsim.cli.grafts import blueprint_from

QUICK = ["--dt", "0.01", "--horizon", "0.3", "--growth", "1.0", "--initial", "measured"]


def test_fit_with_a_network(cli, place, tmp_path):
    """Parameters first, then the network; its share is printed and its weights are written."""
    out = tmp_path / "out"
    code, printed, err = cli(
        "fit", place / "robot.urdf", place / "a.csv", *QUICK, "--start", "joint.damping[*]=0.2",
        "--free", "joint.damping[shoulder]", "--graft", "joint.tau_passive[elbow]=joint.qd[elbow]",
        "--hidden", "2", "--sparsity", "0.5", "--iterations", "3", "--out", out,
    )  # fmt: skip
    assert code in (0, 1), err
    assert "physics alone" in printed and "with grafts" in printed
    assert "Grafts" in printed and "joint.tau_passive[elbow]" in printed
    assert "horizon 0.3 s (2 of 2), cost" in err
    numbers = json.loads((out / "fit.json").read_text())
    assert numbers["settings"]["sparsity"].startswith("SparseGroupLasso(l1=0.5")
    assert numbers["grafts"][0]["columns"] == ["joint.qd[elbow]"]
    assert numbers["grafts"][0]["weights"] == 2 + 2 + 2 + 1
    text = (out / "report.html").read_text()
    assert "What the grafts explain" in text and "physics alone" in text
    described = gs.describe_grafts(out / "grafts.safetensors")
    assert described["robot"] == "double"


@pytest.mark.parametrize(
    ("flags", "parts"),
    [
        (["--graft", "joint.tau_pasive[*]"], ["no variable named", "joint.tau_passive"]),
        (["--graft", "joint.tau_passive[knee]"], ["selects no row", "shoulder, elbow"]),
        (["--graft", "link.force[upper]"], ["which inputs?", "link.force[upper]=joint.qd"]),
        (["--graft", "tau"], ["family.quantity[rows]"]),
        (["--graft", "joint.tau[*]=joint.qdd[*]"], ["is computed after its target"]),
        (["--graft", "joint.tau[*]=link.pose"], ["no variable named 'link.pose'"]),
        (["--graft", "joint.tau[*]="], ["not of the form"]),
        (
            ["--graft", "joint.tau[*]", "--hidden", "0"],
            ["--hidden: a whole number >= 1"],
        ),
        (["--sparsity", "1"], ["name some by --graft"]),
        (
            ["--graft", "joint.tau[*]", "--sparsity", "-1"],
            ["--sparsity: a number >= 0.0"],
        ),
        (["--free", "none"], ["Nothing is free"]),
    ],
)
def test_wrong_values(cli, place, tmp_path, flags, parts):
    """A wrong selector is named with what there is; nothing is written."""
    code, out, err = cli(
        "fit", place / "robot.urdf", place / "a.csv", *flags, "--quiet", "--out", tmp_path / "out"
    )
    assert (code, out) == (2, "") and "Traceback" not in err
    for part in parts:
        assert part in err
    assert not (tmp_path / "out").exists()


def test_flags_make_a_blueprint():
    """Inputs of a joint are its velocity and position unless they are named; flags may repeat."""
    blueprint = blueprint_from(
        ("joint.tau_passive[*]", "joint.tau=joint.q", "joint.tau_passive"), None, (5,)
    )
    first, second, third = blueprint
    assert first.sources == ("joint.qd[*]", "joint.q[*]") and first.network == gs.MLP(5)
    assert second.sources == ("joint.q",) and third.sources == ("joint.qd", "joint.q")
    assert blueprint_from((), None, (5,)) is None


def test_table_of_a_run_file(tmp_path):
    """A graft is "default", a list of inputs, or a table; a flag replaces its variable."""
    path = tmp_path / "run.toml"
    path.write_text(
        'hidden = [3]\nsparsity = 2.0\n[graft]\n"joint.tau_passive[*]" = "default"\n'
        '"joint.tau[a]" = ["joint.q[*]"]\n'
        '"joint.tau_actuator[*]" = {inputs = ["joint.qd[*]"], hidden = [2, 2], mode = "scale", '
        "shared = false, prior = 0.5}\n"
    )
    options, tables = read_run_file(path)
    assert options.networks.sparsity == 2.0 and options.networks.hidden == (3,)
    made = list(blueprint_from(("joint.tau[a]=joint.qd[*]",), tables["graft"], (3,)))
    assert [g.sources for g in made] == [
        ("joint.qd[*]", "joint.q[*]"),
        ("joint.qd[*]",),
        ("joint.qd[*]",),
    ]
    assert made[0].network == gs.MLP(3) and made[2].network == gs.MLP(2, 2)
    assert (made[2].mode, made[2].shared, made[2].prior) == ("scale", False, 0.5)


@pytest.mark.parametrize(
    ("value", "part"),
    [
        ({"input": ["joint.q"]}, "unknown key 'input'"),
        ({"mode": "divide"}, "add, scale, replace"),
        ({"shared": 1}, "shared must be true or false"),
        ({"prior": 0}, "prior must be a positive number"),
        ({"hidden": [0]}, "positive whole numbers"),
        (["joint.q", 3], "must be a list of inputs"),
        (3, "must be a list of inputs"),
    ],
)
def test_wrong_tables(value, part):
    """Each wrong entry of a run file is named."""
    with pytest.raises(gs.ProblemError, match=part):
        blueprint_from((), {"joint.tau[*]": value}, (3,))
