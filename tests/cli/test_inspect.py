"""`graftsim inspect`: tables to read, JSON to process."""

import json

import pytest


def test_json(cli, place):
    """--json prints one JSON document with links, joints and the variables of a step."""
    code, out, err = cli("inspect", place / "robot.urdf", "--json")
    facts = json.loads(out)
    assert (code, err) == (0, "")
    assert {v["name"] for v in facts["variables"]} >= {"state.q", "joint.tau_passive", "joint.qdd"}
    rows = next(v["rows"] for v in facts["variables"] if v["name"] == "joint.qd")
    assert rows == ["shoulder", "elbow"]
    assert "upper" in json.dumps(facts)


def test_tables_show_labels(cli, place):
    """Names with brackets are shown as they are, not taken for markup."""
    code, out, _ = cli("inspect", place / "robot.urdf", "--variables", "--parameters")
    assert code == 0
    assert "joint.damping[elbow]" in out
    assert "joint.tau_passive" in out
    assert "N m s/rad" in out
    assert "N m s/rad | N s/m" not in out, "the unit is that of the joint at hand"


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (None, ["no such file", "robot2.urdf"]),
        ("<robot", ["robot2.urdf"]),
        ("<robot name='r'><link name='a'/><link name='a'/></robot>", ["robot2.urdf", "'a'"]),
    ],
)
def test_wrong_file(cli, tmp_path, content, parts):
    """A file that is not there or no robot: one message on standard error, code 2, no traceback."""
    path = tmp_path / "robot2.urdf"
    if content is not None:
        path.write_text(content)
    code, out, err = cli("inspect", path)
    assert (code, out) == (2, "")
    assert err.startswith("graftsim inspect: ")
    assert "Traceback" not in err
    for part in parts:
        assert part.lower() in err.lower()
