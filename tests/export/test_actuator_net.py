"""Actuator nets give what the fitted chain gives, and say when they are not needed."""

import json
from dataclasses import replace

import numpy as np
import onnxruntime
import pytest
from fits import log

import graftsim as gs
from graftsim.errors import ProblemError
from graftsim.export import actuator_net, onnx_actuator
from graftsim.export.actuator_net import PlainServo
from graftsim.export.chain import Chain
from graftsim.export.export import form_of
from graftsim.export.fitted import Fitted
from graftsim.export.format import Logs
from graftsim.export.servos import servos


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """A training that takes a second."""
    monkeypatch.setattr(actuator_net, "SAMPLES", 1500)
    monkeypatch.setattr(actuator_net, "ITERATIONS", 150)


def one(**numbers):
    """A hinge with a position servo, kp 20, kd 0.8."""
    b = gs.Builder("one")
    b.link("l", joint_name="j", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.actuator("m", "j", "position", kp=20.0, kd=0.8, **numbers)
    return b.build()


def samples(model, dt=0.005, seed=None):
    fit = Fitted(model, ())
    return Chain(model, dt).samples(servos(fit)[0][:1], log(model), seed)


@pytest.mark.parametrize("seed", [None, 3])
@pytest.mark.parametrize("dt", [0.005, 0.002])
def test_a_delayed_servo_is_found_again_exactly(dt, seed):
    """The chain's torque is kp (mean of the delayed command - q) - kd qd, at 3.7 ms of delay."""
    of = samples(one(delay=0.0037, zero=0.1), dt, seed)
    servo = PlainServo.fit(of, dt)
    assert (servo.kp, servo.kd, servo.delay) == pytest.approx((20.0, 0.8, 0.0037), rel=1e-9)
    assert np.abs(servo(of, dt) - of.torque).max() < 1e-9


def test_samples_moved_at_random_stay_on_a_motion():
    """Errors of earlier samples differ by what velocities say, as in a simulator."""
    of, dt = samples(one(), seed=1), 0.005
    moved = of.late - of.error  # q then - q now, for the targets of then
    steps = -dt * np.cumsum((of.velocity[:, 1:] + of.velocity[:, :-1]) / 2, 1)
    assert np.std(moved[:, 1:] - steps) < 0.05 * np.std(steps)
    assert np.std(of.velocity[:, 0]) > 1.05 * np.std(samples(one()).velocity[:, 0])


def test_a_net_learns_what_a_plain_servo_cannot(tmp_path):
    """Where the force is clipped half of the time, the net is off by less, and is said to be worth
    it; where nothing is clipped it is not needed.
    """
    form = form_of("onnx-actuator")
    model = one(force_range=(-2.0, 2.0), delay=0.004)
    said = form.write(Fitted(model, ()), tmp_path / "a", 0.005, Logs((log(model),)))
    facts = json.loads((tmp_path / "a" / "metadata.json").read_text())["nets"][0]
    errors = facts["errors"]
    assert errors["net"] < 0.1 * errors["torque"] < errors["plain"]
    assert errors["file"] < 1e-4 and errors["needed"]
    assert any("worth it" in x for x in said)
    model = one(delay=0.004)
    said = form.write(Fitted(model, ()), tmp_path / "b", 0.005, Logs((log(model),)))
    assert any("the net is not needed: kp = 20, kd = 0.8 and a delay of 4 ms" in x for x in said)


def test_a_file_takes_the_inputs_of_its_metadata(tmp_path):
    """Errors then velocities, newest first, each times its scale; the output times torque_scale is
    the torque; the property `metadata` has what the file beside has.
    """
    import onnx

    model = one(delay=0.004)
    form_of("onnx-actuator").write(Fitted(model, ()), tmp_path, 0.005, Logs((log(model),)))
    (facts,) = json.loads((tmp_path / "metadata.json").read_text())["nets"]
    path = tmp_path / facts["network_file"]
    (own,) = [p.value for p in onnx.load(path).metadata_props if p.key == "metadata"]
    assert json.loads(own).items() <= facts.items()
    assert facts["input_order"] == "pos_vel" and facts["input_idx"] == [0, 1, 2]
    of = samples(model)
    x = np.concatenate([of.error * facts["pos_scale"], of.velocity * facts["vel_scale"]], 1)
    session = onnxruntime.InferenceSession(str(path))
    (y,) = session.run(None, {session.get_inputs()[0].name: x.astype(np.float32)})
    assert y.shape == (len(x), 1)
    off = facts["torque_scale"] * y[:, 0] - of.torque
    assert np.sqrt(np.mean(off**2)) < 0.05 * np.sqrt(np.mean(of.torque**2))


def test_servos_that_differ_in_their_zero_alone_share_a_net():
    """And one with another gain has its own; motors of torques have none."""
    b = gs.Builder("three")
    for i, (kp, zero) in enumerate(((5.0, 0.0), (5.0, 0.1), (6.0, 0.0))):
        b.link(f"l{i}", f"l{i - 1}" if i else "world", axis=(0, 1, 0), mass=1.0, inertia=0.1)
        b.actuator(f"m{i}", f"l{i}", "position", kp=kp, zero=zero)
    fit = Fitted(b.build(), ())
    groups = onnx_actuator._alike(fit, servos(fit)[0])
    assert [[s.name for s in g] for g in groups] == [["m0", "m1"], ["m2"]]


def test_a_feed_forward_torque_stays_outside(tmp_path):
    """The net is that of the log without it, and a sentence says so."""
    model, plain = one(delay=0.004), log(one())
    both = plain.with_channel(replace(plain["control[m]"], name="control[m.torque]"))
    of, (servo,) = Chain(model, 0.005), servos(Fitted(model, ()))[0]
    found, wanted = (of.samples([servo], x).torque for x in (both, plain))
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12)
    said = form_of("onnx-actuator").write(Fitted(model, ()), tmp_path, 0.005, Logs((both,)))
    assert any("Feed-forward" in x for x in said)


def test_what_has_no_net_is_refused_with_its_reason(tmp_path):
    """A robot of torque motors; a log without the positions of a servo."""
    b = gs.Builder("motor")
    b.link("l", joint_name="j", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.actuator("m", "j")
    model = b.build()
    with pytest.raises(ProblemError, match="no function of errors of position"):
        form_of("onnx-actuator").write(Fitted(model, ()), tmp_path, 0.005, Logs((log(model),)))
    model = one()
    bare = log(model).select("control[m]")
    with pytest.raises(ProblemError, match=r"joint.q\[j\] is needed"):
        Chain(model, 0.005).samples(servos(Fitted(model, ()))[0], bare)
