"""Files that a robot names and that are not there: needed only where something touches."""

import numpy as np
import pytest

import graftsim as gs
from graftsim.dynamics import mass_matrix

INERTIAL = '<inertial mass="1" pos="0 0 .1" diaginertia=".1 .2 .3"/>'
MJCF = """<mujoco>
<compiler meshdir="parts"/>
<asset><mesh name="m" file="gone.stl"/><texture name="t" type="2d" file="gone.png"/>
<material name="mat" texture="t"/></asset>
<worldbody><geom name="floor" type="plane" size="1 1 1" material="mat"/>
<body name="b"><joint name="j" axis="0 1 0"/>{inertial}
<geom name="shown" type="mesh" mesh="m" contype="0" conaffinity="0" group="2"/>
<geom name="touching" type="{touching}" size=".1" {mesh}/></body></worldbody></mujoco>"""
URDF = """<robot name="r"><link name="world"/><link name="a">
<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>
<collision><geometry><mesh filename="package://pkg/meshes/a.{suffix}" scale="{scale}"/></geometry>
</collision></link>
<joint name="j" type="continuous"><parent link="world"/><child link="a"/></joint></robot>"""


def mjcf(tmp_path, *, inertial=INERTIAL, mesh=True):
    path = tmp_path / "robot.xml"
    kind, name = ("mesh", 'mesh="m"') if mesh else ("sphere", "")
    path.write_text(MJCF.format(inertial=inertial, touching=kind, mesh=name))
    return path


def urdf(tmp_path, suffix="stl", scale="1 1 1"):
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.format(suffix=suffix, scale=scale))
    return path


@pytest.mark.parametrize("write", [mjcf, urdf])
def test_opened_without_contact(tmp_path, write):
    """The motion without contact is that of the file; the missing shape is noted."""
    model = gs.load(write(tmp_path))
    assert any("missing" in n or "cannot be read" in n for n in model.notes)
    np.testing.assert_allclose(mass_matrix(model, np.zeros(1)), [[0.21 if write is mjcf else 1]])
    gs.Simulator(model)


@pytest.mark.parametrize("write", [mjcf, urdf])
def test_refused_with_contact(tmp_path, write):
    """A simulator with contact names the shape and what to do, and goes on if told to."""
    path = write(tmp_path)
    with pytest.raises(gs.ModelError, match=r"gone\.stl|a\.stl") as caught:
        gs.Simulator(gs.load(path), contact=gs.contact.SpringDamper())
    assert "--without meshes" in str(caught.value)
    with pytest.raises(gs.FileError, match="--without meshes"):
        gs.load(path, ground=0.0)
    model = gs.load(path, ground=-1.0, without=["meshes"])
    assert not model.absent


def test_only_what_shows_is_missing(tmp_path):
    """Contact goes on as it was."""
    model = gs.load(mjcf(tmp_path, mesh=False))
    assert not model.absent
    assert model.geom.names == ("floor", "touching")
    assert any("shown" in n for n in model.notes)
    assert any("textures" in n for n in model.notes)
    gs.Simulator(model, contact=gs.contact.SpringDamper())


def test_inertia_of_a_missing_mesh(tmp_path):
    """It changes the motion: refused with the line, the body and the option."""
    path = mjcf(tmp_path, inertial="")
    with pytest.raises(gs.FileError, match=r"robot\.xml:\d+: .*'b'.*--without inertia"):
        gs.load(path)
    path = mjcf(tmp_path, inertial="", mesh=False)
    with pytest.raises(gs.FileError, match="--without inertia"):
        gs.load(path)
    # What remains is the sphere: 4/3 pi r^3 rho, 2/5 m r^2.
    mass = 4 / 3 * np.pi * 1e-3 * 1000
    found = mass_matrix(gs.load(path, without=["inertia"]), np.zeros(1))
    np.testing.assert_allclose(found, [[0.4 * mass * 0.01]], rtol=1e-12)


def test_a_word_that_is_none(tmp_path):
    """The nearest words are named."""
    with pytest.raises(gs.FileError, match="Nearest: meshes"):
        gs.load(mjcf(tmp_path), without=["mesh"])


@pytest.mark.parametrize("variable", ["ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH", "package_dirs"])
def test_packages(tmp_path, monkeypatch, variable):
    """Meshes of packages are found where ROS 1, ROS 2 or the option say."""
    trimesh = pytest.importorskip("trimesh")
    above = tmp_path / "elsewhere" / ("share" if variable == "AMENT_PREFIX_PATH" else "")
    (above / "pkg" / "meshes").mkdir(parents=True)
    trimesh.creation.box((2, 4, 6)).export(above / "pkg" / "meshes" / "a.stl")
    options = {}
    if variable == "package_dirs":
        options["package_dirs"] = [tmp_path / "elsewhere"]
    else:
        monkeypatch.setenv(variable, f"/nowhere:{tmp_path / 'elsewhere'}")
    model = gs.load(urdf(tmp_path, scale="0.1 0.1 0.1 1"), **options)
    np.testing.assert_allclose(np.ptp(model.geom.vertices[0], 0), [0.2, 0.4, 0.6], rtol=1e-6)
    assert any("first three" in n for n in model.notes)


def test_collada_has_a_unit(tmp_path):
    """A tetrahedron of 1000, 2000 and 3000 mm is one of 1, 2 and 3 m."""
    pytest.importorskip("collada")
    (tmp_path / "pkg" / "meshes").mkdir(parents=True)
    (tmp_path / "pkg" / "meshes" / "a.dae").write_text(TETRAHEDRON)
    model = gs.load(urdf(tmp_path, suffix="dae"))
    np.testing.assert_allclose(np.ptp(model.geom.vertices[0], 0), [1, 2, 3], rtol=1e-12)


TETRAHEDRON = """<?xml version="1.0"?>
<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="millimeter" meter="0.001"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="a" count="12">0 0 0 1000 0 0 0 2000 0 0 0 3000</float_array>
<technique_common><accessor source="#a" count="4" stride="3"><param name="X" type="float"/>
<param name="Y" type="float"/><param name="Z" type="float"/></accessor></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/>
<p>0 2 1 0 1 3 1 2 3 2 0 3</p></triangles></mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="s"><node><instance_geometry url="#g"/></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#s"/></scene></COLLADA>"""
