"""Delay of a command: the plant answers a staircase as its closed form says, to the last digit."""

from dataclasses import replace

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import graftsim as gs
import zoo
from graftsim.dynamics.actuation import delay_shares
from graftsim.engine.rollout import scan_steps

DT, LEVELS = 0.005, np.array([0.0, 1.0, -0.5, 0.7, 0.7, -1.2, 0.3, 0.9])


def slider(substeps=1, longest=0.02, **numbers):
    """A mass of 2 kg on a rail, with viscous damping and a motor whose command comes late."""
    builder = gs.Builder("slider", gravity=(0, 0, 0))
    builder.link("car", joint="prismatic", axis=(1, 0, 0), mass=2.0, **numbers)
    builder.actuator("motor", "car", delay=0.0, longest_delay=longest)
    return gs.Simulator(builder.build(), DT, substeps=substeps)


def with_delay(simulator, d):
    return eqx.tree_at(
        lambda s: s.model.actuator.delay, simulator, jnp.asarray(d, float).reshape(1)
    )


def staircase():
    """Each level held for three control steps."""
    return np.repeat(LEVELS, 3)[:, None]


def impulse_of(u, d, t):
    """Integral of the delayed command up to time t; before the log its first value was held."""
    edges = DT * np.arange(len(u) + 1)
    area = np.concatenate([[0.0], np.cumsum(u * DT)])
    s = t - d
    return s * u[0] if s < 0 else float(np.interp(s, edges, area))


@pytest.mark.parametrize("d", [0.0, 0.0013, 0.005, 0.0062, 0.0149, 0.02])
@pytest.mark.parametrize("backend", ["kernel", "xla"])
def test_momentum_is_the_integral_of_the_delayed_command(d, backend):
    """m v = integral of u(t - d) + d u_0, at the end of every step, whatever the delay."""
    u = staircase()
    run = with_delay(slider(), d)
    v = np.asarray(run.rollout(run.initial_state(), u, backend=backend).qd[:, 0])
    late = [impulse_of(u[:, 0], d, DT * k) - impulse_of(u[:, 0], d, 0.0) for k in range(len(u) + 1)]
    np.testing.assert_allclose(2.0 * v, late, atol=1e-14)


def test_first_order_plant_under_a_staircase():
    """v' = (u(t - d) - c v)/m: within a step the switch costs no more than the integrator does."""
    c, d, u = 40.0, 0.0062, staircase()
    m, t_end = 2.0, DT * len(staircase())
    # Closed form: every jump of the command, delayed, answers by 1 - exp(-c t/m).
    jumps = np.diff(u[:, 0], prepend=u[0, 0])
    times = DT * np.arange(len(u)) + d
    answers = [-np.expm1(-c * (t_end - t) / m) / c for t in times]
    exact = u[0, 0] / c * -np.expm1(-c * t_end / m) + float(jumps @ answers)
    errors = []
    for n in (10, 20, 40):
        run = with_delay(slider(n, damping=c), d)
        errors.append(abs(float(run.rollout(run.initial_state(), u).qd[-1, 0]) - exact))
    assert errors[0] < 1e-4
    assert errors[0] / errors[1] == pytest.approx(2, rel=0.3)
    assert errors[1] / errors[2] == pytest.approx(2, rel=0.3)


@pytest.mark.parametrize("substeps", [1, 3])
@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
@pytest.mark.parametrize("backend", ["kernel", "xla"])
def test_derivative_by_the_delay(substeps, mode, backend):
    """Equal to differences, within steps and, one-sided, where a switch leaves one; and at 0."""
    u = jnp.asarray(staircase())

    def end(d):
        run = with_delay(slider(substeps, damping=3.0, stiffness=80.0), d)
        return run.rollout(run.initial_state(), u, backend=backend).q[-1, 0]

    h = 1e-6
    for d in (0.0, 0.0017, 0.005, 0.0111):
        slope = float(mode(end)(d))
        # The end is piecewise linear in d: one-sided differences are exact but for rounding.
        assert slope == pytest.approx(float((end(d + h) - end(d)) / h), rel=1e-6)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.floats(0, 0.03), st.integers(1, 7), st.integers(1, 5))
def test_shares_are_means(d, substeps, back):
    """Shares of all commands add up to one, none is negative, their mean age is the delay."""
    simulator = with_delay(slider(longest=DT * back), d)
    actuator = simulator.model.actuator
    shares = np.asarray(delay_shares(actuator, simulator.dt, substeps, back))[..., 0]
    np.testing.assert_allclose(shares.sum(1), 1, atol=1e-12)
    assert shares.min() > -1e-12
    # With u(t) = t over the step and its past, sampled at the middle of each command.
    if d <= DT * back:
        age = shares.mean(0) @ (DT * np.arange(back + 1))
        assert age == pytest.approx(d, abs=DT * 1e-9)


def test_state_remembers_across_rollouts():
    """Two roll-outs, the second from the state that the first left, are one."""
    run, u = with_delay(slider(2, damping=1.0), 0.012), staircase()
    whole = run.rollout(run.initial_state(), u)
    first = run.rollout(run.initial_state(), u[:7])
    last = jax.tree.map(lambda x: x[-1], first.states)
    second = run.rollout(last, u[7:])
    np.testing.assert_allclose(second.q[-1], whole.q[-1], rtol=1e-13)
    stepped = run.initial_state()
    for row in u[:9]:
        stepped = run.step(stepped, jnp.asarray(row))
    np.testing.assert_allclose(stepped.q, whole.q[9], rtol=1e-12)
    with pytest.raises(gs.VariableError, match="remembers commands of shape"):
        run.rollout(replace(last, held=jnp.zeros((2, 1))), u)


def test_side_by_side():
    """Delays in lanes equal delays one by one."""
    u, delays = staircase(), np.array([0.0, 0.003, 0.0088])

    def end(d):
        run = with_delay(slider(2, stiffness=50.0), d)
        return run.rollout(run.initial_state(), u).q[-1, 0]

    np.testing.assert_allclose(
        jax.vmap(end)(jnp.asarray(delays)), [float(end(d)) for d in delays], rtol=1e-13
    )


def test_a_graft_changes_the_command_before_its_delay():
    """What is remembered is the command as the graft made it."""
    run, u = with_delay(slider(), 0.007), staircase()
    scope = {"control.u": lambda value, _: 2.0 * value}
    doubled = zoo.jit(lambda s: scan_steps(run, s, jnp.asarray(u), (), scope).q)(
        replace(run.initial_state(), held=2.0 * jnp.full((4, 1), u[0, 0]))
    )
    np.testing.assert_allclose(doubled, run.rollout(run.initial_state(), 2 * u).q, atol=1e-14)


def test_what_cannot_be():
    """Impossible delays are refused when the model is built, forgotten ones when it is run."""
    builder = gs.Builder("x")
    builder.link("a", mass=1.0, inertia=1.0)
    with pytest.raises(gs.ModelError, match="lies between 0 and"):
        builder.actuator("m", "a", delay=0.03, longest_delay=0.02)
    plain = gs.Simulator(zoo.double_pendulum(), 0.01)
    late = eqx.tree_at(lambda s: s.model, plain, slider().model)
    with pytest.raises(gs.ModelError, match="made for one without"):
        late.step(late.initial_state())
