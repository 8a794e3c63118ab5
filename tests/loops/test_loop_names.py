"""Loops in words: variables, parameters, tables, and errors of states that cannot be assembled."""

import json
from pathlib import Path

import numpy as np
import pytest

import closed_mechanisms as closed
import graftsim as gs
from graftsim.cli.description import describe
from graftsim.model.catalogue import labels
from graftsim.model.describe import describe_dict


def test_rows_have_names(mechanism):
    """Axes of the first link and turns; a coupling is a row by its name."""
    assert labels(mechanism("welded"), "closure") == tuple(
        f"grip.{k}" for k in ("x", "y", "z", "rx", "ry", "rz")
    )
    assert labels(mechanism("differential"), "closure") == ("pitches", "rolls")
    variables = gs.Simulator(mechanism("welded")).variables()
    assert variables["loop.error"][0] == variables["loop.force"][0] == (6,)
    assert variables["loop.error"][2][3] == "grip.rx"


def test_forces_of_loops_are_recorded_by_row(mechanism):
    """A hanging plate pulls at its weld with its weight, when nothing moves."""
    builder = gs.Builder("hanging")
    builder.link("plate", joint="free", mass=0.7, inertia=0.01)
    builder.loop("hook", "world", "plate", "weld", anchor=(0, 0, 1), opposite=(0.1, 0, 0))
    s = gs.Simulator(builder.build())
    start = s.assemble(s.initial_state())
    names = ("loop.force[hook.z]", "loop.force[hook.ry]", "joint.qdd", "link.acceleration")
    run = s.rollout(start, steps=2, record=names)
    assert run.recorded["loop.force[hook.z]"] == pytest.approx(0.7 * 9.81)
    assert abs(run.recorded["loop.force[hook.ry]"]) == pytest.approx(0.7 * 9.81 * 0.1)
    assert np.abs(run.recorded["joint.qdd"]).max() < 1e-9
    assert np.asarray(run.recorded["link.acceleration"][0, 0]) == pytest.approx(
        [0, 0, 0, 0, 0, 9.81]
    )


def test_loops_are_in_tables_and_json(mechanism):
    """The tree shows what each link is held to; couplings are equations."""
    text = describe(mechanism("ankle"))
    assert "held to rod_l by left" in text
    assert "(-0.07 0.05 -0.02)" in text
    assert "lift = 0.06 + 0.03 (cam - 0.2) + 0.02 (cam - 0.2)^2 -" in describe(mechanism("cam"))
    facts = json.loads(json.dumps(describe_dict(mechanism("welded"))))
    assert facts["loops"][0]["first"] == "forearm"
    assert facts["loops"][0]["rotation"] == pytest.approx([0.8, 0.36, 0, 0.48])
    couplings = json.loads(json.dumps(describe_dict(mechanism("gripper"))))["couplings"]
    assert couplings[0]["ratio"] == -12.5


def test_what_cannot_be_assembled_is_said(mechanism):
    """Which row is open, by how much; and a joint to keep that is not there."""
    s = gs.Simulator(mechanism("four_bar"))
    far = s.initial_state(q={"crank": 0.4, "rocker": -2.0})
    with pytest.raises(gs.ModelError, match=r"open are pin\.[xz] by .* m.*than are kept"):
        s.assemble(far, keep=("crank", "rocker"))
    with pytest.raises(gs.ModelError, match=r"keep: no degree of freedom 'cranc'. Nearest: crank"):
        s.assemble(far, keep=("cranc",))


def test_a_tree_is_assembled_as_it_is():
    """Without loops nothing happens."""
    s = gs.Simulator(gs.Builder("one").link("a", mass=1.0, inertia=1.0).build())
    state = s.initial_state(q=[0.3])
    assert s.assemble(state) is state


def test_simulate_finds_the_other_joints(tmp_path, capsys):
    """`graftsim simulate` keeps the joints that are given and closes the loop with the others."""
    from graftsim.cli import main

    robot, out = tmp_path / "four_bar.xml", tmp_path / "out.csv"
    robot.write_text(closed.FOUR_BAR)
    args = ["simulate", str(robot), "--seconds", "0.01", "--q", "crank=0.3", "--out", str(out)]
    assert main(args) == 0
    log = gs.read_recording(out)
    first = {k: float(log[f"joint.q[{k}]"].values[0, 0]) for k in ("crank", "coupler", "rocker")}
    assert first["crank"] == pytest.approx(0.3, abs=1e-6)
    s = gs.Simulator(gs.load(robot))
    expected = s.assemble(s.initial_state(q={"crank": 0.3}), keep=("crank",))
    assert list(first.values()) == pytest.approx(np.asarray(expected.q).tolist(), abs=1e-6)
    assert Path(out).exists()
    capsys.readouterr()
