"""A mixture of Gaussians and its Gumbel-softmax relaxation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim.optim.mixture import GaussianMixture, spread_mixture

LAMBDA = 2 / 3


@pytest.fixture
def mixture():
    """Two numbers, three kernels that differ in everything."""
    means = jnp.array([[-1.0, 0.5], [0.3, -0.4], [1.2, 2.0]])
    return GaussianMixture(jnp.array([0.2, -0.5, 0.7]), means, jnp.log(0.2 + 0.1 * jnp.abs(means)))


def relaxed_log_density(q, gamma, x):
    """log p(gamma, x): the concrete density (Maddison et al. 2017, eq. 10) and a Gaussian."""
    k = gamma.shape[-1]
    rest = -(LAMBDA + 1) * jnp.log(gamma) + q.log_weights
    total = k * jax.nn.logsumexp(q.log_weights - LAMBDA * jnp.log(gamma), -1)
    mean = jnp.sum(gamma[:, None] * q.means, 0)
    var = jnp.sum(gamma[:, None] ** 2 * q.stds**2, 0)
    normal = -0.5 * jnp.sum((x - mean) ** 2 / var + jnp.log(var))
    return jnp.sum(rest) - total + normal


def test_the_gradient_of_the_sampler_is_that_of_the_score_function(mixture):
    """d E[f] by the sampler's derivative and by E[f d log p], which needs no derivative of f."""

    def f(x):
        return jnp.sum(jnp.sin(x)) + 0.3 * x[0] * x[1]

    def expected(q, key):
        return jnp.mean(jax.vmap(f)(q.relaxed(key, 5_000, LAMBDA)[0]))

    def score(key):
        x, gamma = mixture.relaxed(key, 5_000, LAMBDA)
        value = jax.vmap(f)(x)
        slopes = jax.vmap(jax.grad(relaxed_log_density), (None, 0, 0))(mixture, gamma, x)
        own = value - value.mean()
        return jax.tree.map(lambda s: jnp.mean(own.reshape(-1, *[1] * (s.ndim - 1)) * s, 0), slopes)

    keys = jax.random.split(jax.random.key(1), 40)
    direct = jax.jit(jax.vmap(jax.grad(expected), (None, 0)))(mixture, keys)
    scored = jax.jit(jax.vmap(score))(keys)
    for a, b in zip(jax.tree.leaves(direct), jax.tree.leaves(scored), strict=True):
        noise = np.sqrt((a.var(0) + b.var(0)) / len(keys))
        np.testing.assert_array_less(np.abs(a.mean(0) - b.mean(0)), 4 * noise)
        # Nor is the noise so large that anything would pass.
        assert np.max(np.abs(b.mean(0)) / noise) > 20


def test_at_low_temperature_one_kernel_is_chosen(mixture):
    """gamma becomes one-hot, each kernel as often as its weight says."""
    _, gamma = mixture.relaxed(jax.random.key(0), 20_000, 1e-3)
    assert np.mean(gamma.max(-1) > 0.999) > 0.99
    chosen = np.bincount(np.argmax(gamma, -1), minlength=3) / 20_000
    np.testing.assert_allclose(chosen, mixture.weights, atol=4 * np.sqrt(0.25 / 20_000))
    _, soft = mixture.relaxed(jax.random.key(0), 1000, LAMBDA)
    np.testing.assert_allclose(soft.sum(-1), 1.0)
    assert np.mean(soft.max(-1) > 0.999) < 0.2


def test_samples_follow_the_density(mixture):
    """Mean and deviation of samples, and the density's integral over a grid."""
    x = np.asarray(mixture.sample(jax.random.key(2), 100_000))
    np.testing.assert_allclose(x.mean(0), mixture.mean, atol=0.02)
    np.testing.assert_allclose(x.std(0), mixture.std, rtol=0.01)
    side = jnp.linspace(-4, 5, 200)
    grid = jnp.stack(jnp.meshgrid(side, side), -1).reshape(-1, 2)
    density = np.exp(jax.vmap(mixture.log_density)(grid))
    cell = float(side[1] - side[0]) ** 2
    assert density.sum() * cell == pytest.approx(1.0, rel=1e-6)
    below = np.mean((x < np.array([0.0, 0.0])).all(1))
    inside = np.asarray((grid < 0).all(1))
    assert density[inside].sum() * cell == pytest.approx(below, abs=0.01)


def test_a_start_is_spread_over_its_bounds():
    """Equal weights, means between the bounds."""
    low, high = np.array([0.0, 5.0]), np.array([1.0, 9.0])
    start = spread_mixture(np.random.default_rng(0), 4, low, high, np.array([0.1, 0.2]))
    np.testing.assert_allclose(start.weights, 0.25)
    np.testing.assert_allclose(start.stds[2], [0.1, 0.2])
    assert ((start.means > low) & (start.means < high)).all()
