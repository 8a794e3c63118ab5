"""Networks in one simulation, neurons side by side: the same as JAX, and really side by side."""

from collections.abc import Callable
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree, close
from jax import lax

from graftsim import kernels
from graftsim.kernels import machine_code
from graftsim.kernels.codegen.liveness import find_live

R = np.random.default_rng(11)
ROWS = jnp.asarray(R.normal(size=(5, 2)))


def network(sizes, lead=()):
    """Weights and biases."""
    return [
        (jnp.asarray(R.normal(size=(*lead, n, m)) / m), jnp.asarray(R.normal(size=(*lead, n))))
        for m, n in pairwise(sizes)
    ]


def apply(layers, x, activation: Callable = jnp.tanh):
    """The network's results."""
    for w, b in layers[:-1]:
        x = activation(w @ x + b)
    w, b = layers[-1]
    return w @ x + b


def simulate(layers, x, net: Callable = apply):
    """A loop in which a network acts on each row."""

    def step(x, _):
        force = jax.vmap(lambda row: net(layers, row))(x)
        x = x + 0.1 * jnp.stack([x[:, 1], force[:, 0] - x[:, 0]], -1)
        return x, x[0]

    return lax.scan(jax.checkpoint(step), x, None, length=7)


def wide_operations(f, *args) -> int:
    """How many operations on vectors the kernel of one simulation has."""
    kernel = kernels.compile(f, *args)
    p, _ = machine_code.program(
        kernel.function, (False,) * len(kernel.function.in_avals), many=False
    )
    return sum(not p.uniform[n] and p.ops[n] != "pack" for n in find_live(p).nodes)


@pytest.mark.parametrize(
    "activation", [jnp.tanh, jax.nn.elu, jax.nn.silu, jax.nn.relu, jax.nn.gelu]
)
@pytest.mark.parametrize("sizes", [(2, 16, 16, 1), (2, 9, 20, 1), (2, 64, 12, 3), (2, 3, 40, 1)])
def test_networks_of_any_width(sizes, activation):
    """Also where the last vector is not full, and where a layer is too small for one."""
    layers = network(sizes)

    def f(layers, x):
        return simulate(layers, x, lambda w, x: apply(w, x, activation))

    close(kernels.compile(f, layers, ROWS)(layers, ROWS), f(layers, ROWS), 1e-12)


def test_one_network_per_row():
    """Batched products."""
    layers = network((2, 16, 16, 1), (5,))

    def f(layers, x):
        def step(x, _):
            return x + 0.1 * jax.vmap(apply)(layers, x), None

        return lax.scan(step, x, None, length=7)[0]

    close(kernels.compile(f, layers, ROWS)(layers, ROWS), f(layers, ROWS), 1e-12)


@pytest.mark.parametrize("sizes", [(2, 16, 16, 1), (2, 9, 24, 1)])
def test_gradients(sizes):
    """Sums over the steps are carried in vectors too."""
    layers = network(sizes)

    def loss(layers, x):
        return jnp.sum(simulate(layers, x)[0] ** 2)

    kernel = kernels.compile(loss, layers, ROWS)
    close(jax.grad(kernel, (0, 1))(layers, ROWS), jax.grad(loss, (0, 1))(layers, ROWS), 1e-10)
    moved = jax.tree.map(jnp.ones_like, (layers, ROWS))
    close(jax.jvp(kernel, (layers, ROWS), moved), jax.jvp(loss, (layers, ROWS), moved), 1e-10)


def test_a_state_carried_in_vectors():
    """A recurrent network, whose hidden state stays side by side, whatever else goes round."""
    w, v = jnp.asarray(R.normal(size=(12, 12)) / 4), jnp.asarray(R.normal(size=(12, 3)))

    def f(w, v, us):
        def step(carry, u):
            h, _, k, fixed = carry
            new = jnp.tanh(w @ h + v @ u) * fixed
            return (new, h[::-1], k + 1, fixed), h.sum()

        start = (jnp.zeros(12), jnp.arange(12.0), 0, jnp.ones(12))
        return lax.scan(step, start, us)

    us = jnp.asarray(R.normal(size=(9, 3)))
    close(kernels.compile(f, w, v, us)(w, v, us), f(w, v, us), 1e-12)
    assert wide_operations(f, w, v, us)


def test_masks_and_whole_numbers_side_by_side():
    """Given, compared, converted, and read one by one."""
    w, b = jnp.asarray(R.normal(size=(16, 16)) / 9), jnp.asarray(R.normal(size=16))
    mask, shift = jnp.asarray(R.random(16) > 0.4), jnp.arange(16, dtype=jnp.int32)

    def f(w, b, mask, shift):
        def step(x, _):
            y = w @ x + b
            high = (y > 0) & mask
            y = jnp.where(high, y, y * shift) + y.astype(jnp.float32)
            return jnp.tanh(y), (high.any(), high[3], (high + shift).sum(), jnp.argmax(y))

        return lax.scan(step, b, None, length=5)

    close(kernels.compile(f, w, b, mask, shift)(w, b, mask, shift), f(w, b, mask, shift), 1e-6)
    assert wide_operations(f, w, b, mask, shift)


def test_a_while_loop_carries_vectors():
    """Until it has converged."""
    w, b = jnp.asarray(R.normal(size=(10, 10)) / 9), jnp.asarray(R.normal(size=10))

    def f(w, b):
        def going(carry):
            return jnp.abs(carry[0] - carry[1]).max() > 1e-9

        return lax.while_loop(going, lambda c: (jnp.tanh(w @ c[0] + b), c[0]), (b, 2 * b))

    close(kernels.compile(f, w, b)(w, b), f(w, b), 1e-12)


def test_side_by_side_in_a_batch_as_well():
    """Simulations in lanes: no wide nodes, the same results."""
    layers = network((2, 16, 16, 1))
    leaves, tree = jax.tree.flatten(layers)
    many = jnp.asarray(R.normal(size=(19, 5, 2)))

    def f(x, *leaves):
        return simulate(jax.tree.unflatten(tree, leaves), x)

    agree(f, many, *leaves, axes=[0, *(None for _ in leaves)])


def test_neurons_share_vectors():
    """One vector operation does the work of eight; zeros still vanish where a product has some."""
    layers = network((2, 16, 16, 1))
    assert 100 < wide_operations(simulate, layers, ROWS) < 2000
    dense = jnp.eye(12)

    def constant(x):
        return lax.scan(lambda x, _: (dense @ x, None), x, None, length=3)[0]

    assert not wide_operations(constant, jnp.ones(12))


@pytest.mark.parametrize("type", [jnp.float32, jnp.float64])
def test_neighbours_do_not_disturb_each_other(type):
    """tanh shares divisions: NaN, infinities and zeros of both signs stay where they are."""
    x = jnp.array([jnp.nan, 0.3, -0.0, jnp.inf, -jnp.inf, -0.2, 0.0, 1e-30, 20.0, jnp.nan], type)
    got = kernels.compile(jnp.tanh, x)(x)
    np.testing.assert_allclose(got, jnp.tanh(x), rtol=1e-6 if type == jnp.float32 else 1e-14)
    np.testing.assert_array_equal(np.signbit(got[2:9]), np.signbit(x[2:9]))
