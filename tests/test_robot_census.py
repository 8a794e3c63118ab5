"""The census of robot files: what counts as a robot, limits of time and memory, words of tables."""

import time
from pathlib import Path

from robot_census import tables
from robot_census.files import below, features, robots
from robot_census.look import look
from robot_census.workers import in_turn

import closed_mechanisms

ARM = """<robot name="arm"><link name="world"/><link name="a">
<inertial><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j" type="{kind}"><parent link="world"/><child link="a"/>{more}</joint></robot>"""


def test_what_is_a_robot(tmp_path):
    """By the root element, comments aside; parts without bodies are none."""
    texts = {
        "a.urdf": ARM.format(kind="continuous", more=""),
        "b.xml": "<!-- <robot> --><mujoco><include file='c.xml'/></mujoco>",
        "c.xml": "<mujocoinclude><body name='a'/><fixed name='t'/></mujocoinclude>",
        "d.xml": "<mujoco><asset/></mujoco>",
        "e.xml": "<launch/>",
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    found = robots(below(tmp_path))
    assert [(p.name, form) for p, form in found] == [("a.urdf", "urdf"), ("b.xml", "mjcf")]
    assert features(tmp_path / "b.xml") == ["tendon, fixed", "include"]


def test_a_file_is_opened_compared_and_written(tmp_path):
    """Exact against Pinocchio; read again here, in MuJoCo and in Pinocchio."""
    path = tmp_path / "a.urdf"
    path.write_text(ARM.format(kind="continuous", more='<axis xyz="0 1 0"/>'))
    found = {}
    for more in look(path, "urdf"):
        found |= more
    assert found["opened"] and max(found["errors"].values()) < 1e-12
    assert all(max(found["written"][k].values()) < 1e-12 for k in ("read", "mujoco", "pinocchio"))
    assert tables.status(found | {"stopped": ""}, 1e-9) == "exact"


BODY = """<link name="{name}"><inertial><origin xyz="0.2 0 0.1"/><mass value="1"/>
<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>"""
MIMIC = f"""<robot name="hand"><link name="world"/>{BODY.format(name="a")}{BODY.format(name="b")}
<joint name="j" type="continuous"><parent link="world"/><child link="a"/><axis xyz="0 1 0"/></joint>
<joint name="k" type="continuous"><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>
<mimic joint="j" multiplier="-0.5" offset="0.1"/></joint></robot>"""


def test_accelerations_on_loops_are_compared(tmp_path):
    """A four-bar and a mimic joint, at states on them, against both programs' own matrices."""
    for file, text in {"bar.xml": closed_mechanisms.FOUR_BAR, "hand.urdf": MIMIC}.items():
        (tmp_path / file).write_text(text)
        found = {}
        for x in look(tmp_path / file, "mjcf" if file.endswith("xml") else "urdf"):
            found |= x
        assert found["errors"]["acceleration"] < 1e-11
        assert max(found["errors"].values()) < 1e-11


def test_an_option_that_opens(tmp_path):
    """The error names it, and it is tried."""
    path = tmp_path / "a.urdf"
    wrong = ARM.replace('ixx="1"', 'ixx="9"')
    path.write_text(wrong.format(kind="continuous", more=""))
    found = {}
    for more in look(path, "urdf"):
        found |= more
    assert found["by option"] == "repair_inertia"
    assert tables.status(found | {"stopped": ""}, 1e-9) == "by option"


def hang_or_swell(path, form):
    """What a file may do to its reader."""
    yield {"opened": True}
    if path.name == "hangs":
        time.sleep(100)
    if path.name == "swells":
        hold = bytearray(2**34)
        yield {"held": len(hold)}
    yield {"done": True}


def test_limits_of_time_and_memory():
    """A file that hangs or swells stops its process alone; what was found before counts."""
    jobs = [(Path(name), "urdf") for name in ("one", "hangs", "two", "swells", "three")]
    found = list(in_turn(hang_or_swell, jobs, seconds=2, gigabytes=2))
    assert [Path(f["file"]).name for f in found] == ["one", "hangs", "two", "swells", "three"]
    assert [bool(f.get("done")) for f in found] == [True, False, True, False, True]
    assert "2 s" in found[1]["stopped"] and "memory" in found[3]["failed"]
    assert all(f["opened"] for f in found)


def test_sentences_without_what_is_of_one_file():
    """Names, numbers and paths are taken out, so that alike refusals are counted as one."""
    one = "/a/b/x.urdf:12: joint 'elbow' mimics joint 'wrist', which is 3.5e-2 off. Remove it."
    two = "/c/y.urdf:7: joint 'hip' mimics joint 'knee', which is -1 off. Remove it."
    assert tables.plain(one) == tables.plain(two)
