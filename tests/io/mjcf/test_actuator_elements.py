"""Actuator elements and fixed tendons of MuJoCo: read, they move a mechanism as MuJoCo does."""

import mujoco
import numpy as np
import pytest

import graftsim as gs
import zoo

DT = 1e-3
BODY = """<mujoco><option timestep="0.001" integrator="Euler" gravity="0 0 0">
<flag eulerdamp="disable"/></option>
<worldbody><body><joint name="a" axis="0 1 0" armature="0.02" ref="0.2"/>
<geom size="0.05" mass="0.5" pos="0 0 -0.2"/>
<body pos="0 0 -0.4"><joint name="b" axis="0 1 0" damping="0.1"/>
<geom size="0.04" mass="0.3" pos="0 0 -0.15"/></body></body></worldbody>{tendon}
<actuator>{actuator}</actuator></mujoco>"""
TENDON = """<tendon><fixed name="t" stiffness="3" damping="0.2" springlength="-0.1 0.2">
<joint joint="a" coef="2"/><joint joint="b" coef="-0.7"/></fixed></tendon>"""
SERVO = 'joint="a" kp="9" kv="0.5" gear="1.3"'
# Elements, and the order of the controls here in MuJoCo's.
ELEMENTS = {
    "motor": ('<motor joint="a" gear="0.4"/>', [0]),
    "position": (f"<position {SERVO}/>", [0]),
    "zero": ('<general joint="a" gainprm="9" biastype="affine" biasprm="1.8 -9 -0.5"/>', [0]),
    "delay": (f'<position {SERVO} delay="0.007" nsample="7"/>', [0]),
    "delay and lag": (f'<position {SERVO} delay="0.003" nsample="9" timeconst="0.02"/>', [0]),
    "pid": (f'<pid {SERVO} ki="30" imax="5"/>', [0, 1]),
    "pid with feedforward": (f'<pid {SERVO} ki="4" input="pos vel ff"/>', [0, 1, 2]),
    "pd with two": (f'<pid {SERVO} input="pos ff"/><motor joint="b" gear="0.3"/>', [0, 2, 1]),
    "dc motor": ('<dcmotor joint="b" resistance="2" motorconst="0.3" gear="2"/>', [0]),
    "dc motor, saturated": (
        '<dcmotor joint="b" resistance="2" motorconst="0.3" saturation="0.05 0 0"/>', [0],
    ),
    "dc servo": (
        '<dcmotor joint="a" resistance="2" motorconst="0.3" input="pos vel ff" '
        'controller="7 5 0.4 0 0 0"/>', [0, 1, 2],
    ),
    "on a tendon": ('<position tendon="t" kp="4" kv="0.3" gear="0.8"/>', [0]),
}  # fmt: skip


def steps(tmp_path, text):
    """Positions [t, 2] of MuJoCo and of the model read from the same file, and that model."""
    path = tmp_path / "robot.xml"
    path.write_text(text)
    mj = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(mj)
    rng = np.random.default_rng(5)
    u = 0.5 * np.repeat(rng.uniform(-1, 1, (40, mj.nu)), 5, 0)
    # MuJoCo's history begins with zeros.
    u[:10] = 0.0
    data.qpos[:], data.qvel[:] = (0.3, -0.4), (0.5, 1.0)
    start, theirs = (data.qpos.copy(), data.qvel.copy()), [data.qpos.copy()]
    for row in u:
        data.ctrl[:] = row
        mujoco.mj_step(mj, data)
        theirs.append(data.qpos.copy())
    return gs.load(path), start, u, np.array(theirs)


@pytest.mark.parametrize("name", ELEMENTS)
def test_moves_as_mujoco_does(tmp_path, name):
    """200 steps of semi-implicit Euler under random steps of the commands, to rounding."""
    actuator, order = ELEMENTS[name]
    model, start, u, theirs = steps(tmp_path, BODY.format(tendon=TENDON, actuator=actuator))
    simulator = gs.Simulator(model, DT)
    ours = zoo.jit(lambda s, u: simulator.rollout(s, u, backend="xla").q)(
        simulator.initial_state(*start), u[:, order]
    )
    np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ELEMENTS)
def test_written_and_read_back(tmp_path, name):
    """Nothing of an element is lost, in MJCF's own words."""
    actuator, _ = ELEMENTS[name]
    path = tmp_path / "robot.xml"
    path.write_text(BODY.format(tendon=TENDON, actuator=actuator))
    model = gs.load(path)
    lost = gs.write_mjcf(model, tmp_path / "back.xml")
    back = gs.load(tmp_path / "back.xml")
    assert not [x for x in lost if "actuator" in x or "tendon" in x]
    a, b = model.actuator, back.actuator
    assert (a.kinds, a.inputs, a.dof, a.tendon) == (b.kinds, b.inputs, b.dof, b.tendon)
    for family in ("actuator", "tendon"):
        for field, info in type(getattr(model, family)).__dataclass_fields__.items():
            if not info.metadata.get("static") and field not in ("own", "rounding"):
                x, y = (np.asarray(getattr(getattr(m, family), field)) for m in (model, back))
                np.testing.assert_allclose(x, y, rtol=1e-12, err_msg=f"{family}.{field}")


REFUSED = {
    '<pid joint="a" kp="1" slewmax="3"/>': "actuator 'actuator0': its law",
    '<pid joint="a" kv="1" input="vel"/>': "its law .gainprm",
    '<dcmotor joint="a" resistance="2" motorconst="0.3" inductance="0.1 0"/>': "its law .gainprm",
    '<dcmotor joint="a" resistance="2" motorconst="0.3" cogging="0.1 6 0"/>': "its law .gainprm",
    '<dcmotor joint="a" resistance="2" motorconst="0.3" lugre="1 2 3 4 5"/>': "its law .gainprm",
    '<dcmotor joint="a" resistance="2" motorconst="0.3" input="pos" controller="1 0 0 0 0 9"/>':
        "its law .gainprm",
    '<position joint="a" kp="4" delay="0.01" nsample="5" interp="linear"/>': "interpolation",
}  # fmt: skip


@pytest.mark.parametrize("element", REFUSED)
def test_what_has_no_counterpart_is_refused(tmp_path, element):
    """By name, with what is accepted."""
    path = tmp_path / "robot.xml"
    path.write_text(BODY.format(tendon="", actuator=element))
    with pytest.raises(gs.FileError, match=f"(?s){REFUSED[element]}.*Accepted"):
        gs.load(path)
