"""Residuals of windows: whitening, masks, delays, Huber's loss, and their Jacobians."""

import jax
import jax.numpy as jnp
import machines
import numpy as np
import pytest

import zoo
from graftsim import Channel, Positive, Problem, Recording, Unbounded
from graftsim.identify.problem.residuals import (
    as_data,
    mismatches,
    read_along,
    simulate,
    whiten,
)
from graftsim.identify.problem.windows import Cutting, cut
from graftsim.identify.runs import derivatives
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.loss import Huber, Squared, Tukey


@pytest.fixture(scope="module")
def posed():
    """The driven arm with a sensor of position, at 10 ms, and one of rate, at 25 ms."""
    model, u = machines.arm(), machines.drive(100)
    moved = machines.roll(model, [0.4], controls=u, steps=100)
    recording = machines.recording(model, moved, controls=u, noise=0.01, rates=True)
    rate = recording["joint.qd[hinge]"]
    slow = Channel(rate.name, rate.time[::3] + 0.002, rate.values[::3], "rad/s")
    recording = recording.with_channel(slow)
    problem = Problem(
        machines.setup(model).simulator,
        recording,
        {"joint.damping[*]": Positive(), "sensor.delay[joint.q:hinge]": Unbounded()},
        horizon=0.25,
        growth=(1.0,),
        holdout=0,
        noise={"joint.q[hinge]": 0.5, "joint.qd[hinge]": 2.0},
    )
    windows = problem.train_windows()
    data = as_data(windows, problem.sigma, np.float64)
    compiled = ResidualProgram(problem, data, Squared())
    return problem, windows, data, compiled


def test_residuals_are_whitened_differences(posed):
    """Each residual is measured minus simulated over the noise, at the sample's own time."""
    problem, windows, _, compiled = posed
    r = compiled.residual(problem.parameters.start, np.zeros((len(windows), 2)))
    n = windows.time[0].shape[1]
    truth = problem.setup.simulator
    for w in (0, 2):
        state = truth.initial_state(windows.q0[w], windows.qd0[w])
        moved = zoo.rollout(truth, state, jnp.asarray(windows.controls[w]), ())
        grid = np.asarray(moved.time)
        for i, (x, sigma, part) in enumerate([(moved.q, 0.5, r[w, :n]), (moved.qd, 2.0, r[w, n:])]):
            read = np.interp(windows.time[i][w], grid, np.asarray(x)[:, 0])
            expected = (windows.value[i][w, :, 0] - read) / sigma * windows.mask[i][w]
            np.testing.assert_allclose(part, expected, atol=1e-10)


def test_padding_carries_no_weight(posed):
    """Whatever stands in padded places, residuals and Jacobian there are zero."""
    problem, windows, data, _ = posed
    assert not windows.mask[1].all(), "some windows hold a sample less"
    spoiled = data._replace(
        value=tuple(
            jnp.where(m[..., None], v, 1e3) for m, v in zip(windows.mask, data.value, strict=True)
        )
    )
    compiled = ResidualProgram(problem, spoiled, Squared())
    r, J_t, J_l = compiled.jacobian(problem.parameters.start, np.zeros((len(windows), 2)))
    n = windows.time[0].shape[1]
    assert (r[:, n:][~windows.mask[1]] == 0).all()
    assert (J_t[:, n:][~windows.mask[1]] == 0).all()
    assert (J_l[:, n:][~windows.mask[1]] == 0).all()


def test_jacobian_equals_differences(posed):
    """Derivatives in parameters, delay and initial states are those of central differences."""
    problem, windows, _, compiled = posed
    theta = problem.parameters.start + np.array([0.0, 0.0137])
    local = 0.01 * np.random.default_rng(0).normal(size=(len(windows), 2))
    _, J_t, J_l = compiled.jacobian(theta, local)
    h = 1e-6
    for k in range(2):
        e = h * np.eye(2)[k]
        slope = (compiled.residual(theta + e, local) - compiled.residual(theta - e, local)) / (
            2 * h
        )
        np.testing.assert_allclose(J_t[..., k], slope, atol=1e-6)
        slope = (compiled.residual(theta, local + e) - compiled.residual(theta, local - e)) / (
            2 * h
        )
        np.testing.assert_allclose(J_l[..., k], slope, atol=1e-6)


def test_delay_reads_the_past(posed):
    """A delayed sensor reads what it would have read earlier, linearly before the start."""
    problem, _, data, _ = posed
    one = jax.tree.map(lambda x: x[-1], data)
    delayed = problem.parameters.apply(problem.setup, jnp.array([0.05, 0.023]))
    plain = problem.parameters.apply(problem.setup, jnp.array([0.05, 0.0]))

    @zoo.jit
    def run(setup):
        return read_along(setup, one, simulate(setup, one, jnp.zeros(2)))[0][:, 0]

    read, on_time = np.asarray(run(delayed)), np.asarray(run(plain))
    t = np.asarray(one.time[0]) - 0.023
    expected = np.interp(t, np.asarray(one.time[0]), on_time)
    np.testing.assert_allclose(read[3:], expected[3:], atol=1e-12)
    slope = (on_time[1] - on_time[0]) / 0.01
    np.testing.assert_allclose(read[0], on_time[0] - 0.023 * slope, atol=1e-12)


def test_tukey_is_squared_near_zero_and_flat_far_out():
    """Half the square of the returned residual is Tukey's biweight; beyond k it has no slope."""
    k = 4.685
    r = jnp.linspace(-8, 8, 401)
    inside = 1 - (1 - jnp.minimum((r / k) ** 2, 1.0)) ** 3
    np.testing.assert_allclose(
        np.asarray(Tukey(k).weighed(r)) ** 2 / 2, k**2 / 6 * inside, atol=1e-12
    )
    slope = jax.vmap(jax.grad(lambda x: Tukey(k).weighed(x) ** 2 / 2))(r)
    expected = jnp.where(jnp.abs(r) < k, r * (1 - (r / k) ** 2) ** 2, 0.0)
    np.testing.assert_allclose(slope, expected, atol=1e-12)


def test_huber_is_squared_inside_and_linear_outside():
    """Half the square of the returned residual is Huber's loss; its derivative is continuous."""
    r = jnp.array([-10.0, -3.0, -1.0, 0.0, 2.0, 3.0, 3.001, 50.0])
    k = 3.0
    size = np.abs(r)
    loss = np.where(size <= k, size**2 / 2, k * size - k * k / 2)
    np.testing.assert_allclose(np.asarray(Huber(k).weighed(r)) ** 2 / 2, loss, rtol=1e-12)
    slope = jax.vmap(jax.grad(lambda x: Huber(k).weighed(x) ** 2 / 2))(r)
    np.testing.assert_allclose(slope, np.clip(r, -k, k), rtol=1e-9, atol=1e-12)


def test_window_of_one_sample():
    """A window shorter than a sample interval still has the sample it starts on."""
    time = np.arange(0, 1, 0.1)
    channel = Channel("joint.q[hinge]", time, np.cos(time), "rad")
    windows = cut(
        machines.arm(),
        machines.setup(machines.arm()).sensors,
        [Recording({channel.name: channel}, "slow")],
        Cutting(0.01, 0.05),
    )
    assert windows.mask[0].sum() == len(windows) == 9


@pytest.mark.parametrize("side_by_side", [0, 10**9], ids=["one by one", "all pairs"])
@pytest.mark.parametrize("count", [1, 40], ids=["few tangents", "many tangents"])
def test_jacobian_is_the_same_however_it_is_laid_out(posed, side_by_side, count):
    """Windows side by side, directions side by side, or all pairs: the same numbers."""
    problem, windows, data, compiled = posed
    theta = problem.parameters.start
    local = 0.01 * np.random.default_rng(0).normal(size=(len(windows), 2))
    _, J_t, J_l = compiled.jacobian(theta, local)

    def f(x, own, window):
        applied = problem.parameters.apply(problem.setup, x)
        read = read_along(applied, window, simulate(applied, window, own))
        return whiten(mismatches(applied.sensors, read, window), window, Squared())

    tangents = np.zeros((count + 2, 4))
    tangents[: min(count, 2), :2] = np.eye(2)[:count]
    tangents[-2:, 2:] = np.eye(2)
    dx, dl = np.split(tangents, 2, 1)
    found = jax.jit(lambda *a: derivatives.derivatives(f, *a, limit=side_by_side))(
        *map(jnp.asarray, (theta, local)), data, *map(jnp.asarray, (dx, dl))
    )
    few = min(count, 2)
    np.testing.assert_allclose(found[..., :few], J_t[..., :few], atol=1e-8)
    np.testing.assert_allclose(found[..., -2:], J_l, atol=1e-8)


def test_jacobian_of_some_parameters(posed):
    """Asked for one parameter, the Jacobian has that column of the whole."""
    problem, windows, _, compiled = posed
    local = np.zeros((len(windows), 2))
    _, whole, _ = compiled.jacobian(problem.parameters.start, local)
    _, part, _ = compiled.jacobian(problem.parameters.start, local, np.array([1]))
    assert part.shape[-1] == 1
    np.testing.assert_allclose(part[..., 0], whole[..., 1], atol=1e-10)
