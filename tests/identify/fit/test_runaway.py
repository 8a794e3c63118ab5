"""Servo gains and delays from bad starts: a search finds them where a local fit runs away."""

from functools import cache
from math import nan
from types import SimpleNamespace

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.fit.runaway import good_enough, many_minima
from graftsim.identify.results.result import ParameterRow

DT, SECONDS = 0.01, 3.0
# Of one joint the last numbers.
TRUE = {"kp": (14.0, 9.0, 6.0), "kd": (0.35, 0.2, 0.1), "delay": (0.026, 0.018, 0.03)}
FREE = {
    "actuator.kp[*]": gs.Bounds(1.0, 1000.0),
    "actuator.kd[*]": gs.Positive(),
    "actuator.delay[*]": gs.Bounds(0.0, 0.06),
    "joint.friction[*]": gs.Positive(),
    "joint.armature[*]": gs.Positive(),
}


def simulator(kp, kd, delay, friction=0.06, armature=0.004):
    """Light joints on position servos, as many as numbers."""
    b = gs.Builder("arm")
    for i in range(len(kp)):
        b.link(f"l{i}", f"l{i - 1}" if i else "world", joint_name=f"j{i}", axis=(0, 1, 0),
               origin=(0, 0, -0.12 if i else 0), mass=0.15, com=(0, 0, -0.06), inertia=2e-4,
               friction=friction, armature=armature, friction_velocity=0.05)  # fmt: skip
        b.actuator(f"s{i}", f"j{i}", "position", kp=kp[i], kd=kd[i], delay=delay[i],
                   longest_delay=0.06)  # fmt: skip
    return gs.Simulator(b.build(), DT, substeps=5, integrator=gs.ImplicitDamping())


@cache
def log(joints):
    """Steps and sines of the commands at 50 Hz, positions with half a mrad of noise."""
    s, rng, n = simulator(**true(joints)), np.random.default_rng(0), round(SECONDS / DT)
    t = DT * np.arange(n)
    steps = [np.repeat(rng.uniform(-0.5, 0.5, n // 30 + 1), 30)[:n] for _ in range(joints)]
    u = np.stack([x + 0.2 * np.sin((3 + 2 * i) * t) for i, x in enumerate(steps)], 1)
    u = u[np.arange(n) // 2 * 2]
    q = np.asarray(s.rollout(s.initial_state(), jnp.asarray(u)).q)[:-1]
    q = q + 5e-4 * rng.standard_normal(q.shape)
    channels = [gs.Channel(f"joint.q[j{i}]", t, q[:, i], "rad") for i in range(joints)]
    channels += [gs.Channel(f"control[s{i}]", t, u[:, i], "rad") for i in range(joints)]
    return gs.Recording({c.name: c for c in channels}, "log")


def true(joints):
    """Numbers of the last joints."""
    return {k: v[-joints:] for k, v in TRUE.items()}


def problem(joints, kp, kd, delay):
    """All free, from the same start of each joint."""
    start = simulator((kp,) * joints, (kd,) * joints, (delay,) * joints, 0.1, 0.01)
    return gs.Problem(start, log(joints), FREE, holdout=0.0)


def assert_right(result, joints):
    for quantity, tolerance in (("kp", 0.05), ("kd", 0.05), ("delay", 0.03)):
        for i, value in enumerate(true(joints)[quantity]):
            found = result.value(f"actuator.{quantity}[s{i}]")
            assert found == pytest.approx(value, rel=tolerance)


@pytest.mark.parametrize("joints", [1, 3])
def test_a_search_finds_what_ran_away(joints):
    """From a soft and slow servo the last joint ends at a gain five times too high and a delay on
    its bound; the search finds all, and a warning names what ran.
    """
    search = gs.Automatic(above=3.0)
    result = gs.fit(problem(joints, 1.0, 2.0, 0.02), search=search)
    assert_right(result, joints)
    assert "after the search" in result.settings["search"]
    ran = [w for w in result.warnings if " ran to " in w]
    assert any(f"actuator.delay[s{joints - 1}] ran to 0.06 s" in w for w in ran)


def test_no_search_where_the_local_fit_leaves_noise():
    """It says so, and has simulated as much as a fit without a search."""
    alone, auto = (gs.fit(problem(1, 3.0, 2.0, 0.05), search=x) for x in (None, "auto"))
    assert_right(auto, 1)
    assert auto.settings["search"].startswith("auto: not needed")
    assert auto.settings["simulations"] == alone.settings["simulations"]
    assert not any(" ran to " in w for w in auto.warnings)


def test_a_model_that_lacks_an_effect_is_not_a_wrong_minimum():
    """Twice the noise and nothing that ran needs no search that nobody asked for; a delay on its
    bound, or six times the noise, does. At zero it is a delay that the machine has not.
    """

    def fitted(over_noise, delay, clear=True):
        row = ParameterRow("actuator.delay[*]", "s", 0.01, delay, *[nan] * 3, lower=0.0, upper=0.06)
        lack = SimpleNamespace(clear=clear, over_noise=over_noise)
        return SimpleNamespace(lack=lack, parameters=(row,))

    assert "lacks an effect" in good_enough(fitted(2.0, 0.02), 3.0)
    assert "hardly more than noise" in good_enough(fitted(2.0, 0.06, clear=False), 3.0)
    assert "lacks an effect" in good_enough(fitted(2.0, 0.0), 3.0)
    for searched in (fitted(6.0, 0.02), fitted(2.0, 0.06)):
        assert good_enough(searched, 3.0) is None
    assert good_enough(fitted(2.0, 0.02), 1.0) is None


def test_which_parameters_have_many_minima():
    """Servo gains, delays, lengths."""
    assert many_minima(["joint.damping[a]", "actuator.delay[*]"])
    assert many_minima(["joint.origin[a].z"]) and many_minima(["actuator.kp[a]"])
    assert not many_minima(["joint.damping[a]", "link.mass[b]", "sensor.offset[*]"])
