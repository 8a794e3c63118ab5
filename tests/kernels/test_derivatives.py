"""Derivatives of compiled functions are JAX's, in every mode and under every mapping."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import close
from jax import lax

from graftsim import kernels

R = np.random.default_rng(3)
X = jnp.array([0.3, -0.7, 1.1])
MANY = jnp.asarray(R.normal(size=(19, 3)))
W = jnp.asarray(R.normal(size=(3, 3)))
MANY_W = jnp.asarray(R.normal(size=(19, 3, 3)))


def curve(w, x):
    """Smooth, with a loop, a branch, a solve, and indices."""
    L = jnp.linalg.cholesky(w @ w.T + jnp.eye(3))
    y = jax.scipy.linalg.cho_solve((L, True), x)
    z = lax.scan(lambda c, r: (jnp.sin(c + r @ c), c.sum()), y, w)
    y = lax.cond(x[0] > 0, jnp.tanh, lambda y: y * y, z[0] * jnp.exp(-x))
    return y.at[1].add(x[2]) + z[1][::-1], L[2] * x[jnp.argmax(x)]


def value(w, x):
    """One number of the above."""
    a, b = curve(w, x)
    return jnp.sum(a * a) + jnp.sum(jnp.cos(b))


CURVE = kernels.compile(curve, W, X)
VALUE = kernels.compile(value, W, X)


@pytest.mark.parametrize("which", [1, (0, 1)])
def test_gradients(which):
    """Of one and of several arguments."""
    close(jax.value_and_grad(VALUE, which)(W, X), jax.value_and_grad(value, which)(W, X), 1e-11)


@pytest.mark.parametrize("transform", [jax.jacfwd, jax.jacrev])
def test_jacobians(transform):
    """Column by column and row by row, of several results."""
    close(transform(CURVE, (0, 1))(W, X), transform(curve, (0, 1))(W, X), 1e-11)


def test_second_derivatives():
    """Forward over reverse, reverse over forward, reverse over reverse."""

    def f(x):
        return jnp.sum(lax.scan(lambda c, w: (jnp.sin(w @ c) * x, jnp.exp(c)), x, W)[1] ** 2)

    kernel = kernels.compile(f, X)
    wanted = jax.hessian(f)(X)
    for outer, inner in ((jax.jacfwd, jax.grad), (jax.jacrev, jax.jacfwd), (jax.jacrev, jax.grad)):
        close(outer(inner(kernel))(X), wanted, 1e-10)
    close(jax.hessian(kernel)(X), wanted, 1e-10)


def test_directional_derivatives():
    """With tangents for all arguments or some, and none for whole numbers."""
    both = [jax.jvp(f, (W, X), (W * 2, X + 1)) for f in (CURVE, curve)]
    close(*both, 1e-11)

    def powers(n, x, flag):
        return jnp.where(flag, x**2 * n, x), n + 1

    kernel = kernels.compile(powers, 3, X, True)
    zero = np.zeros((), jax.dtypes.float0)
    moved = [
        jax.jvp(f, (3, X, True), (zero, jnp.ones(3), zero))[1][0] for f in (kernel, powers)
    ]  # fmt: skip
    close(*moved)
    close(*(jax.jacfwd(lambda x, f=f: f(2, x, True)[0])(X) for f in (kernel, powers)))
    close(*(jax.grad(lambda x, f=f: f(2, x, True)[0].sum())(X) for f in (kernel, powers)))
    linear = [jax.linearize(f, W, X)[1](W, -X) for f in (CURVE, curve)]
    close(*linear, 1e-11)
    pulls = [jax.vjp(f, W, X)[1](curve(W, X)) for f in (CURVE, curve)]
    close(*pulls, 1e-11)


def test_results_without_derivatives():
    """Whole numbers among the results, and results that do not depend on what is varied."""

    def f(x, y):
        return jnp.argmax(x), x * 2, y, x > 0

    kernel = kernels.compile(f, X, X)
    for g in (lambda k: lambda x: k(x, X)[1].sum(), lambda k: lambda x: k(X, x)[1].sum()):
        close(jax.grad(g(kernel))(X), jax.grad(g(f))(X))
        close(jax.jacfwd(g(kernel))(X), jax.jacfwd(g(f))(X))


def test_a_wrong_rule_shows():
    """Custom derivatives are taken as they are, also in loops, branches and lanes."""

    @jax.custom_jvp
    def f(x):
        return x**2

    @f.defjvp
    def _(primals, tangents):
        return f(*primals), 7.0 * tangents[0]

    @jax.custom_vjp
    def g(x):
        return x**3

    g.defvjp(lambda x: (g(x), x), lambda x, ct: (5.0 * ct,))
    for h, factor in ((f, 7.0), (g, 5.0)):
        once = kernels.compile(h, 1.0)
        assert jax.grad(once)(3.0) == factor
        close(jax.vmap(jax.grad(once))(MANY[:, 0]), np.full(19, factor))

        def loop(x, h=h):
            y = lax.fori_loop(0, 3, lambda _, c: h(c), x)
            return lax.cond(x > 0, h, lambda z: z, y)

        close(jax.grad(kernels.compile(loop, 1.0))(0.5), np.array(factor**4))
    assert jax.jvp(kernels.compile(f, 1.0), (3.0,), (1.0,))[1] == 7.0


def test_checkpointed_scans():
    """Five hundred steps back."""

    def body(c, u):
        c = c + 0.01 * (jnp.sin(c) + u * c[::-1])
        return c, c[0] * c[1]

    def loss(x, us):
        last, ys = lax.scan(jax.checkpoint(body), x, us)
        return jnp.sum(last**2) + jnp.sum(ys)

    us = jnp.cos(jnp.arange(1500.0)).reshape(500, 3)
    kernel = kernels.compile(loss, X, us)
    close(jax.grad(kernel, (0, 1))(X, us), jax.grad(loss, (0, 1))(X, us), 1e-10)
    ours, theirs = (
        jax.jit(jax.vmap(jax.grad(f, (0, 1)), (0, None)))(MANY, us) for f in (kernel, loss)
    )
    close(ours, theirs, 1e-10)


def test_shared_arguments_gather_from_all_lanes():
    """The gradient of a sum over lanes, by a shared argument."""

    def total(f):
        return lambda w, x: jnp.sum(jax.vmap(f, (None, 0))(w, x) ** 2)

    close(jax.grad(total(VALUE), (0, 1))(W, MANY), jax.grad(total(value), (0, 1))(W, MANY), 1e-11)
    moved = [
        jax.jvp(jax.vmap(f, (None, 0)), (W, MANY), (W + 1, MANY * 2)) for f in (VALUE, value)
    ]  # fmt: skip
    close(*moved, 1e-11)


@pytest.mark.parametrize("axes", [(0, 0), (None, 0), (0, None)])
def test_mapped_gradients(axes):
    """Gradients of each lane, also by an argument that all share."""
    w, x = (MANY_W if axes[0] == 0 else W), (MANY if axes[1] == 0 else X)
    ours, theirs = (jax.vmap(jax.grad(f, (0, 1)), axes)(w, x) for f in (VALUE, value))
    close(ours, theirs, 1e-11)


def test_maps_of_maps():
    """Nested, along other axes, some arguments mapped once, some twice, some not at all."""

    def pair(w, x):
        return jnp.sin(w @ x), w[0] * x**2

    kernel = kernels.compile(pair, W, X)
    ws, xs = jnp.moveaxis(MANY_W[:4], 0, -1), MANY[:12].reshape(4, 3, 3)
    maps = [
        lambda f: jax.vmap(jax.vmap(f, (None, 0)), (2, 0))(ws, xs),
        lambda f: jax.vmap(jax.vmap(f, (2, None)), (None, 0))(ws, MANY),
        lambda f: jax.vmap(jax.vmap(f, (None, 0), 1), (None, 2), 1)(W, xs),
        lambda f: jax.vmap(jax.vmap(jax.vmap(f, (None, 0)), (None, 0)), (2, None))(ws, xs),
        lambda f: jax.vmap(lambda w: f(w, X))(MANY_W),
    ]
    for f in maps:
        close(f(kernel), f(pair))
    sums = [lambda k, f=f: jnp.sum(f(k)[0] ** 2) + jnp.sum(f(k)[1]) for f in maps[:2]]
    for f in sums:
        ours, theirs = (
            jax.grad(lambda s, k=k, f=f: f(lambda w, x: k(s * w, x)))(1.3) for k in (kernel, pair)
        )
        close(ours, theirs, 1e-11)


def test_float32():
    """Gradients in single precision."""
    w, x = W.astype(jnp.float32), MANY.astype(jnp.float32)
    kernel = kernels.compile(value, w, x[0])
    ours, theirs = (jax.vmap(jax.grad(f, (0, 1)), (None, 0))(w, x) for f in (kernel, value))
    close(ours, theirs, 1e-4)
