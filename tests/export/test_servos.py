"""Actuators in the terms of their joints, and what a fit knows of each number."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from fits import arm, fitted

import graftsim as gs
from graftsim.export.fitted import Fitted, Known
from graftsim.export.servos import lags, servos
from graftsim.model.drive_type import Signal
from graftsim.model.numbers import ACTUATOR


def by_name():
    return {s.name: s for s in servos(fitted())[0]}


def test_a_gear_squares_gains_and_scales_limits():
    """Stiffness g^2 kp, damping g^2 kd, effort g f, zero over g."""
    hip = by_name()["hip"]
    assert hip.stiffness.value == 40.0 and hip.damping.value == 2.0
    assert hip.effort == 16.0 and hip.zero.value == 0.01


def test_a_voltage_servo_is_a_servo_on_a_line_of_speed():
    """Its force is that of the PD law clipped by the line, at all commands and speeds."""
    servo, model = by_name()["ankle"], arm()
    a, rng = model.actuator, np.random.default_rng(0)
    i = a.names.index("ankle")

    @jax.jit
    def force(u, q, qd):
        drive, one = a.drives[i], jnp.ones(1)
        numbers = {k: getattr(a, k)[i] for k in ACTUATOR}
        signal = Signal(u * one, 0 * one, 0 * one, q * one, qd * one, 0 * one, numbers)
        return drive.force(signal)[0]

    for u, q, qd in rng.uniform(-3, 3, (50, 3)):
        plain = servo.stiffness.value * (u - q) - servo.damping.value * qd
        line = servo.stall * (np.array([-1.0, 1.0]) - qd / servo.no_load)
        assert float(force(u, q, qd)) == pytest.approx(np.clip(plain, *line), rel=1e-9, abs=1e-9)


def test_a_range_is_two_deviations_within_the_bounds():
    """Of what the log tells; the bound of 0 cuts it."""
    hip = by_name()["hip"]
    assert (hip.armature.low, hip.armature.high) == pytest.approx((0.006, 0.014))
    assert (hip.friction.low, hip.friction.high) == (0.0, 0.5)
    assert (hip.stiffness.low, hip.stiffness.high) == pytest.approx((38.0, 44.0))


def test_a_conditional_number_has_the_range_with_the_other_free():
    """0.1 +- 2 x 0.03, and the comment names the other."""
    viscous = by_name()["knee"].viscous
    assert (viscous.low, viscous.high) == pytest.approx((0.04, 0.16))
    assert "actuator.kp[knee]" in viscous.remark


def test_what_the_log_does_not_tell_has_the_range_it_was_given():
    """Both bounds where there are two, else none; a number that was not free has none."""
    found = by_name()
    ankle, toe, knee = (found[k].armature for k in ("ankle", "toe", "knee"))
    assert (ankle.low, ankle.high) == (0.001, 0.05) and "the log does not tell it" in ankle.remark
    assert toe.low == toe.high == 0.04 and "no range" in toe.remark
    assert knee == Known.exactly(0.02, "kg m^2")


def test_delays_in_whole_steps_hold_the_range():
    """5 to 7 ms: 2 to 4 steps of 2 ms, 1 to 2 of 5 ms; no delay is no step."""
    delay = by_name()["hip"].delay
    assert lags(delay, 0.002) == (2, 4) and lags(delay, 0.005) == (1, 2)
    assert lags(Known.exactly(0.0, "s"), 0.005) == (0, 0)


def test_an_actuator_on_a_tendon_is_left_out_and_named():
    """With what it pulls on."""
    b = gs.Builder("wrist")
    b.link("a", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.tendon("cord", {"a": 2.0})
    b.actuator("m", tendon="cord")
    found, left = servos(Fitted(b.build(), ()))
    assert not found and "m: left out, it pulls on the tendon cord" in left[0]


def test_gears_of_commands_and_springs_are_said():
    """A joint feels gear times gain of an effort, and has 1/gear of a command as its target."""
    b = gs.Builder("cart")
    b.link("cart", joint="prismatic", joint_name="slide", mass=1.0, stiffness=4.0)
    b.link("pole", "cart", joint_name="hinge", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.link("tip", "pole", joint_name="wrist", axis=(0, 1, 0), mass=1.0, inertia=0.1)
    b.actuator("push", "slide", "torque", gear=2.0, gain=0.5)
    b.actuator("turn", "hinge", "torque", gear=0.5).actuator("bend", "wrist", "position", gear=3.0)
    said = [x for s in servos(Fitted(b.build(), ()))[0] for x in s.unsaid]
    assert said == [
        "push: the spring of slide, 4 N/m, is no part of an actuator.",
        "turn: a command of 1 is an effort of 0.5 (gear times gain).",
        "bend: a command is 3 times the joint's target, by its gear.",
    ]
