"""The unrolled solver of small symmetric systems against NumPy, with its gradient."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import zoo
from graftsim.solvers.small import solve


def systems(n, count=5):
    """Positive matrices of widely spread eigenvalues, and right-hand sides."""
    rng = np.random.default_rng(n)
    Q = np.linalg.qr(rng.normal(size=(count, n, n)))[0]
    A = Q @ (10.0 ** rng.uniform(-3, 3, (count, n, 1)) * np.swapaxes(Q, 1, 2))
    return jnp.asarray((A + np.swapaxes(A, 1, 2)) / 2), jnp.asarray(rng.normal(size=(count, n, 2)))


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_solution_is_numpys(n):
    """Batched systems of condition up to 1e6 are solved to 1e-9."""
    A, B = systems(n)
    expected = np.linalg.solve(A, B)
    error = np.abs(zoo.jit(solve)(A, B) - expected).max() / np.abs(expected).max()
    assert error < 1e-9


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_gradient_is_the_implicit_one(mode):
    """dX = -A^-1 dA X, dX = A^-1 dB, in both modes under jit and vmap."""
    A, B = systems(3)
    by_A, by_B = zoo.jit(jax.vmap(mode(solve, argnums=(0, 1))))(A, B)
    inverse, X = np.linalg.inv(A), np.linalg.solve(A, B)
    assert np.allclose(by_A, -np.einsum("sik,slj->sijkl", inverse, X), rtol=1e-7, atol=1e-7)
    assert np.allclose(by_B, np.einsum("sik,jl->sijkl", inverse, np.eye(2)), rtol=1e-7, atol=1e-7)
