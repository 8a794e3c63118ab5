"""Xacro files are expanded where `xacro` is installed."""

import sys

import numpy as np
import pytest

import graftsim as gs

BODY = """<inertial><mass value="${m}"/><inertia ixx="1" iyy="1" izz="1"/></inertial>"""
MAIN = """<?xml version="1.0"?>
<robot name="r" xmlns:xacro="http://ros.org/wiki/xacro">
<xacro:include filename="$(find parts)/arm.xacro"/>
<link name="world"/>
<xacro:arm name="a" parent="world" m="2"/>
<xacro:arm name="b" parent="a" m="${2*1.5}"/>
</robot>"""
ARM = f"""<robot xmlns:xacro="http://ros.org/wiki/xacro">
<xacro:macro name="arm" params="name parent m">
<link name="${{name}}">{BODY}</link>
<joint name="j${{name}}" type="continuous"><parent link="${{parent}}"/><child link="${{name}}"/>
</joint></xacro:macro></robot>"""


def robot(tmp_path, text=MAIN, name="robot.urdf.xacro"):
    package = tmp_path / "elsewhere" / "parts"
    package.mkdir(parents=True, exist_ok=True)
    (package / "arm.xacro").write_text(ARM)
    path = tmp_path / name
    path.write_text(text)
    return path


@pytest.mark.parametrize("name", ["robot.urdf.xacro", "robot.urdf"])
def test_expanded(tmp_path, name):
    """Macros, includes, expressions; packages are found as for meshes."""
    pytest.importorskip("xacro")
    path = robot(tmp_path, name=name)
    model = gs.load(path, package_dirs=[tmp_path / "elsewhere"])
    assert model.tree.links == ("a", "b")
    np.testing.assert_array_equal(model.link.mass, [2, 3])


def test_errors(tmp_path, monkeypatch):
    """A package that is not found; an expression that is none; a fault of the expanded text."""
    pytest.importorskip("xacro")
    with pytest.raises(gs.FileError, match=r"robot\.urdf\.xacro: .*'parts'.*--package-dir"):
        gs.load(robot(tmp_path))
    options = {"package_dirs": [tmp_path / "elsewhere"]}
    with pytest.raises(gs.FileError, match=r"xacro cannot expand this file: .*undefined_name"):
        gs.load(robot(tmp_path, MAIN.replace("2*1.5", "undefined_name")), **options)
    with pytest.raises(gs.FileError, match=r"\(expanded\):\d+: .*'nowhere'"):
        gs.load(robot(tmp_path, MAIN.replace('parent="a"', 'parent="nowhere"')), **options)


def test_not_installed(tmp_path, monkeypatch):
    """What to install, or what to type."""
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(gs.FileError, match=r"graftsim\[xacro\].*xacro robot.urdf.xacro > robot"):
        gs.load(robot(tmp_path))
