"""Kernels among other JAX code: jit, threads, wrong arguments, float32 without x64."""

from concurrent.futures import ThreadPoolExecutor

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import close

from graftsim import kernels
from graftsim.errors import KernelError

MANY = jnp.linspace(-3, 3, 60).reshape(20, 3)


def wave(x, gain=2.0):
    """A little work in a tree."""
    return {"sum": jnp.sum(x) * gain, "sin": jnp.sin(x * gain)}


WAVE = kernels.compile(wave, MANY[0], 2.0)


def test_inside_jit_and_loops_of_jax():
    """As one operation among others."""

    @jax.jit
    def f(xs):
        y = jax.vmap(WAVE, (0, None))(xs * 2, 1.5)["sin"]
        z = jax.lax.scan(lambda c, x: (c + WAVE(x, c)["sum"], c), 0.1, xs)
        return y, z, jax.lax.map(lambda x: WAVE(x, 2.0), xs), jax.lax.cond(y[0, 0] > 0, f1, f1, y)

    def f1(y):
        return WAVE(y[0], 1.0)

    def g(xs):
        y = jax.vmap(wave, (0, None))(xs * 2, 1.5)["sin"]
        z = jax.lax.scan(lambda c, x: (c + wave(x, c)["sum"], c), 0.1, xs)
        return y, z, jax.lax.map(lambda x: wave(x, 2.0), xs), wave(y[0], 1.0)

    close(f(MANY), jax.jit(g)(MANY))


def test_threads_do_not_change_the_result():
    """Forward and back, bit by bit, with work enough that they are started."""

    def f(w, x):
        return jax.lax.fori_loop(0, 200, lambda _, c: jnp.sin(w @ c) + 0.1 * c, x)

    w, xs = jnp.eye(3) * 0.9, jnp.linspace(-3, 3, 3000).reshape(1000, 3)
    kernel = kernels.compile(f, w, xs[0])

    def loss(w, xs):
        y = jax.vmap(kernel, (None, 0))(w, xs)
        return jnp.sum(y**2), y

    results = []
    for n in (1, 2):
        with kernels.threads(n):
            assert kernels.thread_count() == n
            results.append(jax.grad(loss, has_aux=True)(w, xs))
    for a, b in zip(*(jax.tree.leaves(r) for r in results), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_simulation_alone_and_among_others():
    """Nearly the same."""
    together = jax.vmap(WAVE, (0, None))(MANY, 1.5)
    for k in (0, 7, 19):
        alone = WAVE(MANY[k], 1.5)
        close(alone, jax.tree.map(lambda y, k=k: y[k], together), 1e-14)


def test_wrong_arguments():
    """Shapes and trees are checked; types are converted."""
    with pytest.raises(KernelError, match=r"shape \(3,\), got \(20, 3\).*vmap"):
        WAVE(MANY, 2.0)
    with pytest.raises(KernelError, match="shape"):
        jax.vmap(WAVE)(MANY, MANY)
    with pytest.raises(KernelError, match="arguments"):
        WAVE(MANY[0])
    with pytest.raises(KernelError, match="arguments"):
        WAVE({"x": MANY[0]}, 2.0)
    close(WAVE(MANY[0].astype(jnp.float32), 2), wave(MANY[0].astype(jnp.float32).astype(float), 2))


@pytest.mark.parametrize(
    ("f", "name"),
    [
        (lambda x: jax.lax.population_count(x.astype(int)), "population_count"),
        (lambda x: jnp.linalg.eigh(jnp.outer(x, x))[0], "eigh"),
        (lambda x: jax.lax.scan(lambda c, _: (jax.lax.lgamma(c), c), x, None, length=2), "lgamma"),
    ],
)
def test_unknown_primitives_are_named(f, name):
    """With the line that asked for them, when compiling; also inside loops."""
    with pytest.raises(KernelError, match=rf"'{name}'.*test_binding\.py:\d+"):
        kernels.compile(f, MANY[0])


def test_unknown_types_are_named():
    """Among the operations and the arguments."""
    with pytest.raises(KernelError, match="float16"):
        kernels.compile(lambda x: x + jnp.float16(1), jnp.float16(2))
    with pytest.raises(KernelError, match="complex128"):
        kernels.compile(lambda x: x * 2, 1j)(1j)
    with pytest.raises(KernelError, match="complex128"):
        kernels.compile(lambda x: jnp.abs(jnp.fft.fft(x)), MANY[0])


def test_float32_without_x64():
    """Types are those that JAX would give."""

    def f(x, n):
        y, _ = jax.lax.scan(lambda c, i: (jnp.sin(c) * i, c), x, jnp.arange(5))
        return y, n + 1, jnp.argmax(x), jnp.cumsum(x), x @ x, x[n]

    with jax.enable_x64(False):
        xs, n = jnp.linspace(-1, 1, 57, dtype=jnp.float32).reshape(19, 3), jnp.arange(19)
        kernel = kernels.compile(f, xs[0], n[0])
        close(jax.vmap(kernel)(xs, n), jax.vmap(f)(xs, n))
        close(kernel(xs[0], n[2]), f(xs[0], n[2]))
        ours, theirs = (
            jax.vmap(jax.grad(lambda x, g=g: jnp.sum(g(x, 0)[0])))(xs) for g in (kernel, f)
        )
        close(ours, theirs, 1e-5)


def test_many_python_threads_at_once():
    """They compile and call the same and different functions."""
    fresh = [kernels.compile(lambda x, k=k: jnp.cos(x * k), MANY[0]) for k in range(3)]

    def work(k):
        few = MANY[: 1 + k % 4 * 5]
        return jax.vmap(fresh[k % 3])(few), jax.vmap(WAVE, (0, None))(few, 1.0 + k)

    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(work, range(24)))
    for k, (cosines, waves) in enumerate(results):
        few = MANY[: 1 + k % 4 * 5]
        close(cosines, jnp.cos(few * (k % 3)))
        close(waves, jax.vmap(wave, (0, None))(few, 1.0 + k))
