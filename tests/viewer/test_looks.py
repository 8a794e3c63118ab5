"""What a file shows of its links, and what happens to what cannot be read."""

from __future__ import annotations

import numpy as np
import pytest

import graftsim as gs
from graftsim.viewer import dressed, replay_page
from graftsim.viewer.parts import parts

trimesh = pytest.importorskip("trimesh")
Image = pytest.importorskip("PIL.Image")

URDF = """<robot name="r">
  <material name="red"><color rgba="1 0 0 1"/></material>
  <link name="base"/>
  <link name="arm">
    <inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <visual><origin xyz="0 0 1" rpy="0 0 1.5"/>
      <geometry><mesh filename="box.obj" scale="2 1 1"/></geometry>
      <material name="red"/></visual>
    <visual><geometry><mesh filename="gone.obj"/></geometry></visual>
    <visual><geometry><mesh filename="box.obj"/></geometry></visual>
    <collision><geometry><sphere radius="0.3"/></geometry></collision>
  </link>
  <link name="tip">
    <inertial><mass value="1"/>
      <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><sphere radius="0.2"/></geometry></collision>
  </link>
  <joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="k" type="fixed"><parent link="arm"/><child link="tip"/></joint>
</robot>"""
MJCF = """<mujoco><compiler meshdir="." texturedir="."/>
  <asset><mesh name="box" file="box.obj"/><texture name="t" type="2d" file="box.png"/>
    <material name="m" texture="t"/></asset>
  <worldbody><geom type="plane" size="1 1 1"/>
    <body name="arm"><joint/><geom type="mesh" mesh="box" material="m" contype="0" conaffinity="0"/>
      <geom type="sphere" size="0.3" group="3"/></body>
    <body name="plain" pos="2 0 0"><joint/><geom type="sphere" size="0.1"/></body>
  </worldbody></mujoco>"""


@pytest.fixture
def folder(tmp_path):
    """A box with a picture on it: red above, blue below."""
    picture = np.zeros((8, 8, 3), np.uint8)
    picture[:4, :, 0], picture[4:, :, 2] = 255, 255
    image = Image.fromarray(picture)
    box = trimesh.creation.box((1.0, 2.0, 3.0))
    v = box.vertices
    uv = np.stack([v[:, 0] + 0.5, v[:, 2] / 3 + 0.5], 1)
    material = trimesh.visual.material.SimpleMaterial(image=image)
    box.visual = trimesh.visual.TextureVisuals(uv=uv, material=material)
    (tmp_path / "box.obj").write_text(box.export(file_type="obj", mtl_name="box.mtl"))
    image.save(tmp_path / "box.png")
    (tmp_path / "box.mtl").write_text("newmtl material_0\nmap_Kd box.png\n")
    (tmp_path / "r.urdf").write_text(URDF)
    (tmp_path / "r.xml").write_text(MJCF)
    return tmp_path


def test_visuals_of_urdf_take_the_place_of_what_touches(folder):
    """Scaled, placed, in the file's colour or texture; what is missing is said and left out."""
    model = gs.load(folder / "r.urdf")
    drawn, said = dressed(model, folder / "r.urdf")
    arm, tip = (model.tree.links.index(x) for x in ("arm", "tip"))
    red, own = [p for p in drawn if p.link == arm]
    assert np.ptp(red.mesh.vertices, axis=0) == pytest.approx([2.0, 2.0, 3.0])
    assert red.position == pytest.approx([0, 0, 1])
    assert red.rotation == pytest.approx([np.cos(0.75), 0, 0, np.sin(0.75)])
    assert red.colour == (255, 0, 0) and red.looks is None
    assert own.looks is not None and own.looks.visual.kind == "texture"
    assert [p.name for p in drawn if p.link == tip] == [
        p.name for p in parts(model) if p.link == tip
    ]
    assert len(said) == 1 and "'arm'" in said[0] and "gone.obj" in said[0]


def colour_at(looks, z):
    """Colour of a textured mesh's picture where its vertices have the height z."""
    uv = looks.visual.uv[np.isclose(looks.vertices[:, 2], z)].mean(0)
    material = looks.visual.material
    image = np.asarray(getattr(material, "image", None) or material.baseColorTexture)
    rows, columns = image.shape[:2]
    row = int(np.clip((1 - uv[1]) * rows, 0, rows - 1))
    return tuple(int(c) for c in image[row, int(np.clip(uv[0] * columns, 0, columns - 1))][:3])


def test_texture_of_mjcf_sits_as_in_the_mesh_file(folder):
    """Red above, blue below, as trimesh reads the file; bodies without looks keep their shapes."""
    model = gs.load(folder / "r.xml")
    drawn, said = dressed(model, folder / "r.xml")
    (arm,) = [p for p in drawn if p.link == model.tree.links.index("arm")]
    assert said == [] and np.ptp(arm.mesh.vertices, axis=0) == pytest.approx([1, 2, 3], abs=1e-5)
    itself = trimesh.load(folder / "box.obj", force="mesh")
    for looks in (arm.looks, itself):
        top, bottom = looks.vertices[:, 2].max(), looks.vertices[:, 2].min()
        assert colour_at(looks, top) == (255, 0, 0) and colour_at(looks, bottom) == (0, 0, 255)
    plain = model.tree.links.index("plain")
    assert all(p.looks is None and "look" not in p.name for p in drawn if p.link == plain)


def test_replay_carries_the_looks(folder):
    """The page of a textured robot is larger than that of its shapes."""
    model = gs.load(folder / "r.urdf")
    drawn, _ = dressed(model, folder / "r.urdf")
    still = gs.identify.results.result.Replay("still", np.arange(2.0), None, np.zeros((2, 1)))
    page = replay_page(model, [still], drawn=drawn)
    assert len(page.scenes) == 1


def test_files_that_are_none(tmp_path, folder):
    """A robot by name has no file to look at; a broken one is refused."""
    model = gs.load(folder / "r.urdf")
    assert dressed(model, "robot_descriptions:x")[1] == []
    (tmp_path / "broken.urdf").write_text("<robot>")
    with pytest.raises(gs.FileError, match=r"broken\.urdf"):
        dressed(model, tmp_path / "broken.urdf")
