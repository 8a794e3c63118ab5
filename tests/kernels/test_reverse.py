"""Reverse mode in two halves: what the forward pass keeps, the way back does not compute again."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import close
from jax import lax
from jax.extend.core import jaxprs_in_params
from jax.test_util import check_grads

from graftsim import kernels
from graftsim.kernels import reverse
from graftsim.kernels.ir.jaxprs import opened

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
        for _ in range(2):
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


def calls(f, *args):
    """How many results each kernel has that a function calls."""
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
        for inner in jaxprs_in_params(e.params):
            yield from walk(inner)


@pytest.mark.parametrize("which", [0, 1, 2, (0, 1, 2)])
def test_gradients(which):
    """By each argument and by all."""
    ours, theirs = (jax.value_and_grad(loss(f), which)(W, X, US) for f in (SWING, swing))
    close(ours, theirs, 1e-11)


def test_gradients_are_those_of_differences():
    """In reverse mode, to second order."""
    check_grads(lambda x: loss(SWING)(W, x, US), (X,), order=2, modes=("rev",), rtol=1e-5)


EACH = (None, 0, None)


def of_many(g):
    """Gradients side by side."""
    return jax.vmap(jax.grad(g, (0, 1)), EACH)


def of_sum(g):
    """One gradient of a sum over lanes, in which shared arguments gather."""
    return jax.grad(lambda *args: jnp.sum(jax.vmap(g, EACH)(*args)), (0, 1, 2))


def of_many_of_many(g):
    """Two mapped axes, compiled."""
    return jax.jit(
        lambda w, x, us: jax.vmap(of_many(g), (0, None, None))(jnp.stack([w, -w]), x, us)
    )


@pytest.mark.parametrize("mapped", [of_many, of_sum, of_many_of_many])
@pytest.mark.parametrize("count", [1, 8, 13])
def test_lanes(mapped, count):
    """Shared and own arguments, tiles that are full and those that are not."""
    ours, theirs = (mapped(loss(f))(W, MANY[:count], US) for f in (SWING, swing))
    close(ours, theirs, 1e-10)


def test_other_transforms():
    """Jacobians both ways, second derivatives, a linear map that is used forwards."""

    def states(f):
        return lambda x: f(W, x, US)[1]

    for transform in (jax.jacrev, jax.jacfwd, lambda f: jax.jacfwd(jax.jacrev(f))):
        ours, theirs = (transform(states(f))(X) for f in (SWING, swing))
        close(ours, theirs, 1e-9)
    close(*(jax.linearize(states(f), X)[1](X) for f in (SWING, swing)), 1e-10)

    def twice(f):
        def inner(carry, _):
            return loss(f)(W, carry, US) * carry, None

        return lambda x: jnp.sum(lax.scan(jax.checkpoint(inner), x, None, length=2)[0])

    close(*(jax.grad(twice(f))(0.01 * X) for f in (SWING, swing)), 1e-10)


def test_the_forward_pass_runs_once():
    """The gradient calls two kernels; the first gives the states, the way back has no such loop."""
    assert calls(loss(SWING), W, X, US) == [4]
    halves = SWING.function.halves((0,), None)
    (kept,) = halves.kept
    assert halves.keep.out_avals[kept].shape == (40, 3)
    # From JAX 0.11 on the states that are kept are found to be a result that is there already.
    assert calls(jax.value_and_grad(loss(SWING)), W, X, US) == [max(kept + 1, 4), 1]
    turns = [e for e in opened(halves.pull.closed)[0].eqns if e.primitive.name == "scan"]
    assert [e.params["reverse"] for e in turns] == [True]


def test_what_is_kept_beside_the_results():
    """The states are kept where no result has them, and are no result of the plain kernel."""
    kernel = kernels.compile(lambda w, x, us: swing(w, x, us)[0], W, X, US)
    assert calls(jax.grad(lambda x: jnp.sum(kernel(W, x, US))), X) == [2, 1]
    assert calls(lambda x: kernel(W, x, US), X) == [1]
    halves = kernel.function.halves((1,), None)
    assert [a.shape for a in halves.keep.out_avals] == [(3,), (40, 3)]
    close(*(jax.jacrev(lambda x, f=f: f(W, x, US))(X)
            for f in (kernel, lambda *a: swing(*a)[0])), 1e-11)  # fmt: skip


def test_short_loops_are_run_again():
    """What a loop of few operations stacks costs more than the loop."""
    kernel = kernels.compile(lambda x: lax.scan(lambda c, _: (jnp.sin(c), c), x, None, 20)[0], X)
    assert kernel.function.halves((0,), None) is None
    close(jax.jacrev(kernel)(X), jax.jacfwd(kernel)(X), 1e-11)
    assert reverse.cut(jax.make_jaxpr(lambda x, ct: [x * x, 2 * x * ct])(X, X), 1, 1) is None


def test_any_length():
    """What is kept has the length that the call gives; one step needs no loop."""
    us = jax.ShapeDtypeStruct((kernels.length(), 3), float)
    kernel = kernels.compile(swing, W, X, us)
    for n in (2, 7, 40):
        ours, theirs = (jax.grad(loss(f), (0, 1, 2))(W, X, US[:n]) for f in (kernel, swing))
        close(ours, theirs, 1e-11)
    halves = kernel.function.halves((0, 1, 2), 7)
    assert halves is kernel.function.halves((0, 1, 2), 40)
    (pulled,) = {k.fixed(7).in_avals[3].shape for k in (halves.pull,)}
    assert pulled == (7, 3)


def test_parts_of_a_gradient():
    """Asked for less than what moves, the way back has less to do."""
    moved, pull = jax.vjp(lambda w, x: SWING(w, x, US)[0], W, X)
    theirs = jax.vjp(lambda w, x: swing(w, x, US)[0], W, X)[1]
    close(pull(moved), theirs(moved), 1e-11)
