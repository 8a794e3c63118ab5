"""Compiled functions from end to end: values, lanes, derivatives, memory and loops."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim import kernels
from graftsim.errors import KernelError
from graftsim.kernels import machine_code
from graftsim.kernels.codegen.liveness import find_live

LANES = (1, 2, 7, 8, 19)


def same(a, b, rtol=1e-12):
    """Leaf by leaf, relative to the largest element."""
    for x, y in zip(jax.tree.leaves(a), jax.tree.leaves(b), strict=True):
        y = np.asarray(y)
        assert np.shape(x) == y.shape
        np.testing.assert_allclose(x, y, rtol=0, atol=rtol * max(np.abs(y).max(initial=0), 1e-6))


def network(sizes=(3, 16, 16, 2), activation=jnp.tanh):
    return eqx.nn.MLP(
        sizes[0], sizes[-1], sizes[1], len(sizes) - 2, activation, key=jax.random.key(3)
    )


@pytest.mark.parametrize("batch", LANES)
def test_every_lane_is_a_simulation(batch):
    """Batches that do and do not fill the vectors."""

    def f(x, gain):
        return gain * jnp.sin(x) + jnp.sum(x**2), x @ x

    x = jnp.linspace(-2, 3, 3 * batch).reshape(batch, 3)
    kernel = kernels.compile(f, x[0], 2.0)
    same(jax.vmap(kernel, (0, None))(x, 1.5), jax.vmap(f, (0, None))(x, 1.5))
    same(jax.vmap(kernel, (None, 0))(x[0], x[:, 0]), jax.vmap(f, (None, 0))(x[0], x[:, 0]))


@pytest.mark.parametrize("activation", [jnp.tanh, jax.nn.silu, jax.nn.elu, jax.nn.softplus])
@pytest.mark.parametrize("width", [8, pytest.param(64, marks=pytest.mark.slow), 200])
def test_networks(activation, width):
    """Straight-line for small ones, loops over shared weights for large ones; forward and back."""
    net = network((3, width, width, 2), activation)
    params, static = eqx.partition(net, eqx.is_array)

    def f(params, x):
        return jnp.sum(eqx.combine(params, static)(x) ** 2)

    x = jnp.linspace(-1, 1, 30).reshape(10, 3)
    kernel = kernels.compile(f, params, x[0])
    same(jax.vmap(kernel, (None, 0))(params, x), jax.vmap(f, (None, 0))(params, x), 1e-11)
    grads = [
        jax.grad(lambda p, g=g: jnp.sum(jax.vmap(g, (None, 0))(p, x)))(params) for g in (kernel, f)
    ]
    same(*grads, 1e-11)


@pytest.mark.parametrize("cell", [eqx.nn.GRUCell, eqx.nn.LSTMCell])
def test_recurrent_networks(cell):
    """Memory carried through time."""
    net = cell(2, 5, key=jax.random.key(1))
    params, static = eqx.partition(net, eqx.is_array)
    start = jnp.zeros(5) if cell is eqx.nn.GRUCell else (jnp.zeros(5), jnp.zeros(5))

    def f(params, xs):
        step = eqx.combine(params, static)
        last, _ = jax.lax.scan(lambda c, x: (step(x, c), None), start, xs)
        return jnp.sum(jax.tree.leaves(last)[0])

    xs = jnp.sin(jnp.arange(40.0)).reshape(20, 2)
    kernel = kernels.compile(f, params, xs)
    same(kernel(params, xs), f(params, xs))
    same(jax.grad(kernel)(params, xs), jax.grad(f)(params, xs), 1e-11)


def decay(x, us):
    """A little system in time, with the body checkpointed."""

    def body(c, u):
        c = c + 0.01 * (jnp.sin(c) + u)
        return c, c[0] * c[1]

    return jax.lax.scan(jax.checkpoint(body), x, us)


@pytest.mark.parametrize("steps", [1, 2, 500])
def test_time_loops_forward_and_back(steps):
    """Values, reverse and forward mode through a scan, for one and for many."""
    x, us = jnp.array([0.3, -0.8]), jnp.cos(jnp.arange(2.0 * steps)).reshape(steps, 2)
    kernel = kernels.compile(decay, x, us)
    same(kernel(x, us), decay(x, us))

    def loss(f):
        return lambda x, us: jnp.sum(f(x, us)[0] ** 2) + jnp.sum(f(x, us)[1])

    same(*(jax.grad(loss(f), (0, 1))(x, us) for f in (kernel, decay)), 1e-10)
    same(*(jax.jacfwd(loss(f))(x, us) for f in (kernel, decay)), 1e-10)
    many = jnp.linspace(-1, 1, 22).reshape(11, 2)
    same(*(jax.vmap(jax.grad(loss(f)), (0, None))(many, us) for f in (kernel, decay)), 1e-10)


def test_lanes_finish_independently():
    """A while loop with another number of turns in each lane, also inside an untaken branch."""

    def f(n, x):
        def search(x):
            return jax.lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, 1.1 * c[1]), (0, x))[
                1
            ]

        return jax.lax.cond(n > 2, search, lambda x: -x, x)

    n, x = jnp.array([5, 0, 3, 17, 2, 4, 1, 9, 6]), jnp.arange(9.0)
    kernel = kernels.compile(f, 3, 1.0)
    same(jax.vmap(kernel)(n, x), jax.vmap(f)(n, x))
    same(kernel(6, 2.0), f(6, 2.0))


def test_custom_rules_are_respected():
    """A rule that is wrong on purpose shows."""

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
    assert jax.grad(kernels.compile(f, 1.0))(3.0) == 7.0
    assert jax.grad(kernels.compile(g, 1.0))(3.0) == 5.0


def test_second_derivatives():
    """Forward over reverse."""

    def f(x):
        return jnp.sum(jnp.exp(x) * jnp.roll(x, 1))

    x = jnp.array([0.1, 0.7, -0.4])
    same(jax.hessian(kernels.compile(f, x))(x), jax.hessian(f)(x), 1e-11)


def test_dynamic_indices_are_brought_into_range():
    """Reading and writing at indices that differ between lanes."""

    def f(table, i):
        moved = jax.lax.dynamic_update_slice(table, table[:2] * 2, (i,))
        return table[i], moved, table.at[i].add(10.0), jax.lax.dynamic_slice(table, (i,), (3,))

    table, i = jnp.arange(100.0), jnp.array([-200, -3, 0, 5, 99, 100, 1000, 50, 51])
    kernel = kernels.compile(f, table, 0)
    same(jax.vmap(kernel, (None, 0))(table, i), jax.vmap(f, (None, 0))(table, i))


def test_nan_and_infinity_are_found():
    """No fast arithmetic that assumes them away."""

    def f(x):
        return jnp.isnan(x), jnp.isfinite(x), jnp.maximum(x, 0.0), jnp.where(x > 0, x, -x)

    x = jnp.array([jnp.nan, jnp.inf, -jnp.inf, 0.0, -0.0, 1.0])
    for a, b in zip(jax.vmap(kernels.compile(f, 1.0))(x), jax.vmap(f)(x), strict=True):
        np.testing.assert_array_equal(a, b)


def test_parameters_leave_the_time_loop():
    """What depends on parameters alone is computed before the loop, and zeros vanish."""

    def f(x, a):
        def body(c, _):
            M = jnp.array([[a, 0.0], [0.0, 1.0]])
            return M @ c * jnp.exp(jnp.sin(a) ** 2), None

        return jax.lax.scan(body, x, None, length=10)[0]

    program, _ = machine_code.program(kernels.compile(f, jnp.ones(2), 2.0).function, (True, False))
    live = find_live(program)
    inner = [program.ops[n] for n in live.nodes if program.regions[n].depth == 2]
    assert sorted(inner) == ["mul", "mul", "mul", "phi", "phi"]


def test_threads_do_not_change_the_result():
    """Bit by bit."""

    def f(x):
        return jax.lax.fori_loop(0, 5000, lambda _, c: jnp.sin(c) + 0.1 * c, x)

    kernel, x = kernels.compile(f, 1.0), jnp.linspace(-3, 3, 100)
    results = []
    for n in (1, 2, 5):
        with kernels.threads(n):
            results.append(np.asarray(jax.vmap(kernel)(x)))
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def test_what_is_not_known_is_named():
    """The primitive and the line that asked for it."""
    with pytest.raises(KernelError, match=r"'conv_general_dilated'.*test_compile\.py"):
        kernels.compile(lambda x: jnp.convolve(x, x) + 1, jnp.ones(3))
    with pytest.raises(KernelError, match="shape"):
        kernels.compile(jnp.sin, jnp.ones(3))(jnp.ones(4))
    with pytest.raises(KernelError, match="arguments"):
        kernels.compile(jnp.sin, jnp.ones(3))(jnp.ones(3), 1.0)


def test_python_numbers_have_the_type_that_jax_gives_them():
    """Without 64-bit types in JAX, a 0.0 that a loop starts from is a float32, constants too."""
    table = np.linspace(-1.0, 1.0, 900).reshape(30, 30)

    def f(height, drag):
        def step(carry, k):
            y, v, n = carry
            v = v - 1e-3 * (9.81 + drag * v * jnp.abs(v)) + jnp.sum(table @ jnp.ones(30)) * 1e-9
            return (y + 1e-3 * v, v, n + k % 3), v

        return jax.lax.scan(step, (height, 0.0, 0), jnp.arange(100))

    with jax.enable_x64(False):
        kernel = kernels.compile(f, 1.0, 0.1)
        for a, b in zip(*(jax.tree.leaves(g(1.0, 0.1)) for g in (kernel, f)), strict=True):
            assert a.dtype == b.dtype and a.dtype.itemsize == 4
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        assert " f64" not in kernels.show(f, 1.0, 0.1)
