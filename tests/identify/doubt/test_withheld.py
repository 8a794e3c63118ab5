"""Delay of a command in a fit: found where the log tells it, named where it does not."""

from dataclasses import replace

import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.doubt.columns import Columns
from graftsim.identify.doubt.standard import Number
from graftsim.identify.problem.windows import commands_before
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.identify.words import Status

DT, NOISE = 0.004, 2e-4
TRUTH = {"armature": 0.02, "damping": 0.3}


def servo(delay=None, **numbers):
    """A joint with a servo, gravity on its arm."""
    builder = gs.Builder("servo")
    builder.link(
        "arm", axis=(0, 1, 0), mass=0.4, com=(0.1, 0, 0), inertia=0.002, **(TRUTH | numbers)
    )
    builder.actuator("arm", "arm", "position", kp=25.0, kd=0.4, delay=delay)
    return gs.Simulator(builder.build(), DT, substeps=4, integrator=gs.ImplicitDamping())


def log(command, delay, noise=NOISE):
    """Angles with noise under commands at every step."""
    truth = servo(delay)
    run = truth.rollout(truth.initial_state(), command[:, None])
    q = np.asarray(run.q[:, 0]) + noise * np.random.default_rng(0).normal(size=len(run.q))
    return gs.recording_from_arrays(
        {"time": np.asarray(run.time), "q": q, "u": np.append(command, command[-1])},
        {"joint.q[arm]": "q", "control[arm]": "u"},
        name="log", time="time",
    )  # fmt: skip


def steps(n=1500, hold=25):
    """A staircase of random levels: every step tells the delay."""
    return np.repeat(np.random.default_rng(3).uniform(-0.5, 0.5, -(-n // hold)), hold)[:n]


FREE = {"joint.armature[*]": gs.Positive(), "joint.damping[*]": gs.Positive()}


@pytest.mark.parametrize("delay", [0.0011, 0.0073, 0.0142])
def test_delay_is_recovered(delay):
    """Within 0.2 ms and its interval, together with armature and damping, from a wrong start."""
    free = {**FREE, "actuator.delay[*]": gs.Bounds(0, 0.02)}
    start = servo(armature=0.01, damping=0.1)
    result = gs.fit(gs.Problem(start, log(steps(), delay), free, noise={"joint.q[arm]": NOISE}))
    row = next(r for r in result.parameters if r.name.startswith("actuator.delay"))
    assert abs(row.value - delay) < min(2e-4, 4 * row.std)
    for name, value in TRUTH.items():
        found = next(r for r in result.parameters if r.name == f"joint.{name}[arm]")
        assert abs(found.value - value) < 4 * found.std
        # All torques are known up to the gain, which may be 5 % off: so are their numbers.
        assert found.status in (Status.IDENTIFIED, Status.CONDITIONAL)
        assert 0.045 * value < found.std_with_file < 0.5 * value


def test_what_was_withheld_is_named():
    """A fit without delay of a log with one ends with wrong numbers, and says on what they hang."""
    recording = log(steps(), 0.0073)
    result = gs.fit(gs.Problem(servo(), recording, FREE, noise={"joint.q[arm]": NOISE}))
    armature = next(r for r in result.parameters if r.name.startswith("joint.armature"))
    assert abs(armature.value - 0.02) > 4 * armature.std
    assert armature.status == Status.CONDITIONAL
    assert armature.trades_with == "actuator.delay[arm]"
    found = next(w for w in result.withheld if w.name == "actuator.delay[arm]")
    assert found.std < 2e-3
    # To first order the data ask for the delay that was there.
    assert found.asked == pytest.approx(0.0073, rel=0.3)
    assert any("actuator.delay[arm], not free" in w and "Free it" in w for w in result.warnings)


def test_a_log_that_does_not_tell_the_delay():
    """One slow sine: the direction of delay, damping and armature is named, the rest is known."""
    t = DT * np.arange(1500)
    recording = log(0.02 * np.sin(2 * np.pi * 0.3 * t), 0.006, noise=2.5e-3)
    free = {**FREE, "actuator.delay[*]": gs.Bounds(0, 0.02)}
    result = gs.fit(gs.Problem(servo(), recording, free, noise={"joint.q[arm]": 2.5e-3}))
    assert any("actuator.delay[arm]" in w.weights for w in result.weak)
    assert all(r.status != Status.IDENTIFIED for r in result.parameters if "delay" in r.name)


def test_what_is_exact_raises_no_doubt():
    """Sizes are the user's to set: of zero nothing is tried, and intervals stay the fit's."""
    everything = (
        "link.mass",
        "link.com",
        "link.inertia",
        "joint.stiffness",
        "joint.friction",
        "actuator.kp",
        "actuator.kd",
        "actuator.zero",
        "actuator.delay",
        "joint.axis",
        "effect.drag",
        "effect.load_friction",
        "effect.clock",
        "effect.torque",
    )
    exact = {f"{name}[*]": 0.0 for name in everything} | {f"effect.ripple{n}{c}[*]": 0.0
             for n in (1, 2, 4, 8) for c in "sc"}  # fmt: skip
    how: dict = {"noise": {"joint.q[arm]": NOISE}, "nuisances": exact}
    result = gs.fit(gs.Problem(servo(), log(steps(800), 0.0), FREE, **how))
    assert result.withheld == ()
    assert np.isnan(result.parameters[0].std_with_file)
    how["nuisances"] = exact | {"actuator.kd[arm]": 0.08}
    result = gs.fit(gs.Problem(servo(), log(steps(800), 0.0), FREE, **how))
    assert [(w.name, w.size, w.source) for w in result.withheld] == [
        ("actuator.kd[arm]", 0.08, "given")
    ]
    # Damping and the servo's own kd are one number.
    damping = next(r for r in result.parameters if r.name == "joint.damping[arm]")
    assert damping.std_with_file == pytest.approx(np.hypot(damping.std, 0.08), rel=0.02)
    assert list(damping.causes) == ["actuator.kd[arm]"]
    assert damping.causes["actuator.kd[arm]"] > 0.99


def test_derivative_by_a_delay_that_the_model_does_not_have():
    """Differences of moved commands are the derivative of the delay's own arithmetic at zero."""
    recording = log(steps(400), 0.0)
    more: dict = {"noise": {"joint.q[arm]": NOISE}, "growth": (1.0,), "holdout": 0}
    plain = gs.Problem(servo(), recording, FREE, **more)
    free = {**FREE, "actuator.delay[*]": gs.Bounds(0, 0.02)}
    delayed = gs.Problem(servo(), recording, free, **more)
    windows = plain.train_windows()
    program, other = (compile_windows(p, p.train_windows()) for p in (plain, delayed))
    local = np.zeros((len(windows), 2))
    before = commands_before(plain.simulator.model, plain.train, windows, DT)
    assert (before != windows.controls[:, 0]).any(), "some windows begin where commands switch"
    number = Number("actuator.delay", "arm")
    columns = Columns(plain, program, windows, [number], [0.01])
    found = columns.slopes(plain.parameters.start, local)[..., 0]
    slope = other.jacobian(delayed.parameters.start, local)[1][..., -1]
    # A delay acts in the first sub-step alone, the mean in all of the step: 1.5 ms later, a
    # twentieth of the servo's time constant sqrt(0.02 / 25) s.
    assert np.abs(found - slope).max() < 0.1 * np.abs(slope).max()
    assert np.corrcoef(found.ravel(), slope.ravel())[0, 1] > 0.995


def test_withheld_numbers_do_not_undo_what_a_custom_parameter_sets():
    """A user's own parameter may move the gains that are withheld: it keeps its effect."""

    def stiffer(model, x):
        a = model.actuator
        return replace(model, actuator=replace(a, kp=a.kp * x[0]))

    factor = gs.Custom(("factor",), (1.0,), stiffer)
    problem = gs.Problem(servo(), log(steps(400), 0.0), {"gain": factor}, holdout=0)
    assert "actuator.kp[arm]" in problem.extended.names
    program = compile_windows(problem, problem.train_windows())
    local = np.zeros((len(program.data.q0), 2))
    softer = program.readings(np.array([0.5]), local)[0][0]
    same = gs.Problem(servo(), log(steps(400), 0.0), holdout=0)
    changed = stiffer(servo().model, np.array([0.5]))
    same = replace(same, simulator=replace(same.simulator, model=changed))
    other = compile_windows(same, same.train_windows()).readings(np.zeros(0), local)[0][0]
    np.testing.assert_allclose(softer, other, atol=1e-12)
    result = gs.fit(problem)
    row = result.parameters[0]
    # Only with the mass, the rotor and what else resists does the gain make the motion.
    assert row.status in (Status.IDENTIFIED, Status.CONDITIONAL)
    assert row.std_with_file > row.std


def test_a_number_that_is_measured_leaves_what_was_promised():
    """The deviation said for a number's measurement is that of a fit which takes it as exact."""
    how: dict = {"noise": {"joint.q[arm]": NOISE}}
    recording = log(steps(800), 0.0)
    first = gs.fit(gs.Problem(servo(), recording, FREE, **how))
    for row in first.parameters:
        assert row.std <= row.std_if_measured < row.std_with_file
        exact = {row.measure: 0.0}
        again = gs.fit(gs.Problem(servo(), recording, FREE, nuisances=exact, **how))
        found = next(r for r in again.parameters if r.name == row.name)
        assert found.std_with_file == pytest.approx(row.std_if_measured, rel=0.1)
