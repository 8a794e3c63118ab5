"""MJCF files: the compiled arrays of MuJoCo become the same dynamics, or a refusal by name."""

import mujoco
import numpy as np
import pytest
from oracle import assert_same

from graftsim.errors import FileError
from graftsim.io.mjcf import read_mjcf


def write(tmp_path, body, *, rest="", option=""):
    path = tmp_path / "robot.xml"
    path.write_text(
        f"<mujoco model='test'>{option}<worldbody>\n{body}\n</worldbody>\n{rest}</mujoco>"
    )
    return path


def both(path):
    return read_mjcf(path), mujoco.MjModel.from_xml_path(str(path))


RICH = """
<body name="trunk" pos="1 2 3" euler="10 20 30">
  <freejoint name="root"/>
  <geom type="ellipsoid" size=".1 .2 .3" pos=".1 0 .05" euler="30 40 50"/>
  <site name="imu" pos="0 .1 0" euler="0 90 0"/>
  <body name="upper" pos=".2 .1 0" euler="5 -10 15">
    <joint name="a" axis="1 2 3" pos=".01 -.02 .03" ref="20" springref="7" stiffness="3"
           damping=".5" armature=".02" frictionloss=".1" range="-60 90"/>
    <joint name="s" type="slide" axis="0 1 1" pos=".1 .1 .1" ref=".05" stiffness="2" damping=".3"/>
    <joint name="b" axis="0 1 0" pos="-.05 .04 0"/>
    <geom type="capsule" size=".03" fromto="0 0 0 .1 .2 .3"/>
    <body name="plate" pos="0 0 .1" euler="0 45 0">
      <geom type="box" size=".1 .05 .01" pos=".02 0 0"/>
      <body name="wrist" pos=".1 0 .3" euler="20 0 0">
        <joint name="w" type="ball" pos="0 .02 -.01" damping=".2" stiffness=".7"/>
        <geom type="cylinder" size=".02 .1" euler="0 60 0"/>
      </body>
    </body>
  </body>
</body>
<body name="cart"><joint type="slide" axis="1 0 0"/><joint type="hinge" axis="0 1 0" pos="0 0 .2"/>
  <geom type="sphere" size=".1" pos="0 .1 0"/></body>
"""


def test_several_joints_anchors_references_springs(tmp_path):
    """Chains of joints off the origin, with ref and springs: MuJoCo's forces to 1e-9."""
    model, mj = both(write(tmp_path, RICH))
    frictionless = model
    assert model.tree.dofs[6:9] == ("a", "s", "b")
    joint = model.joint
    assert float(joint.friction[6]) == 0.1
    import equinox as eqx

    frictionless = eqx.tree_at(lambda m: m.joint.friction, model, 0 * joint.friction)
    assert_same(frictionless, mj, rtol=1e-9)


def test_names_of_a_chain(tmp_path):
    """Intermediate links are body/joint, the last one has the body's name; unnamed joints get one."""
    model, _ = both(write(tmp_path, RICH))
    assert model.tree.links == (
        *("trunk", "upper/a", "upper/s", "upper", "plate", "wrist", "cart/cart/joint0", "cart"),
    )
    assert model.tree.joints[-2:] == ("cart/joint0", "cart/joint1")
    assert model.tree.types[4] == "fixed"
    assert float(model.link.mass[1]) == 0.0


