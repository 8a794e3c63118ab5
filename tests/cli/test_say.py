"""F6, P3: commands that simulate say how the base meets the world and what they leave out."""

import pytest

BODY = '<inertial><mass value="1"/><inertia ixx=".1" iyy=".1" izz=".1"/></inertial>'
ARM = f"""<robot name="arm"><link name="table">{BODY}</link><link name="arm">{BODY}</link>
<joint name="j" type="revolute"><parent link="table"/><child link="arm"/><axis xyz="0 1 0"/>
<limit lower="-1" upper="1" effort="1" velocity="9"/></joint></robot>"""
MOTION = ("--seconds", "0.02", "--out")


@pytest.fixture
def arm(tmp_path):
    """An arm whose root has mass."""
    path = tmp_path / "arm.urdf"
    path.write_text(ARM)
    return path


def test_F6_a_floating_base_is_said(cli, arm, tmp_path):
    """In one line, with the reason, the flag that changes it, and that it falls."""
    code, _, err = cli("simulate", arm, *MOTION, tmp_path / "m.csv")
    line = next(x for x in err.splitlines() if x.startswith("base: "))
    assert code == 0
    for words in ("'table' floats", "mass 1 kg", "--base fixed", "it falls"):
        assert words in line
    _, _, err = cli("simulate", arm, *MOTION, tmp_path / "m.csv", "--base", "fixed")
    assert "is fixed to the world, because base='fixed'" in err and "falls" not in err


def test_P3_what_is_left_out_is_said(cli, arm, tmp_path):
    """Limits that are not enforced, by the joint, with what enforces them."""
    _, _, err = cli("simulate", arm, *MOTION, tmp_path / "m.csv")
    assert "note: joint j: limits of travel are stored but not enforced" in err
    assert "joint.limit_stiffness" in err


def test_of_fits_too(cli, arm, tmp_path):
    """`check` reads robots as `fit` does."""
    cli("simulate", arm, *MOTION, tmp_path / "m.csv", "--base", "fixed")
    _, out, err = cli("check", arm, tmp_path / "m.csv")
    assert "'table' floats" in out + err and "limits of travel" in out + err


def test_excite_says_it(cli, arm, tmp_path):
    """A plan is for the robot that it names."""
    asked = ("--seconds", "0.1", "--generations", "1", "--harmonics", "1", "--base", "fixed")
    _, _, err = cli("excite", arm, *asked, "--free", "joint.damping[j]", "--out", tmp_path / "n")
    assert "fixed to the world" in err
