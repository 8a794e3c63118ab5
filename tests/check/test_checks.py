"""Each check finds what is put into a log, with its number, and nothing in a right one."""

import shlex
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from faults import FAULTS
from swings import changed, clock, found, motion, pendulum, recording, swing, torque

import graftsim as gs
from graftsim.check import CHECKS, Robot, grouped
from graftsim.check.finding import joined, line
from graftsim.cli.check_options import parse_check
from graftsim.cli.fit_options import parse_fit
from graftsim.cli.inputs import corrections_from
from graftsim.recordings.corrections import corrected


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_found_with_its_number(name):
    """Level, channel and number are those of what is wrong."""
    fault = FAULTS[name]
    seen = [f for f in found(fault.robot, fault.recordings, fault.check) if f.level == fault.level]
    assert [f.channel for f in seen][:1] == [fault.channel], seen
    assert seen[0].number == pytest.approx(fault.number, rel=fault.rel, abs=fault.rel)
    assert seen[0].what and seen[0].remedy.startswith("--")


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_alone(name):
    """What one check finds is no error of another."""
    fault = FAULTS[name]
    others = [f for f in gs.check(fault.robot, fault.recordings) if f.check != fault.check]
    assert not [f for f in others if f.level == "error"]


@pytest.mark.parametrize("name", FAULTS)
def test_remedy_is_an_option_of_fit(name):
    """Every remedy parses as flags of `fit`, and those on recordings as flags of `check`."""
    fault = FAULTS[name]
    for f in found(fault.robot, fault.recordings, fault.check):
        options, _ = parse_fit(["robot.urdf", "log.csv", *shlex.split(f.remedy)])
        assert options.logs == ("log.csv",)


@pytest.mark.parametrize("name", [n for n, f in FAULTS.items() if f.mends])
def test_remedy_mends(name):
    """With the recordings corrected as the remedies say, the finding is gone."""
    fault = FAULTS[name]
    remedy = joined([f.remedy for f in found(fault.robot, fault.recordings, fault.check)])
    options, _ = parse_check(["robot.urdf", "log.csv", *shlex.split(remedy)])
    mended = corrected(fault.recordings, corrections_from(options.data))
    left = [f for f in found(fault.robot, mended, fault.check) if f.level == fault.level]
    assert not left


def test_feed_forward_of_gravity_is_no_fault():
    """A controller's compensation beside the servo, and one with another gain than the file's."""
    t = clock()
    q, qd, qdd = motion(t)
    gravity = torque(q, 0 * q, 0 * q)
    u = q + (torque(q, qd, qdd) - gravity + qd) / 30
    error = recording(t, **{"q": q, "u": u, "control[a.torque]": 10 * (u - q)})
    for log in (recording(t, **{"q": q, "u": u, "control[a.torque]": gravity}), error):
        assert not found(pendulum("position"), [log], "feed-forward")


def test_further_inputs_of_a_servo_are_names_of_its_own():
    """A feed-forward torque or a gain that changes is no command of an unknown actuator."""
    log = changed(swing(), tau=None, u=motion(clock())[0])
    for name, errors in (("control[a.torque]", 0), ("control[a.kp]", 0), ("control[a.volt]", 1)):
        beside = log.with_channel(replace(log["control[a]"], name=name))
        seen = found(pendulum("position"), [beside], "names")
        assert sum(f.level == "error" for f in seen) == errors


def test_every_check_has_a_fault():
    """The list of faults is complete."""
    assert {f.check for f in FAULTS.values()} == {c.name for c in CHECKS}
    assert len(CHECKS) == 16


@pytest.mark.parametrize("kind", ["torque", None])
def test_right_log(kind):
    """A clean swing has no finding of any check."""
    log = swing() if kind else changed(swing(), tau=None)
    assert gs.check(Robot(pendulum(kind), 0.005), log) == []


def test_right_servo_log():
    """Nor has a servo's, with its command a little ahead of the motion."""
    t = clock()
    log = changed(swing(), tau=None, u=motion(t + 0.02)[0])
    assert gs.check(Robot(pendulum("position"), 0.005), [log]) == []


@pytest.mark.parametrize("noise", [1e-5, 1e-3])
@pytest.mark.parametrize("dt", [0.001, 0.01])
def test_scale_and_zero_of_right_torques(noise, dt):
    """Over rates and noise, the effort of a right log is a torque without a zero's offset."""
    log = swing(noise=noise, dt=dt)
    assert not found(pendulum(), log, "effort")
    assert not found(pendulum(), log, "zero")


def test_current_is_no_finding_when_it_is_said():
    """With `--effort current` the scale of effort is no news."""
    log = changed(swing(), tau=5 * torque(*motion(clock())))
    assert found(pendulum(), log, "effort")
    assert not found(Robot(pendulum(), effort="current"), log, "effort")


def test_effort_of_a_robot_that_floats_is_not_judged():
    """Without the base's motion there is no inverse dynamics; the base itself is named."""
    b = gs.Builder("drone")
    b.link("trunk", "world", joint_name="root", joint="free", mass=1.0, inertia=0.1)
    b.link("rod", "trunk", joint_name="j", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.actuator("a", "j")
    findings = gs.check(b.build(), changed(swing(), tau=5 * torque(*motion(clock()))))
    assert [(f.check, f.level) for f in findings] == [("names", "warning")]
    assert findings[0].remedy == "--base fixed"


def test_a_loaded_joint_that_friction_holds_is_no_zero():
    """A joint that comes to rest where the file's friction can hold it says nothing of its zero."""
    t = clock()
    log = recording(t, q=np.exp(-t) * np.sin(6 * t) + 0.2)
    gravity = 9.81 * 0.4 * np.sin(0.2)
    assert found(pendulum(None), log, "zero")
    assert not found(pendulum(None, friction=1.01 * gravity), log, "zero")


def test_one_column_for_two_channels():
    """A column that feeds two joints is pointed out."""
    log = recording(clock(), **{"joint.q[j]": clock(), "joint.q[k]": clock()})
    b = gs.Builder("two")
    for joint in "jk":
        b.link(joint, "world", joint_name=joint, axis=(0, 1, 0), mass=1.0, inertia=0.1)
    same = log["joint.q[k]"].replace(column_names=("joint.q[j]",))
    assert not found(b.build(), log, "names")
    (f,) = found(b.build(), log.with_channel(same), "names")
    assert (f.level, f.channel) == ("warning", "joint.q[k]")


def test_a_joint_that_stands_still_is_a_note():
    """A constant is a held joint or a stuck sensor; neither stops a fit."""
    t = clock()
    (f,) = gs.check(pendulum(None), recording(t, q=np.full(len(t), 0.3)))
    assert (f.check, f.level, f.number) == ("repeats", "note", len(t))
    place = gs.Channel("link.position[rod]", t, np.zeros((len(t), 3)), "m")
    (f,) = gs.check(pendulum(None), gs.Recording({place.name: place}, "still"))
    assert (f.check, f.level, f.channel) == ("repeats", "note", "link.position[rod]")


def test_findings_of_many_channels_are_one_row():
    """They have the sentence of the worst and all the values of the flag."""
    log = recording(clock(), q=motion(clock())[0] * 180 / np.pi)
    (one,) = found(pendulum(None), log, "unit")
    remedy = line("--scale", "joint.q[k]=deg")
    other = gs.Finding(gs.Level.ERROR, "more", 1e3, remedy, "joint.q[k]", "unit")
    (row,) = grouped([one, other])
    assert row.channels == ("joint.q[j]", "joint.q[k]")
    assert row.worst is other and row.varied
    assert row.remedy == "--scale 'joint.q[j]=deg' 'joint.q[k]=deg'"


def test_the_public_name_is_the_function():
    """Also where the package of that name has been imported first."""
    script = "from graftsim.check import Robot; import graftsim as gs; print(gs.check.__name__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "check\n", done.stderr


def test_no_recording():
    """There must be one."""
    with pytest.raises(gs.LogError, match="no recording"):
        gs.check(pendulum(), [])
