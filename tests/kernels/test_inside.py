"""Kernels among operations of XLA: in jit, vmap and scan, without needless copies, from threads."""

import re
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim import kernels

TAPS = jnp.array([0.2, 0.5, 0.3])


def swing(x, k):
    """50 steps of an oscillator that stiffens [2]."""

    def step(x, _):
        v = x[1] - 0.02 * k * jnp.sin(x[0])
        return jnp.stack([x[0] + 0.02 * v, v]), None

    return jax.lax.scan(jax.checkpoint(step), x, None, length=50)[0]


KERNEL = kernels.compile(swing, jnp.zeros(2), jnp.array(1.0))


def network(engine):
    """A convolution, which kernels do not know, around an engine in lanes, again and again."""

    def loss(weights, xs):
        def layer(xs, w):
            smooth = jax.vmap(lambda c: jnp.convolve(c, TAPS, mode="same"), 1, 1)(xs)
            moved = jax.vmap(engine, (0, None))(jnp.tanh(smooth @ w), 1.0 + w[0, 0] ** 2)
            return moved, jnp.sum(moved**2)

        xs, costs = jax.lax.scan(layer, xs, weights)
        return jnp.mean(xs**2) + jnp.sum(costs)

    return loss


def numbers(seed=0):
    """Weights of three layers and eleven simulations: not a whole number of tiles."""
    rng = np.random.default_rng(seed)
    return jnp.array(rng.standard_normal((3, 2, 2))), jnp.array(rng.standard_normal((11, 2)))


def test_jit_vmap_scan_and_gradients_around():
    """As XLA alone."""
    given = numbers()
    value, slopes = jax.jit(jax.value_and_grad(network(KERNEL), (0, 1)))(*given)
    expected, right = jax.value_and_grad(network(swing), (0, 1))(*given)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    for a, b in zip(slopes, right, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-12)


def moves(function, *args):
    """Operations of XLA's program that only move numbers, of arrays with more than 4 of them."""
    text = jax.jit(function).lower(*args).compile().as_text()
    found = re.findall(r"= f64\[([\d,]+)\]\S* (copy|transpose|concatenate|pad|slice)\(", text)
    return [kind for shape, kind in found if size(shape) > 4]


def size(shape):
    """Numbers in an array of a shape as XLA writes it."""
    return np.prod([int(n) for n in shape.split(",")])


def test_one_simulation_is_not_copied():
    """Results of XLA's operations are the kernel's arguments as they are, and the other way."""
    table = jnp.arange(400.0).reshape(200, 2)

    def walk(rows, k):
        def step(x, row):
            x = x + k * jnp.sin(row - x)
            return x, x

        return jax.lax.scan(step, jnp.zeros(2), rows)[1]

    kernel = kernels.compile(walk, table, jnp.array(1.0))

    def around(rows):
        return jnp.tanh(kernel(jnp.exp(rows / 400), 0.1)) ** 2

    expected = jnp.tanh(walk(jnp.exp(table / 400), 0.1)) ** 2
    np.testing.assert_allclose(jax.jit(around)(table), expected, rtol=1e-12)
    assert moves(around, table) == []
    # Many are: to lanes, and back.
    tables = jnp.stack([table, 2 * table])
    assert moves(jax.vmap(around), tables)


def test_shared_arguments_are_not_spread():
    """What all lanes share goes in once: nothing of its size times the lanes is made."""
    table = jnp.arange(1000.0)

    def look(x, table):
        return jnp.sum(jnp.sin(table * x))

    kernel = kernels.compile(look, jnp.array(0.0), table)
    many = jax.vmap(kernel, (0, None))
    xs = jnp.linspace(0, 1, 64)
    np.testing.assert_allclose(many(xs, table), jax.vmap(look, (0, None))(xs, table), rtol=1e-9,
                               atol=1e-9)  # fmt: skip
    text = jax.jit(many).lower(xs, table).compile().as_text()
    sizes = [size(shape) for shape in re.findall(r"f64\[([\d,]+)\]", text)]
    assert max(sizes) == 1000


@pytest.mark.timeout(120)
def test_threads_in_programs_of_xla():
    """Programs with kernels on several threads of Python, and eager calls among them."""
    program = jax.jit(jax.grad(network(KERNEL)))
    given = [numbers(seed) for seed in range(4)]
    alone = [program(*g) for g in given]
    found = {}

    def work(i):
        for _ in range(30):
            found[i] = program(*given[i])
            found[i + 10] = KERNEL(given[i][1][0], 1.0)

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(timeout=60)
    assert not any(t.is_alive() for t in threads)
    for i, expected in enumerate(alone):
        assert jnp.array_equal(found[i], expected)
