"""Models as files for other tools: every digit kept, and what a format cannot say is named."""

import equinox as eqx
import mujoco
import numpy as np
import pytest

from graftsim.dynamics import mass_matrix
from graftsim.errors import FileError
from graftsim.io.load import load
from graftsim.io.robot import poses
from graftsim.io.write import write_mjcf, write_urdf
from graftsim.model import Builder
from robot_oracle import assert_same, random_state

SIX = (0.03, 0.04, 0.05, 0.003, -0.002, 0.004)


def turned(*numbers):
    q = np.array(numbers, float)
    return q / np.linalg.norm(q)


def body(k=1.0):
    return {"mass": 1.2 * k, "com": (0.1 / 3, 0.2, -0.1), "inertia": np.array(SIX) * k}


def everything():
    """Every joint type, passive law, shape and actuator."""
    b = Builder("all of it", gravity=(0.1, 0.2, -9.7))
    b.link("base", joint="free", joint_name="root", **body(3))
    b.link("a", "base", axis=(1, 2, 3), origin=(0.1, 0.2, 1 / 3), rotation=turned(1, 2, 3, 4),
           damping=0.1, friction=0.2, armature=0.01, stiffness=3.0, rest=0.4, lower=-1.0, upper=2.0,
           **body())  # fmt: skip
    b.link("p", "a", joint="prismatic", axis=(0, 1, 1), damping=0.3, upper=0.7, **body())
    b.link("tool", "p", joint="fixed", origin=(0, 0, 0.1), rotation=turned(1, 0, 1, 0))
    b.link("s", "base", joint="spherical", origin=(0, 0.3, 0), damping=0.2, stiffness=0.6, **body())
    b.link("pl", "s", joint="planar", axis=(1, 1, 0.2), origin=(0, 0.3, 0), damping=(0.1, 0.2, 0.3),
           rotation=turned(4, 1, 2, 3), armature=(0.0, 0.1, 0.2), **body())  # fmt: skip
    b.link("f", "pl", joint="free", origin=(0.1, 0.2, 0.3), rotation=turned(1, 1, 2, 3), **body())
    b.link("second", joint="revolute", axis=(0, 1, 0), **body())
    b.frame("tip", "tool", (0, 0, 0.2), turned(1, 0.1, 0.2, 0.3)).frame("origin", "world")
    b.geom("sphere", 0.1, "a").geom("capsule", (0.1, 0.3), "p", (1 / 3, 0, 0), turned(1, 2, 0, 0))
    b.geom("box", (0.1, 0.2, 0.3), "s").geom("cylinder", (0.1, 0.2)).geom("plane", ())
    b.geom("ellipsoid", (0.1, 0.2, 0.3), "f")
    corners = [[x, y, z] for x in (0, 1) for y in (0, 2) for z in (0, 3)]
    b.geom("mesh", (), "base", vertices=np.array(corners))
    b.actuator("motor", "a", gear=3, gain=2, control_range=(-1, 2), force_range=(-5, np.inf))
    b.actuator("servo", "p", "position", kp=60, kd=2 / 3, gear=0.5, time_constant=0.05)
    b.actuator("speed", "second", "velocity", kd=4)
    b.actuator("thrust", "root.z").actuator("twist", "s.ry", gear=2).actuator("push", "pl.y")
    b.actuator("lift", "f.z").actuator("spin", "f.rz")
    return b.build()


def test_mjcf_round_trip_of_everything(tmp_path):
    """Mass matrix, bias and passive forces to 1e-10; all numbers of actuators and shapes."""
    model = everything()
    lost = write_mjcf(model, tmp_path / "robot.xml")
    assert lost == []
    back = load(tmp_path / "robot.xml")
    assert (back.nq, back.nv, back.nu) == (model.nq, model.nv, model.nu)
    assert_same(back, model, rtol=1e-10)
    a, b = model.actuator, back.actuator
    assert a.names == b.names and a.kinds == b.kinds and a.dof == b.dof and a.lagged == b.lagged
    for k in ("gear", "kp", "kd", "force_lower", "force_upper", "control_upper", "time_constant"):
        for n in range(a.nu):
            if k in ("kp", "kd") and a.kinds[n] == "torque":
                continue
            assert float(getattr(a, k)[n]) == float(getattr(b, k)[n]), (k, a.names[n])
    for label in ("a", "p", "second"):
        i, k = model.tree.dofs.index(label), back.tree.dofs.index(label)
        for leaf in ("lower", "upper", "damping", "friction", "armature", "stiffness"):
            assert getattr(model.joint, leaf)[i] == getattr(back.joint, leaf)[k], leaf
    assert set(model.geom.names) == set(back.geom.names)
    for n, name in enumerate(model.geom.names):
        k = back.geom.names.index(name)
        assert model.geom.kinds[n] == back.geom.kinds[k]
        if model.geom.kinds[n] not in ("mesh", "plane"):
            np.testing.assert_array_equal(model.geom.size[n], back.geom.size[k])


def test_mjcf_round_trip_poses(tmp_path):
    """Frames are where they were, at a random position."""
    from graftsim.dynamics import frame_pose

    model = everything()
    write_mjcf(model, tmp_path / "robot.xml")
    back = load(tmp_path / "robot.xml")
    q, _ = random_state(model, np.random.default_rng(3))
    for ours, theirs in zip(frame_pose(model, q, "tip"), frame_pose(back, q, "tip"), strict=True):
        np.testing.assert_allclose(theirs, ours, atol=1e-12)


def test_mjcf_simulates_in_mujoco(tmp_path):
    """MuJoCo's own mass matrix of the written file is ours."""
    model = everything()
    write_mjcf(model, tmp_path / "robot.xml")
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    smooth = eqx.tree_at(lambda m: m.joint.friction, model, 0 * model.joint.friction)
    assert_same(smooth, mj, rtol=1e-9)
    data = mujoco.MjData(mj)
    data.qpos[:] = random_state(model, np.random.default_rng(2))[0]
    a = model.actuator
    for k in range(a.nu):
        if a.kinds[k] == "torque":
            data.ctrl[:] = 0
            mujoco.mj_forward(mj, data)
            before = data.qfrc_actuator.copy()
            data.ctrl[k] = 0.5
            mujoco.mj_forward(mj, data)
            expected = np.zeros(model.nv)
            expected[a.dof[k]] = 0.5 * a.gear[k] * a.gain[k]
            np.testing.assert_allclose(data.qfrc_actuator - before, expected, atol=1e-12)


def test_mjcf_chain_of_massless_links_is_one_body(tmp_path):
    """As MuJoCo wants it; turned and shifted joint frames included."""
    b = Builder("chain")
    b.link(
        "x", joint="prismatic", axis=(1, 0, 0), origin=(0.1, 0.2, 0.3), rotation=turned(1, 2, 3, 4)
    )
    b.link(
        "y", "x", axis=(1, 2, 0), origin=(0.4, 0, 0.1), rotation=turned(4, 3, 2, 1), stiffness=2.0
    )
    b.link("z", "y", axis=(0, 1, 0), origin=(0, 0.2, 0.1), rotation=turned(1, 0, 2, 1), **body())
    b.link("end", "z", axis=(0, 0, 1), origin=(0, 0, 1), **body())
    model = b.build()
    assert write_mjcf(model, tmp_path / "r.xml") == []
    text = (tmp_path / "r.xml").read_text()
    assert text.count("<body") == 2
    back = load(tmp_path / "r.xml")
    assert back.tree.joints == ("x", "y", "z", "end") and back.tree.links[2:] == ("z", "end")
    assert_same(back, model, rtol=1e-11)


def test_mjcf_free_spring_and_off_origin(tmp_path):
    """A free joint's spring rests where the body is drawn; one off the origin becomes slides."""
    b = Builder("f")
    rest = [0.1, 0.2, 0.3, *turned(1, 2, 3, 4)]
    b.link("a", joint="free", stiffness=2.0, rest=rest, **body())
    b.link("c", joint="free", origin=(1, 2, 3), rotation=turned(1, 1, 0, 0), **body())
    model = b.build()
    assert write_mjcf(model, tmp_path / "r.xml") == []
    assert_same(load(tmp_path / "r.xml"), model, rtol=1e-10)


def test_mjcf_names_what_it_cannot_say(tmp_path):
    """In the list and in a comment of the file, which stays readable."""
    b = Builder("lossy")
    b.link("a", stribeck=0.5, friction=0.1, friction_velocity=0.3, limit_stiffness=9.0, **body())
    b.link("s", "a", joint="spherical", damping=(1, 2, 3), lower=-1.0, **body())
    b.link("m", "a")
    b.link("k", "m", **body()).link("l", "m", **body())
    b.geom("plane", (), "a", name="wing--tip").actuator("servo", "s.rx", "position", kp=1.0)
    model = b.build()
    lost = write_mjcf(model, tmp_path / "r.xml")
    text = (tmp_path / "r.xml").read_text()
    for words in (
        *("Stribeck", "smoothed over 0.3", "limit stiffness 9", "damping [1. 2. 3.]"),
        *("limits of its axes", "link m: its mass 0 kg", "a plane on a moving link"),
        "actuator servo",
    ):
        assert any(words in s for s in lost), (words, lost)
    assert all(s.replace("--", "- -") in text for s in lost)
    assert_same(load(tmp_path / "r.xml"), model, rtol=1e-9, passive=False)


def test_mjcf_of_fitted_numbers_keeps_every_digit(tmp_path):
    """A third survives as a third; float32 models are written exactly too."""
    b = Builder("digits")
    b.link("a", mass=1 / 3, com=(1 / 7, 0, 0), inertia=(1 / 9, 1 / 8, 1 / 7), damping=1 / 11)
    for dtype in (np.float64, np.float32):
        model = b.build(dtype)
        write_mjcf(model, tmp_path / "r.xml")
        back = load(tmp_path / "r.xml")
        assert float(back.link.mass[0]) == float(model.link.mass[0])
        assert float(back.joint.damping[0]) == float(model.joint.damping[0])
        np.testing.assert_array_equal(back.link.com, np.asarray(model.link.com, float))
        np.testing.assert_allclose(
            back.link.inertia, np.asarray(model.link.inertia, float), rtol=1e-15
        )


def plain():
    """A model that URDF can express in full."""
    b = Builder("plain")
    b.link("base", joint="free", joint_name="root", **body(3))
    b.link("a", "base", axis=turned(1, 2, 3), origin=(0.1, 0.2, 1 / 3), rotation=turned(1, 2, 3, 4),
           damping=0.1, friction=0.2, lower=-1.0, upper=2.0, **body())  # fmt: skip
    b.link("gimbal", "a", axis=(0, 0, 1), rotation=turned(1, 0, 1, 0), **body())
    b.link("p", "gimbal", joint="prismatic", axis=(0, 1, 0), rotation=turned(1, 2, 2, 1), **body())
    b.link("pl", "base", joint="planar", axis=(0, 1, 0), **body())
    b.link("tool", "p", joint="fixed", origin=(0, 0, 0.1), rotation=turned(1, 1, 1, 0))
    b.geom("sphere", 0.1, "a").geom("capsule", (0.1, 0.3), "p").geom("box", (0.1, 0.2, 0.3), "pl")
    b.frame("tip", "tool", (0, 0, 0.2))
    b.actuator("a", "a", force_range=(-7, 7)).actuator("gimbal", "gimbal").actuator("p", "p")
    return b.build()


def test_urdf_round_trip(tmp_path):
    """All of a model that URDF can express comes back, to 1e-12."""
    model = plain()
    assert write_urdf(model, tmp_path / "r.urdf") == []
    back = load(tmp_path / "r.urdf")
    assert back.tree.dofs == model.tree.dofs
    assert_same(back, model, rtol=1e-12)
    assert "tip" in back.tree.links
    assert back.actuator.names == model.actuator.names
    np.testing.assert_array_equal(back.actuator.force_upper, model.actuator.force_upper)
    np.testing.assert_array_equal(back.geom.size, model.geom.size)
    np.testing.assert_array_equal(back.joint.upper, model.joint.upper)


def test_urdf_round_trip_on_the_world(tmp_path):
    """A fixed base hangs on a link 'world'."""
    b = Builder("arm")
    b.link("a", axis=(0, 1, 0), origin=(0, 0, 1), **body()).link("b", "a", axis=(1, 0, 0), **body())
    b.actuator("a", "a").actuator("b", "b")
    b.geom("box", (1, 1, 0.1))
    model = b.build()
    assert write_urdf(model, tmp_path / "r.urdf") == []
    back = load(tmp_path / "r.urdf")
    assert back.geom.link == (-1,)
    assert_same(back, model, rtol=1e-13)


def test_urdf_refuses_what_it_cannot_say(tmp_path):
    """All of it in one message; lossy=True writes the rest and returns the list."""
    path = tmp_path / "r.urdf"
    with pytest.raises(FileError) as caught:
        write_urdf(everything(), path)
    message = str(caught.value)
    for words in (
        *(
            str(path),
            "gravity",
            "joint a: armature 0.01",
            "joint a: stiffness 3",
            "joint s: spherical",
        ),
        *(
            "rest position 0.4",
            "damping [0.1 0.2 0.3]",
            "actuator servo on p",
            "a plane",
            "lossy=True",
        ),
    ):
        assert words in message, (words, message)
    assert not path.exists()
    lost = write_urdf(everything(), path, lossy=True)
    back = load(path)
    assert all(s in message for s in lost)
    q, _ = random_state(back, np.random.default_rng(0))
    M = np.asarray(mass_matrix(back, q)) + np.diag(everything().joint.armature)
    np.testing.assert_allclose(mass_matrix(everything(), q), M, rtol=1e-12, atol=1e-13)


def test_assets_through_both_writers(assets_dir, tmp_path):
    """Robot files survive a trip through each format."""
    for path in sorted(assets_dir.glob("*/*.urdf")):
        model = load(path)
        write_mjcf(model, tmp_path / "r.xml")
        assert_same(load(tmp_path / "r.xml"), model, rtol=1e-9, states=1)
        write_urdf(model, tmp_path / "r.urdf")
        assert_same(load(tmp_path / "r.urdf"), model, rtol=1e-12, states=1)


@pytest.mark.parametrize("pitch", [0.0, 1.2, np.pi / 2, np.pi / 2 - 1e-9, -np.pi / 2, 1e-5])
def test_roll_pitch_yaw_and_quaternions(pitch):
    """There and back to rounding, also where roll and yaw are not separately defined."""
    for roll, yaw in ((0.3, -2.0), (0.0, np.pi), (3.0, 1e-9)):
        q = poses.quaternion_from_rpy(np.array([roll, pitch, yaw]))
        R = poses.matrix(q)
        np.testing.assert_allclose(poses.matrix(poses.quaternion(R)), R, atol=1e-15)
        again = poses.quaternion_from_rpy(poses.rpy(q))
        np.testing.assert_allclose(poses.matrix(again), R, atol=4e-16)


@pytest.mark.parametrize(("first", "bodies"), [("prismatic", 1), ("planar", 2)])
def test_mjcf_hinges_before_a_ball(tmp_path, first, bodies):
    """A massless gimbal that carries a spherical joint is one body, up to MuJoCo's six freedoms."""
    b = Builder("gimbal")
    b.link("x", joint=first, axis=(1, 0, 0), rotation=turned(1, 2, 3, 4))
    b.link("y", "x", axis=(1, 2, 0), origin=(0.4, 0, 0.1), rotation=turned(4, 3, 2, 1))
    b.link("z", "y", joint="spherical", origin=(0, 0.2, 0.1), rotation=turned(1, 0, 2, 1), **body())
    model = b.build()
    lost = write_mjcf(model, tmp_path / "r.xml")
    assert bool(lost) == (bodies == 2)
    assert (tmp_path / "r.xml").read_text().count("<body") == bodies
    assert_same(load(tmp_path / "r.xml"), model, rtol=1e-9)
