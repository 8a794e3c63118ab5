"""Posteriors by NUTS and by a mixture, against quadrature and against the fit."""

import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
from graftsim.identify.posterior.density import Density, Space
from graftsim.identify.runs.residual_program import compile_windows

NOISE = 0.02


def swing(damping=0.1, seed=0, free=None, noise=NOISE, **options):
    """A swing of a second, 20 samples with noise, released from a known angle."""
    b = gs.Builder("swing")
    b.link(
        "rod",
        axis=(1, 0, 0),
        mass=1.0,
        com=(0, 0, -0.5),
        inertia=0.02,
        damping=damping,
        joint_name="hinge",
    )
    simulator = gs.Simulator(b.build(), 0.05, integrator=gs.ImplicitDamping())
    q = np.asarray(simulator.rollout(simulator.initial_state([1.0]), steps=20).q)[:, 0]
    q = q + noise * np.random.default_rng(seed).normal(size=q.shape)
    channel = gs.Channel("joint.q[hinge]", np.linspace(0, 1, 21), q, "rad")
    known = {
        "initial": lambda *_: (np.array([1.0]), np.zeros(1)),
        "fit_initial": False,
        "horizon": 1.0,
        "growth": (1.0,),
    }
    return gs.Problem(
        simulator,
        gs.Recording({channel.name: channel}, "swing"),
        free or {"joint.damping[hinge]": gs.Positive()},
        noise={channel.name: noise},
        holdout=0,
        **(known | options),
    )


@pytest.fixture(scope="module")
def at_the_bound():
    """No damping in truth: the posterior is cut off at zero. And its fit."""
    problem = swing(damping=0.0)
    return problem, gs.fit(problem)


def quadrature(problem, low, high):
    """Mean and deviation of the only parameter's posterior, by its density on a grid."""
    compiled = compile_windows(problem, problem.train_windows())
    theta = np.linspace(low, high, 4000)[:, None]
    r = compiled.many_residuals(theta, np.zeros((len(theta), 1, 0)))
    log = -0.5 * np.sum(r * r, (1, 2))
    w = np.exp(log - log.max())
    w /= w.sum()
    mean = w @ theta[:, 0]
    return mean, np.sqrt(w @ (theta[:, 0] - mean) ** 2)


def test_nuts_is_right_at_a_bound(at_the_bound):
    """The mean of a density that is cut off, where an interval from the fit has nothing to say."""
    problem, result = at_the_bound
    posterior = gs.nuts(problem, result, draws=600, warmup=200, chains=2)
    mean, std = quadrature(problem, 0.0, 0.2)
    assert posterior.theta.shape == (2, 600, 1)
    assert posterior.theta.min() > 0
    assert posterior.mean[0] == pytest.approx(mean, abs=4 * std / np.sqrt(posterior.ess[0]))
    assert posterior.std[0] == pytest.approx(std, rel=0.1)
    assert posterior.rhat[0] < 1.02 and posterior.divergences < 40
    row = posterior.summary[0]
    assert row.name == "joint.damping[hinge]" and row.low < row.median < row.high
    held = (posterior.flat[:, 0] > row.low) & (posterior.flat[:, 0] < row.high)
    assert held.mean() == pytest.approx(0.95, abs=0.01)
    np.testing.assert_allclose(posterior.interval(0.95)[0], [row.low, row.high])
    assert "joint.damping[hinge]" in str(posterior)


def test_a_mixture_with_entropy_is_right_at_a_bound(at_the_bound):
    """As NUTS; and without entropy it is too narrow, and says that it is no posterior."""
    problem, result = at_the_bound
    found = gs.fit_mixture(problem, result, gs.Training(epochs=200))
    mean, std = quadrature(problem, 0.0, 0.2)
    posterior = found.posterior()
    assert posterior.mean[0] == pytest.approx(mean, rel=0.1)
    assert posterior.std[0] == pytest.approx(std, rel=0.1)
    assert found.effective > 0.9 and not posterior.warnings
    assert np.isnan(posterior.summary[0].rhat)


@pytest.fixture(scope="module")
def free_states():
    """Two windows, each from an initial state of its own, and little noise."""
    free = {"link.com[rod].z": gs.Unbounded()}
    return swing(free=free, noise=1e-3, horizon=0.45, initial="free", fit_initial=True)


def test_coordinates_around_a_fit_are_nearly_standard_normal(free_states):
    """Parameters and initial states together: the log density is minus half the square."""
    windows = free_states.train_windows()
    density = Density(free_states, compile_windows(free_states, windows))
    at = density.around(free_states.parameters.start)
    assert density.dimension == 1 + 2 * 2
    x = jax.random.normal(jax.random.key(0), (200, density.dimension))
    log = jax.jit(jax.vmap(lambda x: density.log(x, at, density.data)))(x)
    off = np.asarray(log + 0.5 * jnp.sum(x * x, -1))
    assert np.std(off) < 0.2


@pytest.mark.slow
def test_free_initial_states_are_drawn_too(free_states):
    """As wide as what is left of the fit's information when initial states are unknown."""
    result = gs.fit(free_states)
    posterior = gs.nuts(free_states, result, draws=500, warmup=300)
    windows = free_states.train_windows()
    density = Density(free_states, compile_windows(free_states, windows))
    std = abs(float(density.around(result.theta).spread[0, 0])) * float(density.space.size[0])
    assert posterior.std[0] == pytest.approx(std, rel=0.1)
    assert posterior.mean[0] == pytest.approx(result.theta[0], abs=0.3 * std)
    mixture = gs.fit_mixture(free_states, result, gs.Training(epochs=200))
    assert mixture.posterior().std[0] == pytest.approx(std, rel=0.1)


def test_bounds_by_a_smooth_transform():
    """There and back, and the slope, for each kind of bound."""
    inf = jnp.inf
    space = Space(
        jnp.array([0.0, 1.0, -inf, -inf]), jnp.array([2.0, inf, 3.0, inf]), jnp.ones(4),
        jnp.array([1.0, 0.5, 2.0, 3.0]),
    )  # fmt: skip
    u = jnp.array([[-2.0, 0.3, 1.5, -0.7], [4.0, -6.0, -3.0, 8.0]])
    theta = jax.vmap(space.theta)(u)
    assert ((theta > space.lower) & (theta < space.upper)).all()
    np.testing.assert_allclose(jax.vmap(space.u)(theta), u, rtol=1e-9)
    slope = jax.vmap(lambda u: jnp.diag(jax.jacobian(space.theta)(u)))(u)
    np.testing.assert_allclose(np.exp(jax.vmap(space.log_slope)(u)), np.abs(slope), rtol=1e-9)


def test_the_density_is_that_of_the_cost():
    """Cost of the residuals, prior and slope of the transform; gradient by differences."""
    free = {"joint.damping[hinge]": gs.Bounds(0, 1, prior=gs.Prior(0.2, 0.1))}
    problem = swing(free=free)
    compiled = compile_windows(problem, problem.train_windows(1.0))
    density = Density(problem, compiled)
    at = density.around(problem.parameters.start)
    x = jnp.array([0.4])
    theta = np.asarray(density.theta(x, at))
    r = compiled.residual(theta, np.zeros((1, 0)))
    share = theta[0]
    expected = -0.5 * np.sum(r**2) - 0.5 * ((theta[0] - 0.2) / 0.1) ** 2
    expected += np.log(share * (1 - share))
    log = jax.jit(lambda x: density.log(x, at, density.data))
    assert float(log(x)) == pytest.approx(float(expected), rel=1e-9)
    h = 1e-5
    slope = float(log(x + h) - log(x - h)) / (2 * h)
    assert float(jax.grad(log)(x)[0]) == pytest.approx(slope, rel=1e-5)


def test_blackjax_missing_is_said(monkeypatch):
    """The extra that brings it is named; and nothing free is an error too."""
    with pytest.raises(gs.ProblemError, match="No parameter is free"):
        gs.nuts(gs.Problem(swing().simulator, swing().recordings, (), holdout=0))
    monkeypatch.setitem(sys.modules, "blackjax", None)
    with pytest.raises(gs.ProblemError, match=r"graftsim\[posterior\]"):
        gs.nuts(swing())
