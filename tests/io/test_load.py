"""One door for robot files: the root element decides; every wrong file has its own words."""

import pytest

from graftsim.errors import FileError
from graftsim.io.load import load

URDF = (
    '<robot name="r"><link name="base"><inertial><mass value="1"/>'
    '<inertia ixx="1" iyy="1" izz="1"/></inertial></link></robot>'
)
MJCF = (
    '<mujoco model="m"><worldbody><body name="b"><joint/><geom size="1"/></body></worldbody>'
    "</mujoco>"
)


def put(tmp_path, text, name="robot.xml"):
    path = tmp_path / name
    path.write_text(text)
    return path


def refused(path, *parts, **options):
    with pytest.raises(FileError) as caught:
        load(path, **options)
    for part in (str(path), *parts):
        assert part in str(caught.value), str(caught.value)


@pytest.mark.parametrize("name", ["r.urdf", "r.xml", "r.mjcf", "r"])
def test_the_root_element_decides(tmp_path, name):
    """Whatever the suffix."""
    assert load(put(tmp_path, URDF, name)).name == "r"
    assert load(str(put(tmp_path, MJCF, name))).name == "m"


def test_options_reach_the_reader(tmp_path):
    """URDF's options; for MJCF they are refused, not ignored."""
    assert load(put(tmp_path, URDF), base="free").tree.types == ("free",)
    refused(put(tmp_path, MJCF), "base", "MJCF", base="fixed")
    floor = load(put(tmp_path, MJCF), ground=-1.0, self_collision=False)
    assert floor.pair.names == ("ground/b/sphere0",)


def test_float32(tmp_path):
    """A model is cast after it is read."""
    import numpy as np

    for text in (URDF, MJCF):
        assert load(put(tmp_path, text)).astype(np.float32).link.mass.dtype == np.float32


def test_missing_file(tmp_path):
    """The nearest names in the folder, or that the folder is missing."""
    put(tmp_path, URDF, "robot.urdf")
    refused(tmp_path / "robto.urdf", "no such file", "robot.urdf")
    refused(tmp_path / "nowhere" / "robot.urdf", "no such file", "There is no folder")
    refused(tmp_path, "cannot be read")


def test_files_of_another_kind(tmp_path):
    """Each says what it is and what to do."""
    refused(put(tmp_path, " \n"), "the file is empty")
    refused(put(tmp_path, "<sdf/>"), ":1:", "SDF", "Convert")
    refused(put(tmp_path, "<html/>"), "<html>", "neither")
    refused(put(tmp_path, "t,q\n0,1\n", "log.csv"), "read_recording")
    refused(put(tmp_path, "t,q\n0,1\n"), ":1:", "not well-formed XML")


def test_malformed_xml_names_the_line(tmp_path):
    """And the element that is still open."""
    text = '<robot name="r">\n<link name="a">\n</robot>'
    refused(put(tmp_path, text), ":3:", "mismatched tag", "<link> of line 2 is still open")
