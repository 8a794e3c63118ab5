"""Primitives that kernels do not know, in a user's own file: ln Gamma and its derivative."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim import kernels
from graftsim.errors import KernelError
from graftsim.kernels import elementary, kept
from graftsim.kernels.functions.logarithm import log
from graftsim.kernels.ir.fingerprint import UNNAMED
from graftsim.kernels.ir.trace import RULES

# Bernoulli's numbers B2, B4, ...
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def digamma(m, x):
    """Of x > 0: the asymptotic series at x + 8, and the recurrence down from there."""
    down = m.div(1.0, x)
    for i in range(1, 8):
        down = m.add(down, m.div(1.0, m.add(x, float(i))))
    z = m.add(x, 8.0)
    s = m.div(1.0, m.mul(z, z))
    rest = m.mul(s, m.horner([b / (2 * k) for k, b in enumerate(BERNOULLI, 1)], s))
    value = m.sub(m.sub(m.sub(log(m, z), m.div(0.5, z)), rest), down)
    return m.where(m.gt(x, 0.0), value, np.nan)


def lgamma(m, x):
    """Of x > 0: Stirling's series, and the recurrence in logarithms."""
    down = log(m, x)
    for i in range(1, 8):
        down = m.add(down, log(m, m.add(x, float(i))))
    z = m.add(x, 8.0)
    s = m.div(1.0, m.mul(z, z))
    terms = [b / (2 * k * (2 * k - 1)) for k, b in enumerate(BERNOULLI, 1)]
    rest = m.add(m.div(m.horner(terms, s), z), np.log(2 * np.pi) / 2)
    value = m.sub(m.add(m.sub(m.mul(m.sub(z, 0.5), log(m, z)), z), rest), down)
    return m.where(m.gt(x, 0.0), value, np.nan)


@pytest.fixture(autouse=True)
def known():
    """The two primitives, for a test."""
    for f in (lgamma, digamma):
        elementary(f.__name__)(f)
    yield
    for f in (lgamma, digamma):
        del RULES[f.__name__]
    UNNAMED.clear()


def surprise(rate, counts):
    """Minus the logarithm of a Poisson law's likelihood: of a detector that counts."""
    return jnp.sum(rate - counts * jnp.log(rate) + jax.lax.lgamma(counts + 1.0))


def test_values_and_derivatives():
    """ln n! of whole numbers; elsewhere, and its derivative, as JAX has them; NaN below zero."""
    kernel = kernels.compile(jax.lax.lgamma, 1.0)
    n = np.arange(1.0, 30.0)
    exact = np.cumsum(np.log(n))
    assert np.abs(jax.vmap(kernel)(n + 1) - exact).max() < 1e-12
    x = np.geomspace(1e-3, 1e5, 200)
    for ours, theirs in (
        (jax.vmap(kernel)(x), jax.lax.lgamma(x)),
        (jax.vmap(jax.grad(kernel))(x), jax.lax.digamma(x)),
    ):
        assert np.abs((ours - theirs) / (1 + np.abs(theirs))).max() < 1e-12
    assert np.isnan(kernel(-0.5))


def test_in_float32():
    """In the type of the argument, to its rounding."""
    x = np.geomspace(0.1, 1e3, 50, dtype=np.float32)
    kernel = kernels.compile(jax.lax.lgamma, np.float32(1))
    found = jax.vmap(kernel)(x)
    expected = jax.lax.lgamma(x.astype(float))
    assert found.dtype == np.float32
    assert np.abs((found - expected) / (1 + np.abs(expected))).max() < 1e-5


def test_within_a_function():
    """Both among other operations, differentiated by the rate: n - sum(counts) / rate."""
    counts = jnp.array([0.0, 3.0, 7.0])
    kernel = kernels.compile(surprise, 2.0, counts)
    assert float(kernel(2.0, counts)) == pytest.approx(float(surprise(2.0, counts)), abs=1e-12)
    assert float(jax.grad(kernel)(2.0, counts)) == pytest.approx(3 - 10 / 2.0, abs=1e-12)
    slope = jax.grad(kernel, 1)(2.0, counts)
    assert np.abs(slope - (jax.lax.digamma(counts + 1) - np.log(2.0))).max() < 1e-12


def test_nothing_is_kept_that_could_be_out_of_date(monkeypatch, tmp_path):
    """Another function under the same name is another kernel, whatever lies on disk."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))
    jaxpr = jax.make_jaxpr(jax.lax.lgamma)(1.0)
    assert kept.name(jaxpr, [None], [False], False) is None
    assert kept.name(jax.make_jaxpr(jnp.sin)(1.0), [None], [False], False) is not None
    first = kernels.compile(lambda x: jax.lax.lgamma(x), 1.0)(3.0)
    elementary("lgamma")(lambda m, x: m.add(x, 1.0))
    second = kernels.compile(lambda x: jax.lax.lgamma(x), 1.0)(3.0)
    assert first == pytest.approx(np.log(2.0)) and second == 4.0


def test_the_packages_own_stay():
    """A rule of the package is not replaced by accident."""
    with pytest.raises(KernelError, match="have a rule for the primitive 'sin'"):
        elementary("sin")(digamma)
