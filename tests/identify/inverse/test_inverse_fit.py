"""Inverse dynamics: known numbers come back within their intervals, as links that can exist."""

import json
import warnings

import numpy as np
import pytest
from arms import OFFSETS, arm, recording

import graftsim as gs
from graftsim.identify.inverse.cutoff import choose_filter
from graftsim.identify.inverse.forces.regressor import moments_of
from graftsim.identify.words import Misfit, Status
from graftsim.io.write import write_mjcf

JOINTS = ("joint1", "joint2", "joint3")


@pytest.fixture(scope="module")
def fitted():
    """A file whose inertias are a quarter too large and that knows no friction."""
    start = arm(1.25, damping=0.0, friction=0.0, armature=0.05)
    return gs.inverse_fit(start, recording(arm()), loss="squared")


def test_base_parameters_are_within_their_intervals(fitted):
    """Nearly all of the 95 % intervals hold the truth, none is off by five deviations."""
    truth = gs.inverse_fit(arm(), recording(arm()), loss="squared")
    apart = []
    for row, right in zip(fitted.base, truth.base, strict=True):
        true = OFFSETS[JOINTS.index(row.name[13:-1])] if "offset" in row.name else right.start
        apart.append(abs(row.value - true) / row.std)
    assert np.mean(np.array(apart) < 1.96) > 0.8
    assert max(apart) < 5


def test_what_matters_is_identified(fitted):
    """Friction and damping of every joint, to some per cent."""
    for joint in JOINTS:
        assert fitted.value(f"joint.friction[{joint}]") == pytest.approx(0.8, abs=0.05)
        assert fitted.value(f"joint.damping[{joint}]") == pytest.approx(0.5, abs=0.05)
        assert fitted.base_row(f"joint.damping[{joint}]").status == Status.IDENTIFIED
    for joint, offset in zip(JOINTS, OFFSETS, strict=True):
        assert fitted.value(f"joint.offset[{joint}]") == pytest.approx(offset, abs=0.05)


def test_held_out_forces_are_those_of_the_noise(fitted):
    """The consistent model leaves what the filter lets through of the noise, the file does not."""
    for e in fitted.errors:
        assert e.heldout_after < 0.05
        assert e.heldout_before > 5 * e.heldout_after
        assert e.heldout_after < 1.5 * e.train_after
    assert fitted.lack.verdict != Misfit.CLEAR


def test_the_model_can_exist_and_is_written(fitted, tmp_path):
    """Every link obeys the triangle inequality; the file reads back with these numbers."""
    for six in np.asarray(fitted.model.link.inertia):
        xx, yy, zz, xy, xz, yz = six
        a, b, c = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
        assert a > 0
        assert c <= a + b
    write_mjcf(fitted.model, tmp_path / "robot.xml")
    again = gs.load(tmp_path / "robot.xml")
    assert np.asarray(again.joint.friction) == pytest.approx(
        np.asarray(fitted.model.joint.friction), rel=1e-6
    )


def test_numbers_as_json(fitted):
    """Any reader takes it, and it says how signals were filtered."""
    content = json.loads(json.dumps(fitted.as_json(), allow_nan=False))
    assert content["method"] == "inverse"
    assert content["filter"]["position"] == content["filter"]["parallel"] > 0
    assert len(content["base"]) == len(fitted.base)
    assert "cut off" in str(fitted)


def test_the_bandwidth_sets_the_filter():
    """Sines up to 0.5 Hz: a cut-off of ten times as much."""
    model = arm()
    band = choose_filter(model, (recording(model),), gs.Cutoff())
    assert 0.4 <= band.bandwidth <= 0.8
    assert band.position == pytest.approx(10 * band.bandwidth)
    given = choose_filter(model, (recording(model),), gs.Cutoff(12.0, 3.0))
    assert "12 Hz, as given" in given.text
    assert (given.position, given.parallel) == (12.0, 3.0)


def test_outliers_lose_their_pull():
    """With a hundredth of the forces far off, Huber's loss stays near, least squares does not."""
    model, spoilt = arm(), recording(arm())
    rng = np.random.default_rng(1)
    for joint in JOINTS:
        channel = spoilt[f"joint.tau[{joint}]"]
        values = channel.values.copy()
        start = rng.integers(500, 3000, 2)
        for k in start:
            values[k : k + 40] += 20.0
        spoilt = spoilt.with_channel(channel.replace(values=values))
    away = {}
    for loss in ("squared", "huber", "tukey"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", gs.GraftsimWarning)
            fit = gs.inverse_fit(model, spoilt, loss=loss)
        away[loss] = np.abs([fit.base_row(f"joint.friction[{j}]").value - 0.8 for j in JOINTS])
    assert away["huber"].max() < 0.5 * away["squared"].max()
    assert away["tukey"].max() < 0.5 * away["squared"].max()


def test_a_missing_effect_is_said():
    """A torque of twice the frequency of a joint's angle leaves a memory, and intervals widen."""
    model = arm()
    ripple = recording(model, extra=lambda q, qd, qdd: 0.5 * np.sin(6 * q))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        fit = gs.inverse_fit(model, ripple)
    assert fit.lack.verdict == Misfit.CLEAR
    assert "lacks an effect" in fit.verdict
    assert fit.lack.widened > 1.05


def test_a_negative_rotor_is_said():
    """Forces without the rotor's share, as of a sensor behind the gear: measured below zero."""
    behind = recording(arm(armature=0.3), extra=lambda q, qd, qdd: -0.6 * qdd)
    with pytest.warns(gs.GraftsimWarning, match="leave the armature out of the terms"):
        fit = gs.inverse_fit(arm(armature=0.0), behind)
    assert fit.value("joint.armature[joint3]") < 1e-3
    terms = [t for t in gs.FORCE_TERMS if t.name != "joint.armature"]
    right = gs.inverse_fit(arm(), recording(arm(armature=0.0)), terms=terms)
    assert not right.warnings


def test_a_joint_that_rests_is_without_effect():
    """Its friction and rotor stay the file's, and what the others tell is found all the same."""
    still = recording(arm(), still=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        fit = gs.inverse_fit(arm(damping=0.2), still)
    assert fit.base_row("joint.damping[joint3]").status == Status.WITHOUT_EFFECT
    assert fit.value("joint.damping[joint3]") == pytest.approx(0.2, rel=1e-3)
    assert fit.value("joint.damping[joint2]") == pytest.approx(0.5, abs=0.05)
    json.dumps(fit.as_json(), allow_nan=False)


def test_a_payload_is_found_by_difference():
    """A body put on the last link, from a run without it and one with it."""
    empty = arm()
    mass, com, inertia = 0.7, np.array([0.02, 0.05, 0.2]), np.array([4e-3, 3e-3, 2e-3, 0, 0, 0])
    carried = gs.Payload("link3", mass, com, inertia, 0.0, 0 * com, np.zeros(10), np.zeros(10))
    runs = recording(empty, 0, noise=0.02), recording(carried.onto(empty), 1, noise=0.02)
    file = arm(1.2, damping=0.0)
    found = gs.payload_fit(file, *runs, "link3")
    assert found.mass == pytest.approx(mass, abs=4 * found.mass_std)
    assert found.mass_std < 0.05
    assert np.all(np.abs(found.com - com) < 4 * found.com_std)
    assert np.all(np.linalg.eigvalsh(np.diag(found.inertia[:3])) > 0)
    added = moments_of(found.onto(file))[2] - moments_of(file)[2]
    assert added[0] == pytest.approx(found.mass)
    assert "0." in str(found)


def test_motor_gains_come_from_the_files_inertias():
    """Currents of known gains, a file with the right inertias: the gains are within intervals."""
    model, gains = arm(), (2.0, 5.0, 0.5)
    run = recording(model, noise=0.02)
    for joint, gain in zip(JOINTS, gains, strict=True):
        channel = run[f"joint.tau[{joint}]"]
        run = run.with_channel(channel.replace(values=channel.values / gain))
    rows = gs.motor_gains(model, run)
    for row, gain in zip(rows, gains, strict=True):
        assert row.value == pytest.approx(gain, abs=4 * row.std)
        assert row.status == Status.IDENTIFIED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", gs.GraftsimWarning)
        by_file = gs.inverse_fit(model, run, gains="file")
    assert by_file.value("joint.friction[joint2]") == pytest.approx(0.8, abs=0.1)
    known = gs.inverse_fit(model, run, gains=dict(zip(JOINTS, gains, strict=True)))
    assert known.value("joint.friction[joint2]") == pytest.approx(0.8, abs=0.05)
    assert [r.value for r in known.gains] == list(gains)
    with pytest.raises(gs.ProblemError, match="'joint2' needs a number"):
        gs.inverse_fit(model, run, gains={"joint1": 1.0})
    with pytest.raises(gs.ProblemError, match="by degree of freedom, or 'file'"):
        gs.inverse_fit(model, run, gains="guess")


def test_motors_of_a_coupled_wrist():
    """Channels of motors become those of joints; the motor's friction is not the joints'."""
    model = arm(friction=0.0, damping=0.3)
    R = np.array([[10.0, 0, 0], [0, 20.0, 0], [0, 30.0, 30.0]])
    gears = gs.LinearTransmission(R, ("m1", "m2", "m3"))
    s = np.array([0.0, 1.0, 1.0])
    run = recording(model, extra=lambda q, qd, qdd: np.tanh((qd @ s) / 0.1)[:, None] * s)
    q = np.stack([run[f"joint.q[{j}]"].values[:, 0] for j in JOINTS], 1)
    tau = np.stack([run[f"joint.tau[{j}]"].values[:, 0] for j in JOINTS], 1)
    time, channels = run["joint.q[joint1]"].time, {}
    for i, motor in enumerate(gears.motors):
        for kind, x in (("q", q @ R.T), ("i", tau @ np.linalg.inv(R))):
            name = f"signal[{motor}.{kind}]"
            channels[name] = gs.Channel(name, time, x[:, i], "SI")
    joints = gears.joints(
        model,
        gs.Recording(channels),
        positions=[f"signal[{m}.q]" for m in gears.motors],
        efforts=[f"signal[{m}.i]" for m in gears.motors],
    )
    assert joints["joint.tau[joint2]"].values[:, 0] == pytest.approx(tau[:, 1], abs=1e-9)
    fit = gs.inverse_fit(model, joints, transmission=gears)
    assert fit.value("motor.friction[m3]") == pytest.approx(1.0, abs=0.1)
    assert abs(fit.value("joint.friction[joint2]")) < 0.1


def test_wrong_use():
    """What is wrong, where, and what would be accepted."""
    model, run = arm(), recording(arm())
    without = run.select(*[n for n in run.names if n != "joint.tau[joint2]"])
    with pytest.raises(gs.ProblemError, match=r"there is no joint\.tau\[joint2\]"):
        gs.inverse_fit(model, without)
    with pytest.raises(gs.ProblemError, match="cannot tell"):
        gs.inverse_fit(model, run.trim(0, 4.5), cutoff=gs.Cutoff(3.0, 1.5), holdout=0.0)
    with pytest.raises(gs.ProblemError, match="positive weight"):
        gs.inverse_fit(model, run, prior=0)
    with pytest.raises(gs.ProblemError, match="half the sample rate"):
        gs.inverse_fit(model, run, cutoff=gs.Cutoff(200.0))
    with pytest.raises(gs.ProblemError, match="No joint moves"):
        gs.inverse_fit(model, run.trim(0, 0.2), holdout=0.0)
    with pytest.raises(gs.ProblemError, match="must not be above"):
        gs.Cutoff(4.0, 8.0)
    with pytest.raises(gs.ProblemError, match="Nearest"):
        gs.payload_fit(model, run, run, "link4")
    with pytest.raises(gs.ProblemError, match="singular"):
        gs.LinearTransmission(np.zeros((2, 2)), ("a", "b"))
    with pytest.raises(gs.ProblemError, match="3 degrees of freedom"):
        gs.inverse_fit(model, run, transmission=gs.LinearTransmission(np.eye(2), ("a", "b")))


def test_a_floating_base_is_refused():
    """Its joint is no angle or length."""
    b = gs.Builder("floating").link("body", joint="free", mass=1.0, inertia=0.1)
    with pytest.raises(gs.ProblemError, match="Clamp a floating base"):
        gs.inverse_fit(b.build(), recording(arm()))
