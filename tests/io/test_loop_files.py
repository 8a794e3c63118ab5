"""Equalities of MJCF and mimic joints of URDF: read with their meaning, written back, or named."""

import re

import mujoco
import numpy as np
import pytest

import closed_mechanisms as closed
import graftsim as gs
from graftsim.errors import FileError
from graftsim.io.load import load
from graftsim.io.write import write_mjcf, write_urdf
from graftsim.model import Builder

TWO = """
<mujoco>
  <compiler angle="radian"/>
  <option><flag equality="{flag}"/></option>
  <worldbody>
    <body name="a"><joint name="a" axis="0 1 0" pos="0.1 0 0"/><geom size="0.1" mass="1"/>
      <site name="tip" pos="0.3 0 0" euler="0 0 0.5"/></body>
    <body name="b" pos="1 0 0"><joint name="b" axis="0 1 0"/><geom size="0.1" mass="1"/>
      <site name="eye" pos="0 0 0.2"/></body>
  </worldbody>
  <tendon><fixed name="t"><joint joint="a" coef="2"/><joint joint="b" coef="1"/></fixed></tendon>
  <equality>{equality}</equality>
</mujoco>
"""


def read(folder, equality, flag="enable"):
    path = folder / "two.xml"
    path.write_text(TWO.format(equality=equality, flag=flag))
    return load(path)


def test_points_are_taken_from_the_joints_anchor(tmp_path):
    """A link's frame is its joint's, so a body's point moves by the anchor of its joint."""
    model = read(tmp_path, '<connect name="c" body1="a" body2="b" anchor="0.4 0 0"/>')
    assert model.loop.names == ("c",)
    assert model.loop.links == ((0, 1),)
    assert np.asarray(model.loop.anchor[0]) == pytest.approx([0.3, 0, 0])
    # MuJoCo takes the drawn pose for closed.
    assert np.asarray(model.loop.opposite[0]) == pytest.approx([-0.6, 0, 0])
    assert any("equalities are soft" in note for note in model.notes)


def test_loops_between_sites_take_their_places(tmp_path):
    """Position and, of a weld, orientation."""
    model = read(tmp_path, '<weld site1="tip" site2="eye"/>')
    assert model.loop.names == ("equality0",)
    assert np.asarray(model.loop.anchor[0]) == pytest.approx([0.2, 0, 0])
    assert np.asarray(model.loop.opposite[0]) == pytest.approx([0, 0, 0.2])
    half = [np.cos(0.25), 0, 0, np.sin(0.25)]
    assert np.asarray(model.loop.rotation[0]) == pytest.approx(half)


def test_one_joint_or_tendon_alone_is_held(tmp_path):
    """At its zero and the constant of its polynomial."""
    equality = (
        '<joint joint1="a" polycoef="0.2 5 0 0 0"/><tendon tendon1="t" polycoef="0.1 0 0 0 0"/>'
    )
    model = read(tmp_path, equality)
    s = gs.Simulator(model)
    q = s.assemble(s.initial_state()).q
    assert np.asarray(q) == pytest.approx([0.2, 0.1 - 0.4], abs=1e-9)


@pytest.mark.parametrize(
    ("active", "flag", "said"),
    [
        ("false", "enable", "not active at the start"),
        ("true", "disable", "switches equalities off"),
    ],
)
def test_what_is_off_is_a_note(tmp_path, active, flag, said):
    """It holds nothing."""
    model = read(tmp_path, f'<joint name="j" joint1="a" joint2="b" active="{active}"/>', flag)
    assert not model.closed
    assert any(said in note and "j" in note for note in model.notes)


@pytest.mark.parametrize("name", closed.MJCF)
def test_written_mjcf_is_closed_where_the_model_is(name, tmp_path):
    """Read back it has the same loops, and MuJoCo finds its states closed and its own not."""
    model = closed.load(closed.MJCF[name], tmp_path, name)
    lost = write_mjcf(model, tmp_path / "written.xml", lossy=True)
    assert not any("loop" in x or "coupling" in x for x in lost)
    again = load(tmp_path / "written.xml")
    assert again.loop.links == model.loop.links
    for key in ("anchor", "opposite", "rotation"):
        a, b = (np.asarray(getattr(m.loop, key)) for m in (model, again))
        assert np.abs(a - b).max(initial=0) < 1e-12, key
    x = np.linspace(-1, 1, 7)[:, None]
    for a, b in zip(curves(model, x).T, curves(again, x).T, strict=True):
        assert a == pytest.approx(b, abs=1e-12)
    s = gs.Simulator(model)
    state = closed.random_assembled(s, 1)
    mj = mujoco.MjModel.from_xml_path(str(tmp_path / "written.xml"))
    data = mujoco.MjData(mj)
    data.qpos[:] = np.asarray(state.q)
    mujoco.mj_forward(mj, data)
    assert data.ne == len(gs.model.loops.row_labels(model.loop, model.coupling))
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-9
    data.qpos[: mj.nq] += 0.05
    mujoco.mj_forward(mj, data)
    assert np.abs(data.efc_pos[: data.ne]).max() > 1e-4


def curves(model, x):
    """First displacement of each coupling by the second."""
    c = model.coupling
    t = x - np.asarray(c.reference)
    powers = [np.asarray(getattr(c, k)) for k in gs.model.loops.POWERS]
    return sum(p * t**k for k, p in enumerate(powers))


def test_mimic_joints_of_urdf_come_back(tmp_path):
    """Ratio, offset and the motor that the follower has not."""
    model = closed.load(closed.GRIPPER, tmp_path)
    assert write_urdf(model, tmp_path / "written.urdf") == []
    again = load(tmp_path / "written.urdf")
    assert again.coupling.dofs == model.coupling.dofs == ((1, 0),)
    assert float(again.coupling.ratio[0]) == -12.5
    assert float(again.coupling.offset[0]) == 0.1
    assert again.actuator.names == ("left",)


def test_what_urdf_cannot_say_is_named(tmp_path):
    """Loops, curves, and couplings of tendons."""
    b = Builder("all")
    for name in "abc":
        b.link(name, mass=1.0, com=(0.1, 0, 0), inertia=0.1)
        b.actuator(name, name)
    b.tendon("t", {"a": 1.0})
    b.loop("pin", "a", "b").couple("bent", "a", "b", quadratic=1.0).couple("still", "c")
    b.couple("pull", "t", tendons=True)
    lost = " ".join(write_urdf(b.build(), tmp_path / "robot.urdf", lossy=True))
    for said in (
        "loop pin",
        "bent: it is not linear",
        "still: it follows no",
        "pull: it is of ten",
    ):
        assert said in lost


@pytest.mark.parametrize(
    ("said", "change"),
    {
        "Nearest: a": lambda b: b.loop("x", "aa", "b"),
        "is declared twice": lambda b: b.loop("x", "a", "b").couple("x", "a", "b"),
        "kind 'conect'. Nearest: connect": lambda b: b.loop("x", "a", "b", "conect"),
        "no degree of freedom named 'd'": lambda b: b.couple("x", "a", "d"),
        "no tendon named 'a'": lambda b: b.couple("x", "a", tendons=True),
        "couples 'a' to itself": lambda b: b.couple("x", "a", "a"),
        "no number 'slope'": lambda b: b.couple("x", "a", "b", slope=2.0),
        "ratio must be 1 finite": lambda b: b.couple("x", "a", "b", ratio=np.inf),
        "spherical joint": lambda b: b.couple("x", "a", "s.rx"),
    }.items(),
)
def test_wrong_loops_are_refused(said, change):
    """By name, with the nearest."""
    b = Builder("two")
    for name in "ab":
        b.link(name, mass=1.0, com=(0.1, 0, 0), inertia=0.1)
    b.link("s", joint="spherical", mass=1.0, inertia=0.1)
    with pytest.raises(gs.ModelError, match=re.escape(said)):
        change(b)
        b.build()


def test_a_loop_of_a_flexible_body_is_refused(tmp_path):
    """With what is accepted."""
    with pytest.raises(FileError, match="flex"):
        path = tmp_path / "flex.xml"
        path.write_text(
            '<mujoco><worldbody><flexcomp type="grid" count="3 3 1" spacing=".1 .1 .1" mass="1" '
            'name="cloth" dim="2" radius="0.01"><edge equality="true"/></flexcomp></worldbody>'
            "</mujoco>"
        )
        load(path)
