"""A branch with derivatives of its own: the same numbers as a plain `cond`, in every mode."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim import kernels
from graftsim.seldom import seldom

XS = jnp.array([-1.0, 0.3, 2.0])


def far(x, scale):
    """Twelve turns of a map, where x is above a half."""
    v = jnp.stack([x, 2 * x])

    def f(v):
        return jax.lax.scan(lambda v, _: (jnp.sin(v) * scale + v**2 / 5, None), v, length=12)[0]

    return jnp.sum(seldom(x > 0.5, f, v))


def plain(x, scale):
    """The same with JAX's own."""
    v = jnp.stack([x, 2 * x])

    def f(v):
        return jax.lax.scan(lambda v, _: (jnp.sin(v) * scale + v**2 / 5, None), v, length=12)[0]

    return jnp.sum(jax.lax.cond(x > 0.5, f, lambda v: v, v))


MODES = {
    "value": lambda f: jax.vmap(f, (0, None)),
    "one by one": lambda f: lambda x, s: jnp.stack([f(xi, s) for xi in x]),
    "forward": lambda f: jax.vmap(jax.jacfwd(f, (0, 1)), (0, None)),
    "reverse": lambda f: jax.vmap(jax.grad(f, (0, 1)), (0, None)),
    "reverse over vmap": lambda f: jax.grad(lambda x, s: jnp.sum(jax.vmap(f, (0, None))(x, s))),
    "second": lambda f: jax.vmap(jax.hessian(f), (0, None)),
}


@pytest.mark.parametrize("mode", MODES)
def test_as_a_plain_branch(mode):
    """Values and derivatives in what is carried and what is closed over, on both backends."""
    wanted = jax.tree.leaves(MODES[mode](plain)(XS, 0.9))
    compiled = [] if mode == "second" else [kernels.compile(far, 1.0, 0.9)]
    for f in (far, *compiled):
        for a, b in zip(jax.tree.leaves(MODES[mode](f)(XS, 0.9)), wanted, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_long_side_runs_for_lanes_that_want_it():
    """Lanes that take the other way are untouched by what would be no number there."""

    kernel = kernels.compile(lambda x: jax.lax.cond(x > 0.5, g, lambda x: x, x), 1.0)
    x = jnp.linspace(-2.0, 2.0, 37)
    wanted = jax.vmap(lambda x: jnp.where(x > 0.5, g(jnp.abs(x)), x))(x)
    np.testing.assert_allclose(jax.vmap(kernel)(x), wanted, rtol=1e-12)
    assert np.all(np.isfinite(jax.vmap(kernel)(x)))


def g(x):
    """Newton's root in a loop without known length."""
    start = (x, jnp.asarray(0))
    return jax.lax.while_loop(
        lambda c: (jnp.abs(c[0] ** 2 - x) > 1e-12) & (c[1] < 50),
        lambda c: ((c[0] + x / c[0]) / 2, c[1] + 1),
        start,
    )[0]
