"""Random programs: what kernels compute equals what XLA computes."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given, settings, strategies as st

from graftsim import kernels

Array = jax.Array
# Operations on values of size about one that stay so.
UNARY: dict[str, Callable[[Array], Array]] = {
    "sin": jnp.sin,
    "tanh": jnp.tanh,
    "squash": lambda x: x / (1 + x * x),
    "root": lambda x: jnp.sqrt(jnp.abs(x) + 0.1),
    "exp": lambda x: jnp.exp(-jnp.abs(x)),
    "log": lambda x: jnp.log1p(x * x),
    "floor": lambda x: jnp.floor(3 * x) / 3,
    "flip": lambda x: x[..., ::-1],
    "turn": lambda x: jnp.roll(x, 1, 0),
    "swap": lambda x: x.T if x.shape[0] == x.shape[-1] else x,
    "sum": lambda x: x - x.sum(0) / x.shape[0],
    "sorted rows": lambda x: x.at[0].set(x[-1] / 2),
    "cumulative": lambda x: jnp.cumsum(x, -1) / 3,
    "pad": lambda x: jnp.pad(x, ((1, 0), (0, 0)))[:-1] + x,
    "pick": lambda x: x[jnp.argmax(x[:, 0])] + x,
}
BINARY: dict[str, Callable[[Array, Array], Array]] = {
    "add": lambda x, y: (x + y) / 2,
    "sub": lambda x, y: (x - y) / 2,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / (1.5 + jnp.abs(y)),
    "max": jnp.maximum,
    "min": jnp.minimum,
    "where": lambda x, y: jnp.where(x > y, x * y, y),
    "atan2": jnp.arctan2,
    "dot": lambda x, y: x @ y.T @ x / 9,
    "join": lambda x, y: jnp.concatenate([x, y])[1 : 1 + x.shape[0]],
}
LOOPS: dict[str, Callable[[Array], Array]] = {
    "scan": lambda x: jax.lax.scan(lambda c, r: (jnp.sin(c + r), c * r), x[0], x)[1],
    "reverse": lambda x: jax.lax.scan(lambda c, r: (c / 2 + r, c), x[0], x, reverse=True)[1],
    "times": lambda x: jax.lax.fori_loop(0, 5, lambda i, c: jnp.cos(c) + 0.1 * i, x),
    "while": lambda x: jax.lax.while_loop(
        lambda c: jnp.sum(c * c) > 0.5, lambda c: 0.7 * c, x
    ),
    "branch": lambda x: jax.lax.cond(x[0, 0] > 0, jnp.sin, lambda y: y / 2, x),
}  # fmt: skip
NAMES = [*UNARY, *BINARY, *LOOPS]
step = st.tuples(st.sampled_from(NAMES), st.integers(0, 7), st.integers(0, 7))


def build(plan: list[tuple[str, int, int]]) -> Callable[[Array, Array], Array]:
    """Function that follows a plan: each step works on results of earlier ones."""

    def f(x: Array, y: Array) -> Array:
        values = [x, y]
        for name, i, j in plan:
            a, b = values[i % len(values)], values[j % len(values)]
            if name in BINARY:
                values.append(BINARY[name](a, b))
            else:
                values.append((UNARY | LOOPS)[name](a))
        return values[-1] + values[-2]

    return f


@settings(max_examples=40)
@given(
    st.lists(step, min_size=2, max_size=9), st.integers(1, 4), st.integers(1, 4), st.integers(0, 99)
)
def test_random_programs(plan, rows, columns, seed):
    """One simulation, and nine in lanes."""
    f = build(plan)
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-2, 2, (2, 9, rows, columns))
    kernel = kernels.compile(f, x[0], y[0])
    expected = np.asarray(jax.jit(jax.vmap(f))(x, y))
    tolerance = 1e-12 * max(1.0, np.abs(expected).max())
    np.testing.assert_allclose(jax.vmap(kernel)(x, y), expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(kernel(x[0], y[0]), expected[0], rtol=0, atol=tolerance)


SMOOTH = [n for n in NAMES if n not in ("floor", "while", "pick", "branch", "where", "times")]


@settings(max_examples=20)
@given(
    st.lists(
        st.tuples(st.sampled_from(SMOOTH), st.integers(0, 7), st.integers(0, 7)),
        min_size=2,
        max_size=7,
    ),
    st.integers(0, 99),
)
def test_gradients_of_random_programs(plan, seed):
    """Reverse mode in lanes, with one argument shared."""
    f = build(plan)
    rng = np.random.default_rng(seed)
    x, y = rng.uniform(-2, 2, (9, 3, 2)), rng.uniform(-2, 2, (3, 2))
    kernel = kernels.compile(f, x[0], y)

    def total(g):
        return lambda x, y: jnp.sum(jax.vmap(g, (0, None))(x, y) ** 2)

    expected = jax.jit(jax.grad(total(f), (0, 1)))(x, y)
    for a, b in zip(jax.grad(total(kernel), (0, 1))(x, y), expected, strict=True):
        size = max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-11 * size)
