"""Configurations for Isaac Lab and mjlab are Python that their classes take."""

import ast
import re
import sys
from dataclasses import field, make_dataclass
from types import ModuleType

import pytest
from fits import ROWS, fitted

import graftsim as gs
from graftsim.errors import FileError, ProblemError
from graftsim.export.export import form_of
from graftsim.export.fitted import Fitted
from graftsim.export.format import Logs

# Fields of the classes of Isaac Lab 2.3 (isaaclab.actuators); None: a default, MISSING: none.
BASE = ("class_type", "joint_names_expr", "effort_limit", "velocity_limit", "effort_limit_sim",
        "velocity_limit_sim", "stiffness", "damping", "armature", "friction", "dynamic_friction",
        "viscous_friction")  # fmt: skip
NEEDED = ("joint_names_expr", "stiffness", "damping")
# Fields of mjlab 1.6 (mjlab.actuator).
MJ = {"armature": None, "frictionloss": None, "viscous_damping": None, "delay_min_lag": 0,
      "delay_max_lag": 0, "delay_hold_prob": 0.0, "delay_update_period": 0,
      "delay_per_env_phase": True, "transmission_type": "joint", "effort_limit": None}  # fmt: skip


def stand_in(name, needed, defaults):
    """A dataclass with exactly these fields."""
    fields = [(k, object) for k in needed]
    fields += [(k, object, field(default=v)) for k, v in defaults.items()]
    return make_dataclass(name, fields, kw_only=True)


def isaaclab():
    base = dict.fromkeys(k for k in BASE if k not in NEEDED)
    more = {"IdealPDActuatorCfg": {}, "DelayedPDActuatorCfg": {"min_delay": 0, "max_delay": 0}}
    kinds = {k: stand_in(k, NEEDED, base | v) for k, v in more.items()}
    return kinds | {"DCMotorCfg": stand_in("DCMotorCfg", (*NEEDED, "saturation_effort"), base)}


def mjlab():
    needed = ("target_names_expr", "stiffness", "damping")
    motor = (*needed, "saturation_effort", "velocity_limit")
    return {
        "BuiltinPositionActuatorCfg": stand_in("BuiltinPositionActuatorCfg", needed, MJ),
        "DcMotorActuatorCfg": stand_in("DcMotorActuatorCfg", motor, MJ),
    }


def made(form, tmp_path, monkeypatch, dt=0.002, fit=None):
    """What a written module defines, run with stand-ins, and the sentences beside it."""
    path = tmp_path / "actuators.py"
    said = form_of(form).write(fit or fitted(), path, dt, Logs())
    text = path.read_text(encoding="utf-8")
    ast.parse(text)
    package, kinds = {"isaac": ("isaaclab", isaaclab), "mjlab": ("mjlab", mjlab)}[form]
    below = {"isaac": "actuators", "mjlab": "actuator"}[form]
    for name in (package, f"{package}.{below}"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    vars(sys.modules[f"{package}.{below}"]).update(kinds())
    found = {}
    exec(compile(text, str(path), "exec"), found)
    return found, said, text


def of_joint(numbers, joint):
    """The number by the regular expression that matches a joint, as the program finds it."""
    (value,) = [v for k, v in numbers.items() if re.fullmatch(k, joint)]
    return value


def test_isaac_takes_what_the_fit_found(tmp_path, monkeypatch):
    """Gains at the joint, frictions, limits, delays in steps of 2 ms."""
    found, _, _ = made("isaac", tmp_path, monkeypatch)
    groups = found["ACTUATORS"].values()
    (hip,) = [g for g in groups if "hip_joint" in g.joint_names_expr]
    assert type(hip).__name__ == "DelayedPDActuatorCfg"
    assert (hip.min_delay, hip.max_delay) == (2, 4)
    assert of_joint(hip.stiffness, "hip_joint") == 40.0
    assert of_joint(hip.friction, "hip_joint") == 0.25
    assert of_joint(hip.dynamic_friction, "hip_joint") == 0.2
    assert of_joint(hip.effort_limit, "hip_joint") == 16.0 and hip.velocity_limit is None
    (knee,) = [g for g in groups if "knee_joint" in g.joint_names_expr]
    assert type(knee).__name__ == "DCMotorCfg" and knee.saturation_effort == 20.0
    assert knee.velocity_limit == {"knee_joint": 15.0} and knee.effort_limit == {"knee_joint": 12.0}
    # Motors whose efforts at rest differ are groups of their own; the torque motor has no gains.
    (ankle,) = [g for g in groups if "ankle_joint" in g.joint_names_expr]
    assert ankle.saturation_effort == pytest.approx(1.5 * 12 * 0.8 / 4)
    (toe,) = [g for g in groups if "toe_joint" in g.joint_names_expr]
    assert type(toe).__name__ == "IdealPDActuatorCfg" and toe.stiffness == {"toe_joint": 0.0}


def test_mjlab_takes_the_same(tmp_path, monkeypatch):
    """An object a joint; the delay is drawn once an episode."""
    found, said, _ = made("mjlab", tmp_path, monkeypatch)
    hip, knee, ankle, toe = found["ACTUATORS"]
    assert type(hip).__name__ == "BuiltinPositionActuatorCfg"
    assert (hip.stiffness, hip.damping, hip.frictionloss) == (40.0, 2.0, 0.2)
    assert (hip.delay_min_lag, hip.delay_max_lag, hip.effort_limit) == (2, 4, 16.0)
    assert (knee.saturation_effort, knee.velocity_limit, knee.effort_limit) == (20.0, 15.0, 12.0)
    assert ankle.velocity_limit == pytest.approx(12 * 0.8 / 1.5, rel=1e-5)
    assert toe.stiffness == 0.0 and toe.viscous_damping == 0.1
    assert any("breakaway" in x for x in said)


@pytest.mark.parametrize("form", ["isaac", "mjlab"])
def test_ranges_stand_beside_with_their_reasons(form, tmp_path, monkeypatch):
    """By quantity and joint, and a comment where the log does not tell a number."""
    found, _, text = made(form, tmp_path, monkeypatch)
    armature = found["RANGES"]["armature"]
    assert armature["hip_joint"] == pytest.approx((0.006, 0.014))
    assert armature["ankle_joint"] == (0.001, 0.05)
    assert found["RANGES"]["delay_seconds"]["hip_joint"] == pytest.approx((0.005, 0.007))
    assert found["ENCODER_ZERO"]["hip_joint"] == 0.01
    assert re.search(r'"ankle_joint": \(0\.001, 0\.05\),  # .*does not tell it', text)


@pytest.mark.parametrize("form", ["isaac", "mjlab"])
def test_names_that_would_break_the_text_are_escaped(form, tmp_path, monkeypatch):
    """Quotes, brackets, line breaks, braces in names of robot, joint and command."""
    b = gs.Builder('a"""\nb')
    odd = 'j"1[x] \\ {y}'
    b.link("l", joint_name=odd, axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.actuator("m", odd, "position", kp=1.0)
    fit = Fitted(b.build(), ROWS[:0], 'graftsim fit """ \\')
    found, _, _ = made(form, tmp_path, monkeypatch, fit=fit)
    (name,) = found["ENCODER_ZERO"]
    assert re.fullmatch(name, odd)


def test_a_robot_without_servos_is_an_error(tmp_path):
    """That says why each actuator is none."""
    b = gs.Builder("free")
    b.link("l", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    for form in ("isaac", "mjlab"):
        with pytest.raises(FileError, match="no servo"):
            form_of(form).write(Fitted(b.build(), ()), tmp_path / "x.py", 0.005, Logs())
    with pytest.raises(ProblemError, match=r"no export 'isac'.*isaac"):
        form_of("isac")


def test_networks_of_a_fit_are_said_to_be_missing(tmp_path, monkeypatch):
    """By name, whatever the format."""
    fit = Fitted(fitted().model, (), grafts=("friction",))
    monkeypatch.setattr(Fitted, "read", classmethod(lambda cls, folder: fit))
    for form in ("isaac", "urdf"):
        done = gs.export(tmp_path, form, tmp_path / "x")
        assert done.notes[0] == "The networks of this fit are not in it: friction."


def test_a_delay_and_a_line_of_speed_are_not_both_said_in_isaac(tmp_path, monkeypatch):
    """The sentence names the actuator and the line."""
    b = gs.Builder("both")
    b.link("l", joint_name="j", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.actuator("m", "j", "position", kp=1.0, delay=0.004, stall_force=2.0, no_load_speed=9.0)
    found, said, text = made("isaac", tmp_path, monkeypatch, fit=Fitted(b.build(), ()))
    assert type(found["ACTUATORS"]["servos_0"]).__name__ == "DelayedPDActuatorCfg"
    assert any("m: has a delay" in x for x in said) and "m: has a delay" in text
