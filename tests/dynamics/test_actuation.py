"""Each part of an actuator against its closed form."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import zoo
from graftsim.dynamics.actuation import act_after, lag_steps, moment
from graftsim.dynamics.friction import Load, friction_level

STEP = 1e-4


def turned(kind, *, start=(0.0, 0.0), inputs=(), u, t=0.3, damping=0.0, **numbers):
    """Joint angle, speed and recorded force of a flywheel of 0.5 kg m^2 after t seconds under u."""
    builder = gs.Builder("wheel", gravity=(0, 0, 0))
    builder.link("wheel", axis=(0, 0, 1), mass=1.0, inertia=0.5, damping=damping)
    builder.actuator("motor", "wheel", kind, inputs=inputs, **numbers)
    simulator = gs.Simulator(builder.build(), STEP, integrator=gs.RungeKutta4())
    n = round(t / STEP)
    run = simulator.rollout(
        simulator.initial_state(*np.reshape(start, (2, 1))), np.tile(u, (n, 1)),
        record=("actuator.force",),
    )  # fmt: skip
    return float(run.q[-1, 0]), float(run.qd[-1, 0]), np.asarray(run.recorded["actuator.force"])


def test_voltage_drive_runs_up_to_no_load_speed():
    """J w' = k/R (V - k w): w = V/k (1 - exp(-k^2 t/(R J)))."""
    k, R, V, t = 0.8, 0.6, 12.0, 0.3
    _, w, _ = turned("voltage", u=[V], motor_constant=k, resistance=R, t=t)
    assert w == pytest.approx(V / k * -np.expm1(-k * k * t / (R * 0.5)), rel=1e-9)


def test_voltage_servo_is_a_pd_servo_within_its_duty():
    """kp of duty and back-EMF: stiffness k/R V kp and damping k^2/R; beyond the duty, a motor."""
    k, R, V, kp = 0.8, 0.6, 12.0, 1.5
    servo = {"motor_constant": k, "resistance": R, "supply": V, "kp": kp}
    q, w, _ = turned("voltage_servo", u=[0.1], **servo)
    twin = turned("position", u=[0.1], kp=k / R * V * kp, damping=k * k / R)
    assert (q, w) == pytest.approx(twin[:2], rel=1e-9)
    q, w, _ = turned("voltage_servo", u=[99.0], duty_limit=0.5, **servo)
    assert w == pytest.approx(V / 2 / k * -np.expm1(-k * k * 0.3 / (R * 0.5)), rel=1e-9)


def test_zero_of_the_encoder_moves_the_equilibrium_under_load():
    """q = u + zero - load/kp at rest; an offset of the reading would leave q alone."""
    builder = gs.Builder("arm")
    builder.link("arm", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), inertia=0.01, damping=4.0)
    builder.actuator("servo", "arm", "position", kp=50.0, kd=1.0, zero=0.02)
    simulator = gs.Simulator(builder.build(), 0.002, integrator=gs.ImplicitDamping())
    q = float(simulator.rollout(simulator.initial_state(), np.zeros((4000, 1))).q[-1, 0])
    # At rest kp (zero - q) = -m g l cos q: gravity turns about +y.
    assert 50.0 * (0.02 - q) + 9.81 * 0.2 * np.cos(q) == pytest.approx(0, abs=1e-6)


def test_integral_takes_the_droop_away():
    """Under a constant load a PID servo ends at its command, a PD servo beside it by load/kp."""
    load = {"inputs": ("torque",), "u": [0.3, 4.0], "t": 3.0, "kp": 80.0, "kd": 9.0}
    q, _, _ = turned("position", **load)
    assert q == pytest.approx(0.3 + 4.0 / 80, abs=1e-4)
    q, w, _ = turned("pid", ki=300.0, **load)
    assert (q, w) == pytest.approx((0.3, 0.0), abs=1e-4)
    # With its integral held at 0.01 rad s it takes 3 of the 4 N m.
    q, _, _ = turned("pid", ki=300.0, integral_limit=0.01, **load)
    assert q == pytest.approx(0.3 + 1.0 / 80, abs=1e-4)


def test_speed_torque_line():
    """Full force pulls up to f = stall (1 - w/w_0): w = w_0 (1 - exp(-stall t/(w_0 J)))."""
    stall, w_0, t = 6.0, 20.0, 0.3
    _, w, f = turned("torque", u=[1e3], stall_force=stall, no_load_speed=w_0, t=t)
    assert w == pytest.approx(w_0 * -np.expm1(-stall * t / (w_0 * 0.5)), rel=1e-9)
    assert f[0, 0] == pytest.approx(stall)
    # Faster than without load there is none with the motion, and the whole line against it.
    _, _, f = turned("torque", start=(0, 30.0), u=[5.0], stall_force=stall, no_load_speed=w_0)
    assert f[0, 0] == 0
    _, _, f = turned("torque", start=(0, 30.0), u=[-99.0], stall_force=stall, no_load_speed=w_0)
    assert f[0, 0] == pytest.approx(-stall * 2.5)


def test_inputs_are_numbers_in_time():
    """Gains as channels do what the same gains as numbers do; velocity and torque are added."""
    fixed = turned("position", u=[0.4], kp=30.0, kd=2.0)
    fed = turned("position", inputs=("kp", "kd"), u=[0.4, 30.0, 2.0], kp=1.0, kd=7.0)
    assert fed[:2] == pytest.approx(fixed[:2], rel=1e-12)
    _, _, f = turned("position", inputs=("velocity", "torque"), u=[0.4, 0.5, -2.0], kp=30.0, kd=2.0)
    assert f[0, 0] == pytest.approx(30 * 0.4 + 2 * 0.5 - 2.0)
    with pytest.raises(gs.ModelError, match="takes no 'supply'"):
        turned("position", inputs=("supply",), u=[0.0, 0.0])


def test_coupled_wrist():
    """Two motors, the second over both joints: tau_joint = R^T tau_motor, power the same."""
    builder = gs.Builder("wrist", gravity=(0, 0, 0))
    builder.link("five", axis=(0, 0, 1), mass=1.0, inertia=0.5)
    builder.link("six", "five", axis=(1, 0, 0), mass=1.0, inertia=0.2)
    builder.tendon("motor6", {"five": 32.0, "six": 32.0})
    builder.actuator("m5", "five", gear=45.0).actuator("m6", tendon="motor6")
    model = builder.build()
    R = np.array([[45.0, 0.0], [32.0, 32.0]])
    np.testing.assert_allclose(moment(model), R)
    run = gs.Simulator(model, 1e-3)
    f = np.array([0.3, -0.2])
    recorded = run.rollout(run.initial_state(), f[None], record=("joint.tau_actuator",)).recorded
    np.testing.assert_allclose(recorded["joint.tau_actuator"][0], R.T @ f, rtol=1e-12)


def test_load_friction_by_hand():
    """Levels M3 to M6 of published servo models, for loads with and against the motor."""
    model = zoo.double_pendulum()
    numbers = {"friction": 0.1, "stribeck": 0.2, "stribeck_velocity": 0.5, "load_friction": 0.04,
               "load_stribeck": 0.06, "load_asymmetry": 0.25, "load_quadratic": 0.03}  # fmt: skip
    joint = model.joint
    for name, value in numbers.items():
        joint = eqx.tree_at(lambda j, name=name: getattr(j, name), joint, jnp.full(2, value))
    qd, S = jnp.array([0.3, -0.3]), np.exp(-((0.3 / 0.5) ** 2))
    level = friction_level(joint, qd, Load(jnp.array([2.0, 2.0]), jnp.array([-3.0, 3.0])))
    opposed = 0.75 * 3 + 1.25 * 2
    together = abs(0.75 * 3 - 1.25 * 2)
    plain = 0.1 + 0.2 * S
    expected = [plain + (0.04 + 0.06 * S) * opposed + 0.03 * S * 2**2,
                plain + (0.04 + 0.06 * S) * together]  # fmt: skip
    np.testing.assert_allclose(level, expected, rtol=1e-14)


def lifting(load_friction, asymmetry=0.0, tau=0.0):
    """Acceleration of a winch (1 kg m^2) that holds 10 N m while it turns slowly upwards."""
    builder = gs.Builder("winch", gravity=(0, 0, -9.81))
    builder.link(
        "arm", axis=(0, -1, 0), mass=10 / 9.81, com=(1, 0, 0), inertia=0.5, armature=1.0,
        friction_velocity=1e-3, load_friction=load_friction, load_asymmetry=asymmetry,
    ).actuator("motor", "arm")  # fmt: skip
    simulator = gs.Simulator(builder.build(), 1e-4)
    state = simulator.initial_state(None, {"arm": 0.1})
    recorded = simulator.rollout(state, np.array([[tau]]), record=("joint.tau_friction",)).recorded
    return float(recorded["joint.tau_friction"][0, 0])


def test_load_friction_in_the_step():
    """Friction of k |tau_e - tau_m|; a gear of 90 % efficiency takes a tenth of its motor's."""
    assert lifting(0.05, tau=12.0) == pytest.approx(-0.05 * (12 + 10), rel=1e-9)
    assert lifting(0.05, tau=-12.0) == pytest.approx(-0.05 * abs(-10 + 12), rel=1e-9)
    assert lifting(0.05, asymmetry=1.0, tau=12.0) == pytest.approx(-0.1 * 12, rel=1e-9)
    # Without a load-dependent number the step does not compute the load.
    builder = gs.Builder("plain")
    builder.link("a", mass=1.0, inertia=1.0)
    assert not builder.build().joint.load_dependent


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_gradients_of_load_friction(mode):
    """Both modes equal differences, also where the integrator takes it implicitly."""
    builder = gs.Builder("arm")
    load = {"load_friction": 0.1, "load_stribeck": 0.05, "load_asymmetry": 0.2}
    builder.link("a", axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0), inertia=0.1, **load)
    builder.link("b", "a", origin=(0.4, 0, 0), axis=(0, 1, 0), mass=1.0, com=(0.2, 0, 0),
                 inertia=0.1, load_quadratic=0.02, **load)  # fmt: skip
    for joint in "ab":
        builder.actuator(joint, joint, "position", kp=30.0, kd=1.0)
    simulator = gs.Simulator(builder.build(), 0.005, integrator=gs.ImplicitDamping(), substeps=2)
    u = 0.5 * np.sin(np.linspace(0, 6, 40))[:, None] * np.array([1.0, -1.0])
    names = ("load_friction", "load_stribeck", "load_asymmetry", "load_quadratic")

    def end(x, backend="kernel"):
        joint = simulator.model.joint
        for name, row in zip(names, x, strict=True):
            joint = eqx.tree_at(lambda j, name=name: getattr(j, name), joint, row)
        run = eqx.tree_at(lambda s: s.model.joint, simulator, joint)
        return run.rollout(run.initial_state(), u, backend=backend).q[-1]

    x = jnp.array([getattr(simulator.model.joint, name) for name in names])
    J = np.asarray(mode(end)(x))
    h = 1e-6
    for i, j in np.ndindex(4, 2):
        e = jnp.zeros_like(x).at[i, j].set(h)
        np.testing.assert_allclose(J[:, i, j], (end(x + e) - end(x - e)) / (2 * h), atol=2e-8)
    np.testing.assert_allclose(end(x), end(x, "xla"), rtol=1e-12)


@pytest.mark.parametrize("delay", [0.0, 0.004, 0.0177])
def test_a_lag_after_the_commands_of_a_log(delay):
    """What it remembers of them in one sum is what it has after as many steps."""
    builder = gs.Builder("wheel", gravity=(0, 0, 0))
    builder.link("wheel", axis=(0, 0, 1), mass=1.0, inertia=0.5)
    builder.actuator("motor", "wheel", time_constant=0.05, delay=delay, control_range=(-1, 1))
    builder.actuator("bare", "wheel")
    model = builder.build()
    simulator = gs.Simulator(model, 0.004)
    # Levels beyond the range and within it; the first is held for long before. A delay that ends
    # within a step mixes levels: there the engine's lag follows their mean, to second order in h/T.
    mixes = delay == 0.0177
    levels = [-0.9, -0.5, 0.25, 1.0] if mixes else [-2.0, -0.5, 0.25, 1.0]
    u = np.random.default_rng(2).choice(levels, (60, 2))
    start = dataclasses.replace(simulator.initial_state(), act=jnp.clip(u[0, :1], -1, 1))
    run = simulator.rollout(start, u)
    found = act_after(model.actuator, jnp.asarray(u[::-1]), simulator.dt)
    close = (0.004 / 0.05) ** 2 if mixes else 1e-12
    np.testing.assert_allclose(found, run.states.act[-1], atol=close)
    assert 0.004 * lag_steps(model.actuator, 0.004) > 12 * 0.05 + delay - 1e-9
