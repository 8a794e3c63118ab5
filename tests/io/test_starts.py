"""Where a robot starts: as the file draws it, or in a key frame of it."""

import mujoco
import numpy as np
import pytest

import graftsim as gs

TEXT = """<mujoco><worldbody>
<body name="trunk" pos="1 2 .5" quat=".6 0 .8 0"><freejoint name="root"/>
<geom type="box" size=".1 .2 .3"/>
<body name="leg" pos="0 .1 0"><joint name="hip" axis="0 1 0" ref="0.3"/>
<geom type="capsule" size=".02 .1"/></body></body></worldbody>
<actuator><position joint="hip" kp="9"/></actuator>
<keyframe><key name="home" qpos="0 0 1 1 0 0 0 .7" qvel="0 0 0 0 0 1 2" ctrl=".4"/>
<key qpos="0 0 3 1 0 0 0 0"/></keyframe></mujoco>"""


@pytest.fixture
def path(tmp_path):
    """A free body that does not stand at the origin, a hinge that is drawn at 0.3 rad."""
    path = tmp_path / "robot.xml"
    path.write_text(TEXT)
    return path


def test_P2_a_body_starts_where_it_is_drawn(path, tmp_path):
    """MuJoCo's qpos0; written to a file and read again too."""
    mj = mujoco.MjModel.from_xml_path(str(path))
    simulator = gs.Simulator(gs.load(path))
    np.testing.assert_array_equal(simulator.initial_state().q, mj.qpos0)
    raised = simulator.initial_state({"root.z": 2.0})
    np.testing.assert_array_equal(raised.q, [*mj.qpos0[:2], 2.0, *mj.qpos0[3:]])
    gs.write_mjcf(simulator.model, tmp_path / "again.xml")
    again = gs.load(tmp_path / "again.xml")
    np.testing.assert_array_equal(again.starts.drawn[:7], mj.qpos0[:7])
    np.testing.assert_array_equal(again.keys["drawn"].q, mj.qpos0)


def test_key_frames(path, tmp_path):
    """By name, with velocities and commands; unnamed ones by number; a wrong name."""
    model = gs.load(path)
    assert tuple(model.keys) == ("home", "key1")
    state = gs.Simulator(model).initial_state(key="home")
    np.testing.assert_array_equal(state.q, [0, 0, 1, 1, 0, 0, 0, 0.7])
    np.testing.assert_array_equal(state.qd, [0, 0, 0, 0, 0, 1, 2])
    assert model.keys["home"].u == (0.4,)
    with pytest.raises(gs.ModelError, match=r"'hme'.*Nearest: home"):
        gs.Simulator(model).initial_state(key="hme")
    gs.write_mjcf(model, tmp_path / "again.xml")
    assert gs.load(tmp_path / "again.xml").keys["home"] == model.keys["home"]


def test_models_of_one_file_share_a_program(path):
    """Structures are equal and hash alike, with key frames in them."""
    import jax

    one, two = (jax.tree.structure(gs.load(path)) for _ in range(2))
    assert one == two and hash(one) == hash(two)


REMEMBERING = """<mujoco><worldbody><body><joint name="a" axis="0 1 0"/>
<geom size=".05" mass="1" pos="0 0 -.3"/></body></worldbody><actuator>
<muscle name="m" joint="a" lengthrange="0 1"/>
<pid name="servo" joint="a" kp="3" ki="2" input="pos vel ff"/>
<motor name="t" joint="a"/><position name="late" joint="a" kp="3" timeconst=".5"/></actuator>
<keyframe><key name="home" qpos=".1" ctrl=".1 .2 .3 .4 .5 .6" act=".7 .8 .9"/>
<key name="empty"/></keyframe></mujoco>"""


def test_commands_and_memories_of_key_frames(tmp_path):
    """In the order here, without those of what is left out; in MuJoCo's again where written."""
    path, back = tmp_path / "robot.xml", tmp_path / "back.xml"
    path.write_text(REMEMBERING)
    model = gs.load(path, without=["actuators"])
    key = model.keys["home"]
    assert model.actuator.controls == ("servo", "t", "late", "servo.velocity", "servo.torque")
    assert key.u == (0.2, 0.5, 0.6, 0.3, 0.4) and key.act == (0.9, 0.8)
    np.testing.assert_array_equal(gs.Simulator(model).initial_state(key="home").act, [0.9, 0.8])
    np.testing.assert_array_equal(gs.Simulator(model).initial_state(key="empty").act, [0, 0])
    gs.write_mjcf(model, back, lossy=True)
    mj = mujoco.MjModel.from_xml_path(str(back))
    np.testing.assert_array_equal(mj.key_ctrl[0], [0.2, 0.3, 0.4, 0.5, 0.6])
    np.testing.assert_array_equal(mj.key_act[0], [0.8, 0.9])
    assert gs.load(back).keys["home"] == key
