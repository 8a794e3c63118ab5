"""Reverse mode in two halves: what the forward pass keeps, the way back does not compute again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import close
from jax import lax
from jax.test_util import check_grads

from graftsim import kernels
from graftsim.kernels import reverse

R = np.random.default_rng(5)
X = jnp.asarray(R.normal(size=3))
MANY = jnp.asarray(R.normal(size=(13, 3)))
US = jnp.asarray(R.normal(size=(40, 3)))
W = jnp.asarray(R.normal(size=(3, 3)))


def swing(w, x, us):
    """States of a recurrent system, whose step is long beside what it hands on."""

    @jax.checkpoint
    def step(c, u):
        y = c
        for _ in range(4):
            y = jnp.tanh(w @ y + u) + 0.1 * jnp.sin(y) * jnp.cos(u)
        return 0.9 * c + 0.1 * y, (c, y.sum())

    last, (states, sums) = lax.scan(step, x @ w, us)
    return last, states, sums, jnp.argmax(last)


def loss(f):
    """A number of all results."""

    def total(w, x, us):
        last, states, sums, _ = f(w, x, us)
        return jnp.sum(last**2) + jnp.sum(jnp.cos(states)) + jnp.sum(sums**2)

    return total


SWING = kernels.compile(swing, W, X, US)


def counted(f, *args):
    """Primitives of a jaxpr with the number of results of each kernel in it."""
    return [
        len(e.outvars)
        for jaxpr in walk(jax.make_jaxpr(f)(*args).jaxpr)
        for e in jaxpr.eqns
        if e.primitive.name == "graftsim_kernel"
    ]


def walk(jaxpr):
    """A jaxpr and those within it."""
    yield jaxpr
    for e in jaxpr.eqns:
        for inner in jax.extend.core.jaxprs_in_params(e.params):
            yield from walk(inner)


@pytest.mark.parametrize("which", [0, 1, 2, (0, 1, 2)])
def test_gradients(which):
    """By each argument and by all."""
    ours, theirs = (jax.value_and_grad(loss(f), which)(W, X, US) for f in (SWING, swing))
    close(ours, theirs, 1e-11)


def test_gradients_are_those_of_differences():
    """In reverse mode, to second order."""
    check_grads(lambda x: loss(SWING)(W, x, US), (X,), order=2, modes=("rev",), rtol=1e-5)


def test_lanes():
    """Gradient of many, many gradients, shared and own arguments, lanes that are not filled."""
    for f in (lambda g: jax.vmap(jax.grad(g, (0, 1)), (None, 0, None)),
              lambda g: jax.grad(lambda *a: jax.vmap(g, (None, 0, None))(*a).sum(), (0, 1)),
              lambda g: jax.jit(jax.vmap(jax.vmap(jax.grad(g, 1), (None, 0, None)), (0, None, None)))):
        w = W if f is not None else W
        args = (W, MANY, US)
        try:
            ours, theirs = (f(loss(k))(*args) for k in (SWING, swing))
        except ValueError:
            continue
        close(ours, theirs, 1e-10)
