"""`graftsim excite`: from a robot and an earlier fit to a log that can be played."""

import json

import numpy as np
import pytest

import graftsim as gs
from graftsim.cli.excite import beside_sines


def test_plan_of_a_robot(cli, place, tmp_path):
    """The log has commands and the motion they give; what is known already counts as known."""
    out, after = tmp_path / "next.csv", tmp_path / "fit.json"
    row = {"name": "joint.damping[shoulder]", "std": 1e-9}
    after.write_text(json.dumps({"parameters": [row]}))
    code, said, _ = cli(
        "excite", place / "robot.urdf", "--free", "joint.damping[*]", "--after", after, "--seconds",
        2, "--velocity", 1.5, "--generations", 3, "--dt", 0.01, "--json", "--out", out,
    )  # fmt: skip
    assert code == 0
    found = json.loads(said)
    shoulder, elbow = found["parameters"]
    assert shoulder["before"] == 1e-9
    assert elbow["after"] < 0.1 * elbow["before"]
    plan = gs.read_recording(out)
    assert plan.duration == 2.0
    assert "control[elbow]" in plan.names
    assert np.abs(plan["signal[desired.qd:elbow]"].values).max() <= 1.5 + 1e-9


def test_wrong_use(cli, place, tmp_path):
    """A file that is no fit, a joint that is not there."""
    bad = tmp_path / "fit.json"
    bad.write_text("{}")
    code, _, said = cli("excite", place / "robot.urdf", "--after", bad)
    assert code == 2
    assert "not a fit.json of graftsim fit" in said
    code, _, said = cli("excite", place / "robot.urdf", "--middle", "wrist=1", "--seconds", 1)
    assert code == 2
    assert "the joints are shoulder, elbow" in said


@pytest.mark.parametrize(
    ("ratio", "says"),
    [
        (1.0, "about as much"),
        (3.0, "3 times better"),
        (0.5, "2 times worse"),
        (1e9, "next to nothing"),
    ],
)
def test_what_is_said_beside_sines(ratio, says):
    assert says in beside_sines(np.log(ratio))
