"""A network outside the engine: from the tuned model's pose and the measured wrench to the pose.

6-5-5-3, ELU, 83 parameters, as the paper's authors tried. It corrects each sample by itself.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from pushes import Pushes
from pushing_fit import MISS
from scipy.optimize import minimize

import graftsim as gs

SCALES = np.array([0.1, 0.1, 1.0, 3.0, 3.0, 0.1])
PRICE = 1e-4


def _seen(path: np.ndarray, pushes: Pushes) -> np.ndarray:
    """Inputs [n, t, 6]: simulated pose, measured wrench."""
    return np.concatenate([path, pushes.wrench], -1) / SCALES


def _network(seed: int) -> eqx.Module:
    return gs.MLP(5, 5, activation="elu").build(6, 3, jax.random.key(seed), jnp.float64)


def fit(path: np.ndarray, pushes: Pushes, iterations: int, seed: int = 0) -> np.ndarray:
    """Weights [83] of least misses on the samples that count; `path`: of the tuned model."""
    flat, unravel = ravel_pytree(_network(seed))
    x, off = jnp.asarray(_seen(path, pushes)), jnp.asarray((pushes.pose - path) / MISS)
    weight = jnp.asarray(pushes.counts / pushes.counts.sum())

    @jax.jit
    @jax.value_and_grad
    def cost(w: jax.Array) -> jax.Array:
        miss = jnp.sum((jax.vmap(jax.vmap(unravel(w)))(x) - off) ** 2, -1)
        return jnp.sum(weight * (jnp.sqrt(1 + miss) - 1)) + PRICE * jnp.sum(w * w)

    def evaluate(w: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = cost(jnp.asarray(w))
        return float(value), np.asarray(gradient)

    options = {"maxiter": iterations}
    return minimize(evaluate, np.asarray(flat), jac=True, method="L-BFGS-B", options=options).x


def corrected(weights: np.ndarray, path: np.ndarray, pushes: Pushes) -> np.ndarray:
    """Poses of the tuned model with what the network adds."""
    network = ravel_pytree(_network(0))[1](jnp.asarray(weights))
    return path + MISS * np.asarray(jax.vmap(jax.vmap(network))(jnp.asarray(_seen(path, pushes))))
