"""Limits of what actuators exert on a joint together, and forces that a file's flags switch off."""

import mujoco
import numpy as np
import pytest

import graftsim as gs

ARM = """<mujoco><option timestep="0.001" integrator="Euler" {option}>
<flag eulerdamp="disable" {flag}/></option>
<worldbody><body pos="0 0 1" euler="10 20 30"><joint name="a" axis="0 1 0" {a}/>
<geom size="0.05" mass="0.5" pos="0 0 -0.2"/><site name="upper" pos=".1 .2 .3"/>
<body name="lower" pos="0 0 -0.4" {lower}><joint name="b" axis="1 1 0" damping="0.1" {b}/>
<geom size="0.04" mass="0.3" pos="0.02 0 -0.15"/></body></body></worldbody>
<tendon><fixed name="t" damping="2" stiffness="3"><joint joint="a" coef="2"/></fixed></tendon>
<actuator>{actuator}</actuator></mujoco>"""
EMPTY = dict.fromkeys(("option", "flag", "a", "b", "lower", "actuator"), "")
RANGE = 'actuatorfrcrange="-0.2 0.2"'
CARRIED = {"lower": 'gravcomp="0.7"', "b": 'actuatorgravcomp="true"'}


def both(tmp_path, without=None, **parts):
    """MuJoCo's model of the arm and ours."""
    path = tmp_path / "arm.xml"
    path.write_text(ARM.format(**(EMPTY | parts)))
    return mujoco.MjModel.from_xml_path(str(path)), gs.load(path, without=without)


def rates(mj, model, act_on=1.0):
    """Velocities [2] after a step from a random state under random commands: MuJoCo's, ours."""
    rng, data = np.random.default_rng(4), mujoco.MjData(mj)
    q, qd, u = rng.normal(size=2), rng.normal(size=2), act_on * rng.normal(size=mj.nu)
    data.qpos[:], data.qvel[:], data.ctrl[:] = q, qd, u
    mujoco.mj_step(mj, data)
    simulator = gs.Simulator(model, 0.001)
    return data.qvel, np.asarray(simulator.step(simulator.initial_state(q, qd), u).qd)


SUMS = {
    "tendon": {"a": RANGE, "actuator": '<motor name="pull" tendon="t"/>'},
    "site": {"a": RANGE, "actuator": '<motor name="pull" site="upper" gear="1 2 3 0 1 0"/>'},
    "two": {
        "a": RANGE, "actuator": '<motor name="pull" joint="a"/><motor name="more" joint="a"/>',
    },
}  # fmt: skip


@pytest.mark.parametrize("case", SUMS)
def test_a_limit_of_a_sum_is_refused(tmp_path, case):
    """By the names of the joint and of what pulls on it; without it, as MuJoCo without it."""
    with pytest.raises(gs.FileError, match=r"(?s)joint 'a'.*'pull'.*--without actuators"):
        both(tmp_path, **SUMS[case])
    _, model = both(tmp_path, ["actuators"], **SUMS[case])
    assert any("actuatorfrcrange of joint 'a'" in x for x in model.caveats)
    unlimited, _ = both(tmp_path, **(SUMS[case] | {"a": ""}))
    np.testing.assert_allclose(*rates(unlimited, model), rtol=1e-9, atol=1e-12)


def test_a_site_below_the_joint_alone_counts(tmp_path):
    """A pull between two places that the joint moves together does not move it."""
    actuator = '<motor joint="a" gear="3"/><motor site="lower" refsite="upper" gear="1 2 3 0 0 0"/>'
    text = ARM.replace('mass="0.3" pos="0.02 0 -0.15"/>', 'mass="0.3"/><site name="lower"/>')
    path = tmp_path / "arm.xml"
    path.write_text(text.format(**(EMPTY | {"a": RANGE, "actuator": actuator})))
    model = gs.load(path)
    np.testing.assert_allclose(model.actuator.force_upper[0], 0.2 / 3)
    np.testing.assert_allclose(*rates(mujoco.MjModel.from_xml_path(str(path)), model), rtol=1e-9)


def test_gravity_compensation_by_actuators(tmp_path):
    """Read where it acts as that of bodies does; refused where it is limited or has no actuator."""
    motor = {"actuator": '<motor joint="a"/>'}
    np.testing.assert_allclose(*rates(*both(tmp_path, **CARRIED, **motor)), rtol=1e-9)
    limited = CARRIED | {"b": CARRIED["b"] + RANGE}
    with pytest.raises(gs.FileError, match="range of joint 'b' over gravity compensation"):
        both(tmp_path, **limited, **motor)
    with pytest.raises(gs.FileError, match=r"\(actuatorgravcomp\) of joint 'b', which"):
        both(tmp_path, **CARRIED)
    off = {"flag": 'actuation="disable"'}
    with pytest.raises(gs.FileError, match=r"\(actuatorgravcomp\) of joint 'b', which"):
        both(tmp_path, **CARRIED, **motor, **off)
    still = {"flag": 'gravity="disable"'}
    np.testing.assert_allclose(*rates(*both(tmp_path, **CARRIED, **still)), rtol=1e-9)


FLUID = {"option": 'density="900" viscosity="3"', "lower": 'gravcomp="0.7"'}


@pytest.mark.parametrize("flag", ["", "damper", "spring", "damper spring"])
def test_switched_off_passive_forces(tmp_path, flag):
    """Damping of actuators on tendons goes with the dampers; fluid and lift with both switches."""
    flags = " ".join(f'{x}="disable"' for x in flag.split())
    pull = {"actuator": '<motor tendon="t" damping="0.5"/>', "flag": flags}
    mj, model = both(tmp_path, **FLUID, **pull)
    np.testing.assert_allclose(*rates(mj, model), rtol=1e-9)
    said = any("no passive forces" in note for note in model.notes)
    assert said == (flag == "damper spring")
