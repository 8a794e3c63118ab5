"""What looks wrong in a robot file is a finding with its line and what mends it."""

import json

import pytest

import graftsim as gs

BODY = (
    '<inertial><origin xyz="{c}"/><mass value="2"/>'
    '<inertia ixx="{i}" iyy="{i}" izz="{i}"/></inertial>'
)
ROBOT = """<robot name="r"><link name="world"/>
<link name="arm">{body}<collision><origin xyz="0 0 .2"/>
<geometry><box size=".1 .1 .4"/></geometry></collision></link>
<joint name="j" type="revolute"><parent link="world"/><child link="arm"/><axis xyz="0 {y} 0"/>
<limit lower="{low}" upper="{high}"/></joint></robot>"""
RIGHT = {"c": "0 0 .2", "i": "0.03", "y": 1, "low": -1, "high": 1}
# What is changed: level, parameter, line, words.
WRONG = {
    "centre in mm": ({"c": "0 0 200"}, "warning", "link.com[arm]", 2, "outside the shapes"),
    "inertia in kg mm^2": ({"i": "30000"}, "warning", "link.inertia[arm]", 2, "above m R^2"),
    "inertia in t m^2": ({"i": "3e-5"}, "warning", "link.inertia[arm]", 2, "a point of 2 kg"),
    "no travel": ({"low": 0, "high": 0}, "warning", "joint.lower[j]", 4, "is none"),
    "start outside": ({"low": 0.5, "high": 1}, "note", "joint.lower[j]", 4, "outside its limits"),
    "reversed": ({"low": 1, "high": -1}, "error", "", 5, "lower=1 above upper=-1"),
    "axis": ({"y": 2}, "warning", "", 4, "has length 2"),
}


def robot(tmp_path, **changed):
    numbers = RIGHT | changed
    path = tmp_path / "robot.urdf"
    path.write_text(ROBOT.format(body=BODY.format(**numbers), **numbers))
    return path


def test_nothing_is_found_in_a_right_file(tmp_path):
    """No finding, exit code 0 of the command."""
    assert gs.check_robot(gs.load(robot(tmp_path))) == []


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_number(tmp_path, name):
    """One finding of that level, about that parameter."""
    changed, level, channel, _, words = WRONG[name]
    (found,) = gs.check_robot(gs.load(robot(tmp_path, **changed)))
    assert (found.level, found.channel) == (level, channel)
    assert words in found.what and found.remedy


@pytest.mark.parametrize("name", WRONG)
def test_inspect(cli_of_checks, tmp_path, name):
    """The table and JSON have it with its line; errors end with 1."""
    changed, level, channel, line, words = WRONG[name]
    code, out, _ = cli_of_checks("inspect", robot(tmp_path, **changed), "--json")
    (found,) = json.loads(out)["findings"]
    assert code == (1 if level == "error" else 0)
    assert found["channel"] == channel
    assert f"line {line}: " in found["what"] and words in found["what"]


@pytest.fixture
def cli_of_checks(capsys):
    """Runs a command in this process."""
    from graftsim.cli import main

    def run(*args):
        capsys.readouterr()
        return main([str(a) for a in args]), *capsys.readouterr()

    return run


@pytest.mark.parametrize("file", ["a1/a1_primitives.urdf", "unitree/go2.xml", "unitree/z1.xml"])
def test_real_robots(assets_dir, file):
    """No error in what is well kept."""
    found = gs.check_robot(gs.load(assets_dir / file))
    assert not [f for f in found if f.level == "error"], found
