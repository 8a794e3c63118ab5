"""MJCF files: the compiled arrays of MuJoCo become the same dynamics, or a refusal by name."""

import equinox as eqx
import mujoco
import numpy as np
import pytest

from graftsim.errors import FileError
from graftsim.io.load import load
from robot_oracle import assert_same, random_state


def write(tmp_path, body, *, rest="", option=""):
    path = tmp_path / "robot.xml"
    path.write_text(
        f"<mujoco model='test'>{option}<worldbody>\n{body}\n</worldbody>\n{rest}</mujoco>"
    )
    return path


def both(path):
    return load(path), mujoco.MjModel.from_xml_path(str(path))


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
    assert model.tree.dofs[6:9] == ("a", "s", "b")
    joint = model.joint
    assert float(joint.friction[6]) == 0.1
    frictionless = eqx.tree_at(lambda m: m.joint.friction, model, 0 * joint.friction)
    assert_same(frictionless, mj, rtol=1e-9)


def test_names_of_a_chain(tmp_path):
    """Intermediate links are body/joint, the last has the body's name; unnamed joints get one."""
    model, _ = both(write(tmp_path, RICH))
    assert model.tree.links == (
        *("trunk", "upper/a", "upper/s", "upper", "plate", "wrist", "cart/cart/joint0", "cart"),
    )
    assert model.tree.joints[-2:] == ("cart/joint0", "cart/joint1")
    assert model.tree.types[4] == "fixed"
    assert float(model.link.mass[1]) == 0.0


def test_intermediate_frames_and_poses(tmp_path):
    """Poses of bodies, sites and shapes are MuJoCo's, anchors and references included."""
    from graftsim.dynamics import frame_pose, link_poses

    model, mj = both(write(tmp_path, RICH))
    rng = np.random.default_rng(1)
    q, _ = random_state(model, rng)
    data = mujoco.MjData(mj)
    data.qpos[:] = q
    mujoco.mj_forward(mj, data)
    for name in ("upper", "wrist", "cart"):
        position = frame_pose(model, q, f"{name}/body")[1]
        np.testing.assert_allclose(position, data.body(name).xpos, atol=1e-12)
    R, p = frame_pose(model, q, "imu")
    np.testing.assert_allclose(p, data.site("imu").xpos, atol=1e-12)
    np.testing.assert_allclose(R, data.site("imu").xmat.reshape(3, 3), atol=1e-12)
    R_link, p_link = link_poses(model, q)
    for g in range(mj.ngeom):
        i = model.geom.link[g]
        centre = p_link[i] + R_link[i] @ model.geom.position[g]
        np.testing.assert_allclose(centre, data.geom_xpos[g], atol=1e-12)


def test_quadruped_asset(assets_dir):
    """The asset has MuJoCo's dynamics; display shapes are left out with a note."""
    model, mj = both(assets_dir / "quadruped" / "standing_quadruped.xml")
    assert_same(model, mj, rtol=1e-10)
    assert set(model.actuator.kinds) == {"position"}
    assert float(model.actuator.kp[0]) == 60 and float(model.actuator.kd[0]) == 2
    assert any("geom 1 (of body base)" in n and "display" in n for n in model.notes)
    np.testing.assert_array_equal(model.starts.drawn[:7], [0, 0, 0.42, 1, 0, 0, 0])
    assert "home" in model.keys


@pytest.mark.parametrize("n", ["02", "05"])
def test_swimmer_assets(assets_dir, n):
    """Three joints in one body, anchors off the origin."""
    model, mj = both(assets_dir / "swimmer" / f"swimmer{n}.xml")
    assert_same(model, mj, rtol=1e-10)


ARM = (
    '<body name="arm"><joint name="j" axis="0 1 0" {joint}/><geom name="g" size=".1" {geom}/>'
    "</body>"
    '<body name="ball"><joint name="b" type="ball"/><geom size=".1" pos="0 .1 .2"/>'
    "</body>"
)


def arm(tmp_path, *, joint="", geom="", **others):
    return write(tmp_path, ARM.format(joint=joint, geom=geom), **others)


def actuators(text):
    return f"<actuator>{text}</actuator>"


def test_actuators_have_mujocos_force(tmp_path):
    """Torque, position, velocity; gear, gain, ranges, armature and damping of the actuator."""
    from graftsim.dynamics import mass_matrix

    text = (
        '<motor name="m" joint="j" gear="3" ctrlrange="-1 2" forcerange="-5 .5"/>'
        '<general name="g" joint="j" gainprm="4"/>'
        '<position name="p" joint="j" gear="2" kp="10" kv="1"/>'
        '<velocity name="v" joint="j" kv="2" armature=".5" damping=".7" gear="3"/>'
        '<motor name="t" joint="b" gear="0 2 0"/>'
    )
    model, mj = both(arm(tmp_path, rest=actuators(text)))
    a = model.actuator
    assert a.names == ("m", "g", "p", "v", "t")
    assert a.kinds == ("torque", "torque", "position", "velocity", "torque")
    assert [model.tree.dofs[d] for d in a.dof] == ["j", "j", "j", "j", "b.ry"]
    q, qd, u = np.array([0.3, 1, 0, 0, 0]), np.array([0.4, 0, 0, 0]), np.full(5, 0.6)
    data = mujoco.MjData(mj)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, u
    mujoco.mj_forward(mj, data)
    length, speed = a.gear * np.array([0.3] * 4 + [0]), a.gear * np.array([0.4] * 4 + [0])
    laws = {
        "torque": a.gain * u,
        "position": a.kp * (u - length) - a.kd * speed,
        "velocity": a.kd * (u - speed),
    }
    force = np.array([laws[kind][k] for k, kind in enumerate(a.kinds)])
    force = np.clip(force, a.force_lower, a.force_upper)
    np.testing.assert_allclose(force, data.actuator_force, rtol=1e-12)
    M = np.zeros((4, 4))
    mujoco.mj_fullM(mj, data, M)
    np.testing.assert_allclose(mass_matrix(model, q), M, atol=1e-14)
    assert_same(model, mj)
    assert (float(a.control_lower[0]), float(a.control_upper[0])) == (-1, 2)


def test_actuator_lag_and_joint_force_range(tmp_path):
    """filterexact is our lag; a range of the joint's force becomes one of the actuator's."""
    text = (
        '<general name="x" joint="j" gear="2" dyntype="filterexact" dynprm=".05"/>'
        '<general name="y" joint="b" gear="1 0 0" dyntype="filter" dynprm=".1"/>'
    )
    path = arm(tmp_path, joint='actuatorfrcrange="-6 4"', rest=actuators(text))
    model = load(path)
    a = model.actuator
    assert a.lagged == (True, True)
    np.testing.assert_array_equal(a.time_constant, [0.05, 0.1])
    assert (float(a.force_lower[0]), float(a.force_upper[0])) == (-3, 2)
    assert any("actuator y: dyntype filter" in n for n in model.notes)


REFUSED_ACTUATORS = {
    '<muscle name="x" joint="j" lengthrange="0 1"/>': "dyntype 'muscle'",
    '<intvelocity name="x" joint="j" kp="1" actrange="-1 1"/>': "dyntype 'integrator'",
    '<damper name="x" joint="j" kv="1" ctrlrange="0 1"/>': "gaintype 'affine'",
    '<general name="x" joint="j" gainprm="1" biastype="affine" biasprm="0 -3 0"/>': "biasprm",
    '<position name="x" joint="b" kp="1" gear="1 0 0"/>': "ball or free",
    '<motor name="x" joint="b" gear="1 1 0"/>': "several degrees of freedom",
    '<motor name="x" cranksite="s" slidersite="t" cranklength="1"/>': "transmission 'slidercrank'",
    '<adhesion name="x" body="arm" ctrlrange="0 1"/>': "transmission 'body'",
}


@pytest.mark.parametrize("text", REFUSED_ACTUATORS)
def test_other_actuators_are_refused_by_name(tmp_path, text):
    """With the reason, and what is accepted."""
    body = ARM.format(joint="", geom="").replace(
        "</body>", '<site name="s"/><site name="t"/></body>', 1
    )
    path = write(tmp_path, body, rest=actuators(text))
    with pytest.raises(FileError) as caught:
        load(path)
    message = str(caught.value)
    for part in (str(path), "actuator 'x'", REFUSED_ACTUATORS[text], "Accepted: motor"):
        assert part in message, message


REFUSED = {
    "tendon": (
        {
            "rest": '<tendon><fixed name="t" armature="0.1"><joint joint="j" coef="1"/></fixed>'
            "</tendon>"
        },
        "tendon 't': armature",
    ),
    "stiffness": ({"joint": 'stiffness="1 2"'}, "nonlinear stiffness of joint 'j'"),
    "damping": ({"joint": 'damping="1 2"'}, "nonlinear damping of joint 'j'"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_changes_the_motion_is_refused_by_name(tmp_path, what):
    """Never skipped in silence."""
    options, expected = REFUSED[what]
    if "body" in options:
        path = write(tmp_path, options["body"])
    else:
        path = arm(tmp_path, **options)
    with pytest.raises(FileError) as caught:
        load(path)
    assert str(path) in str(caught.value) and expected in str(caught.value)


def test_what_does_not_is_noted(tmp_path):
    """Sensors, cameras, filters, friction, limits, options."""
    path = write(
        tmp_path,
        ARM.format(joint='range="-10 10" frictionloss=".2"', geom='contype="2" friction=".3"')
        + '<light name="sun"/><camera name="eye"/>',
        option='<option timestep=".003"/>',
        rest='<sensor><jointpos name="enc" joint="j"/></sensor>',
    )
    model = load(path)
    for words in (
        "timestep 0.003",
        "sensor enc",
        "light sun",
        "camera eye",
        "joint j: frictionloss",
        "joint j: limits are stored but not enforced",
        "friction is read. solref, solimp, margin and gap are not",
    ):
        assert any(words in n for n in model.notes), (words, model.notes)
    np.testing.assert_allclose(model.joint.upper[0], np.radians(10), rtol=1e-15)


def test_flags_of_the_file_are_followed(tmp_path):
    """What the file switches off is off here, with a note."""
    path = arm(
        tmp_path,
        joint='damping="1" stiffness="2" range="-10 10" frictionloss=".1"',
        option='<option><flag gravity="disable" damper="disable" spring="disable" limit="disable"'
        ' frictionloss="disable" actuation="disable"/></option>',
        rest=actuators('<motor joint="j" gear="3"/>'),
    )
    model, mj = both(path)
    assert_same(model, mj)
    assert not np.any(np.asarray(model.world.gravity)) and float(model.actuator.gear[0]) == 0
    assert np.isinf(model.joint.upper[0]) and float(model.joint.friction[0]) == 0
    assert any("flag gravity" in n for n in model.notes)


def test_shapes_and_meshes(tmp_path):
    """Sizes are MuJoCo's; a mesh becomes the corners of its hull, in the frame of its geom."""
    corners = np.array([[x, y, z] for x in (0, 0.2) for y in (0, 0.4) for z in (0, 0.6)])
    inside = [[0.1, 0.2, 0.3]]
    vertex = " ".join(str(v) for v in np.concatenate([corners, inside]).ravel())
    path = write(
        tmp_path,
        '<geom name="floor" type="plane" size="1 1 .1"/><body name="a" pos="0 0 1"><freejoint/>'
        '<geom name="m" type="mesh" mesh="brick"/></body>',
        option=f'<asset><mesh name="brick" vertex="{vertex}"/></asset>',
    )
    model, mj = both(path)
    assert model.geom.kinds == ("plane", "mesh") and model.geom.link == (-1, 0)
    from graftsim.spatial.rotation import matrix

    R = np.asarray(matrix(model.geom.rotation[1]))
    found = np.asarray(model.geom.vertices[1]) @ R.T + np.asarray(model.geom.position[1])
    assert len(found) == 8
    order = np.lexsort(np.round(found, 5).T[::-1])
    np.testing.assert_allclose(found[order], corners, atol=1e-6)
    assert_same(model, mj, rtol=1e-9)


def test_errors_of_the_compiler(tmp_path):
    """MuJoCo's own words, with the file; URDF is sent to its reader; broken XML has a line."""
    path = write(tmp_path, '<body><joint type="hing"/></body>')
    with pytest.raises(FileError, match="MuJoCo refuses the file") as caught:
        load(path)
    assert str(path) in str(caught.value) and "hing" in str(caught.value)
    path.write_text("<robot/>")
    with pytest.raises(FileError, match="<robot>"):
        load(path)
    path.write_text("<mujoco>\n<worldbody>\n</mujoco>")
    with pytest.raises(FileError, match=r"robot.xml:3: .*<worldbody> of line 2 is still open"):
        load(path)
