"""Functions made safe at zero: exact there, continuous at the seam of series and formula."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim.spatial import safe

LONG = np.longdouble
# Exact functions in extended precision, argument from zero across the seam.
FUNCTIONS = {
    "cos_sqrt": (safe.cos_sqrt, lambda s: np.cos(np.sqrt(s))),
    "sinc_sqrt": (safe.sinc_sqrt, lambda s: np.sin(np.sqrt(s)) / np.sqrt(s)),
    "angle_per_sine": (
        lambda s: safe.angle_per_sine(s, jnp.ones_like(s)),
        lambda s: np.arctan(np.sqrt(s)) / np.sqrt(s),
    ),
    "tanh_ratio": (safe.tanh_ratio, lambda s: np.tanh(s) / s),
}
POINTS = np.array(
    [1e-30, 1e-12, 1e-6, 1e-3, 9.9e-3, 9.9999e-3, 1.0001e-2, 0.0499, 0.0501, 0.3, 1.0]
)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_are_exact(name):
    """Within two units in the last place of extended precision, on both sides of the seam."""
    function, exact = FUNCTIONS[name]
    expected = np.asarray(exact(POINTS.astype(LONG)), float)
    assert np.allclose(function(jnp.asarray(POINTS)), expected, rtol=5e-16, atol=0)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_continuous(name):
    """First and second derivatives are finite at zero and agree across the seam."""
    function = FUNCTIONS[name][0]
    for seam in (1e-2, 0.05):
        for order in (jax.grad(function), jax.grad(jax.grad(function))):
            assert np.isfinite(order(0.0))
            assert np.isclose(order(seam * (1 - 1e-9)), order(seam * (1 + 1e-9)), rtol=1e-6)


@pytest.mark.parametrize("mode", [jax.jacfwd, jax.jacrev])
def test_norm_and_normalise_at_zero(mode):
    """At the zero vector the norm has gradient 0 (the mean of one-sided slopes), not NaN (G3)."""
    zero = jnp.zeros(3)
    assert np.array_equal(mode(safe.norm)(zero), zero)
    assert np.all(np.isfinite(mode(safe.normalise)(zero)))
    x = jnp.array([1.0, -2.0, 2.0])
    assert np.allclose(mode(safe.norm)(x), x / 3)
    assert np.isclose(jnp.linalg.norm(safe.normalise(x)), 1)


def test_sqrt_at_zero():
    """Square root of zero has value and gradient zero."""
    assert safe.sqrt(jnp.array(0.0)) == 0
    assert jax.grad(safe.sqrt)(0.0) == 0
    assert np.isclose(jax.grad(safe.sqrt)(4.0), 0.25)
