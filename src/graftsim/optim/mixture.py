"""A mixture of Gaussians with learned weights, and samples of it that can be differentiated.

To choose a kernel is not differentiable. The relaxation (Jang et al. 2017; Maddison et al. 2017)
blends all of them instead, with weights that are nearly one-hot at a low temperature:

    gamma = softmax((log phi + G) / temperature),   x = sum_k gamma_k (mu_k + sigma_k eps_k),

with G Gumbel and eps normal. A blend lies between kernels, so it is a sample of the mixture only
in the limit of temperature zero.
"""

from __future__ import annotations

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


class GaussianMixture(eqx.Module):
    """k kernels with diagonal deviations over n numbers: logits [k], means and log_stds [k, n]."""

    logits: Float[Array, "*b k"]
    means: Float[Array, "*b k n"]
    log_stds: Float[Array, "*b k n"]

    @property
    def log_weights(self) -> Float[Array, "*b k"]:
        """Logarithms of the mixing weights phi, which sum to one."""
        return jax.nn.log_softmax(self.logits, -1)

    @property
    def weights(self) -> Float[Array, "*b k"]:
        """Mixing weights phi."""
        return jax.nn.softmax(self.logits, -1)

    @property
    def stds(self) -> Float[Array, "*b k n"]:
        """Deviations sigma of the kernels."""
        return jnp.exp(self.log_stds)

    @property
    def mean(self) -> Float[Array, "*b n"]:
        """Mean of the mixture."""
        return jnp.sum(self.weights[..., None] * self.means, -2)

    @property
    def std(self) -> Float[Array, "*b n"]:
        """Standard deviation of the mixture: within its kernels and between them."""
        apart = self.means - self.mean[..., None, :]
        within = self.stds**2 + apart**2
        return jnp.sqrt(jnp.sum(self.weights[..., None] * within, -2))

    def log_density(self, x: Float[Array, " n"]) -> Float[Array, ""]:
        """log sum_k phi_k N(x; mu_k, sigma_k^2)."""
        z = (x - self.means) / self.stds
        kernels = -0.5 * jnp.sum(z * z + jnp.log(2 * jnp.pi), -1) - jnp.sum(self.log_stds, -1)
        return jax.nn.logsumexp(self.log_weights + kernels, -1)

    def each(self, key: Any, count: int) -> Float[Array, "count k n"]:
        """Samples of every kernel, differentiable in means and deviations."""
        eps = jax.random.normal(key, (count, *self.means.shape), self.means.dtype)
        return self.means + self.stds * eps

    def sample(self, key: Any, count: int) -> Float[Array, "count n"]:
        """Exact samples: one kernel is chosen for each. The choice has no derivative."""
        choose, move = jax.random.split(key)
        kernel = jax.random.categorical(choose, self.logits, shape=(count,))
        eps = jax.random.normal(move, (count, self.means.shape[-1]), self.means.dtype)
        return self.means[kernel] + self.stds[kernel] * eps

    def relaxed(
        self, key: Any, count: int, temperature: float
    ) -> tuple[Float[Array, "count n"], Float[Array, "count k"]]:
        """Samples by the Gumbel-softmax relaxation, and the blends gamma they were made with.

        Differentiable in logits, means and deviations; see the module.
        """
        choose, move = jax.random.split(key)
        shape = (count, self.logits.shape[-1])
        gumbel = jax.random.gumbel(choose, shape, self.logits.dtype)
        gamma = jax.nn.softmax((self.log_weights + gumbel) / temperature, -1)
        return jnp.sum(gamma[..., None] * self.each(move, count), -2), gamma


def spread_mixture(
    rng: np.random.Generator, kernels: int, low: np.ndarray, high: np.ndarray, std: np.ndarray
) -> GaussianMixture:
    """Kernels of equal weight and deviation `std` [n], their means uniform between bounds [n]."""
    means = rng.uniform(low, high, (kernels, len(low)))
    log_stds = np.broadcast_to(np.log(std), means.shape)
    return GaussianMixture(jnp.zeros(kernels), jnp.asarray(means), jnp.asarray(log_stds))
