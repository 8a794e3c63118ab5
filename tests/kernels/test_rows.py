"""Equal rows of one simulation in vectors: the same numbers as in scalars, where it pays."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from jax import lax
from test_random import SMOOTH, build, step

from graftsim import kernels
from graftsim.kernels import machine_code, rows
from graftsim.kernels.codegen.liveness import find_live
from graftsim.kernels.rows import groups, worth


@pytest.fixture
def eager(monkeypatch, tmp_path):
    """All is packed that can be, whatever it costs."""
    monkeypatch.setattr(rows, "_LEAST", -np.inf)
    monkeypatch.setattr(rows, "_SOME", 0.0)
    for name in ("_IN", "_OUT", "_SPREAD", "_PERMUTED"):
        monkeypatch.setattr(worth, name, 0.0)
    monkeypatch.setattr(groups, "_COSTS", {})
    # Code of the same function that was packed otherwise must not be found.
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", str(tmp_path))


def repeated(f, turns=4):
    """A function of arrays in a loop: its operations run often enough to be packed."""

    def g(x, y):
        def once(x, _):
            out = f(x, y)
            return out / (1 + jnp.abs(out)), out[0]

        return lax.scan(once, x, None, length=turns)

    return g


def lowered(f, *args):
    """Program of one simulation and what of it is needed, as machine code is made of it."""
    kernel = kernels.compile(f, *args)
    found = machine_code.lower(
        kernel.function, (False,) * len(kernel.function.in_avals), many=False
    )
    return found.program, found.live


def vectors(f, *args) -> int:
    """Operations on vectors of the kernel of one simulation."""
    p, live = lowered(f, *args)
    return sum(not p.uniform[n] and p.ops[n] != "pack" for n in live.nodes)


def near(got, wanted, tolerance):
    """Leaf by leaf, relative to the largest number."""
    for a, b in zip(jax.tree.leaves(got), jax.tree.leaves(wanted), strict=True):
        size = max(1.0, float(np.abs(b).max(initial=0)))
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance * size)


@pytest.mark.usefixtures("eager")
@settings(max_examples=40)
@given(
    st.lists(step, min_size=2, max_size=7), st.integers(2, 7), st.integers(1, 3), st.integers(0, 99)
)
def test_random_programs(plan, count, columns, seed):
    """Loops, branches, library calls and mixed rows, all that can be in vectors."""
    f = repeated(build(plan))
    x, y = np.random.default_rng(seed).uniform(-2, 2, (2, count, columns))
    near(kernels.compile(f, x, y)(x, y), jax.jit(f)(x, y), 1e-12)


@pytest.mark.usefixtures("eager")
@settings(max_examples=15)
@given(
    st.lists(
        st.tuples(st.sampled_from(SMOOTH), st.integers(0, 7), st.integers(0, 7)),
        min_size=2,
        max_size=5,
    ),
    st.integers(2, 5),
    st.sampled_from([np.float32, np.float64]),
    st.integers(0, 99),
)
def test_derivatives_of_random_programs(plan, count, dtype, seed):
    """Tangents, and value and gradient, in both precisions."""
    f = repeated(build(plan))
    x, y, dx = np.random.default_rng(seed).uniform(-2, 2, (3, count, 2)).astype(dtype)
    kernel = kernels.compile(f, x, y)

    def tangent(g):
        return jax.jvp(lambda x: g(x, y), (x,), (dx,))[1]

    def slope(g):
        return jax.value_and_grad(lambda x, y: jnp.mean(g(x, y)[0] ** 2), (0, 1))(x, y)

    tolerance = 1e-11 if dtype is np.float64 else 2e-5
    near(tangent(kernel), jax.jit(lambda x: tangent(f))(x), tolerance)
    near(slope(kernel), jax.jit(lambda x: slope(f))(x), tolerance)


LEGS = jnp.asarray(np.random.default_rng(5).normal(size=(4, 3)))


def legs(x):
    """Four rows that do the same to other numbers, and meet in their mean."""

    def once(x, _):
        base = jnp.mean(x, 0)
        y = jnp.sin(x) * LEGS + jnp.roll(x, 1, 1) * base
        return x + 0.01 * (y / (1 + y * y) - jnp.exp(-x * x) * jnp.sqrt(1 + x * x)), base

    return lax.scan(once, x, None, length=9)


def test_rows_become_lanes():
    """Four equal rows take about a quarter of the operations, and give the same numbers."""
    x = LEGS + 0.1
    p, live = lowered(legs, x)
    inside = [n for n in live.nodes if p.regions[n].depth > 1 and p.ops[n] not in ("const", "lane")]
    wide = [n for n in inside if not p.uniform[n]]
    assert len(wide) > 0.8 * len(inside)
    assert {p.widths[n] for n in wide} == {4}
    near(kernels.compile(legs, x)(x), jax.jit(legs)(x), 1e-13)


def test_the_text_says_what_was_packed():
    """Vectors are marked with their number of lanes, and counted in the head."""
    text = kernels.show(legs, LEGS)
    assert "rows in lanes" in text.split("input")[0]
    assert ": 4 wide f64" in text
    assert "rows in lanes" not in kernels.show(jax.vmap(legs), LEGS[None], lanes=True)


def test_a_row_that_needs_the_one_before_it_is_no_row():
    """Each element follows from its neighbour: nothing can be side by side."""

    def f(x):
        def once(x, _):
            out = [jnp.sin(x[3])]
            for k in range(3):
                out.append(jnp.sin(x[k] + 0.5 * out[-1]))
            return jnp.stack(out), None

        return lax.scan(once, x, None, length=5)[0]

    x = jnp.arange(4.0)
    near(kernels.compile(f, x)(x), jax.jit(f)(x), 1e-13)
    p, live = lowered(f, x)
    assert sum(p.ops[n] == "fma" for n in live.nodes) >= 4 * 2


def test_what_groups_save_is_kept_up_to_date():
    """Dropping one group after the other leaves the same counts as counting anew."""
    kernel = kernels.compile(legs, LEGS)
    p, _ = machine_code.program(kernel.function, (False,), many=False)
    found = groups.Groups(p, find_live(p))
    found.grow([t for x in p.rows if len(x) == 4 for t in map(tuple, x.reshape(4, -1).T.tolist())])
    kept = worth.Worth(found)
    assert len(found.groups) > 20
    for g in list(found.groups)[::2]:
        kept.drop(g)
        anew = worth.Worth(found).saved()
        for loop, saved in kept.saved().items():
            assert saved == pytest.approx(anew[loop])


@pytest.mark.usefixtures("eager")
def test_a_detour_from_row_to_row_is_found():
    """Rows whose elements wait for each other by way of a scalar: computed, one after the other."""

    def f(x):
        def once(x, _):
            a = jnp.sqrt(1 + x * x)
            first = a[0] * a[1]
            b = jnp.stack([x[0] + first, x[1] - first, x[2] * 2, x[3] + x[2]])
            c = jnp.stack([jnp.cos(b[3]), jnp.cos(b[0] + a[2]), jnp.cos(b[1]), jnp.cos(a[0])])
            return 0.3 * (b * c - jnp.roll(c, 1)), None

        return lax.scan(once, x, None, length=5)[0]

    x = jnp.arange(4.0)
    near(kernels.compile(f, x)(x), jax.jit(f)(x), 1e-13)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_rows_around_inner_loops_and_huge_angles(count):
    """Carried in vectors; the library's sine for what the polynomials do not reach."""

    def f(x):
        def once(x, scale):
            far = jnp.sin(scale * jnp.arange(1.0, count + 1))
            y = lax.fori_loop(0, 3, lambda _, c: 0.9 * jnp.sin(c) + 0.1 * far, x)
            z = lax.while_loop(lambda c: jnp.sum(c * c) > 2, lambda c: 0.7 * c, y)
            z = lax.cond(z[0] > 0, jnp.cos, lambda c: c - 1, z)
            return z, z[-1]

        return lax.scan(once, x, jnp.array([1.0, 2.0**45, 3.0, 2.0**50]))

    x = jnp.linspace(-1, 2, count)
    near(kernels.compile(f, x)(x), jax.jit(f)(x), 1e-13)


def test_few_operations_in_common_are_not_packed():
    """Where the rest is a chain of steps, packed sines alone would only wait for each other."""

    def f(x):
        def once(x, _):
            s, y = jnp.sin(x), x[0]
            for _ in range(60):
                y = y - 0.1 * y * y * s[0] + s[1]
                y = y / (1 + y * y)
            return x + 0.1 * jnp.array([y, s[2], -y]), None

        return lax.scan(once, x, None, length=5)[0]

    assert vectors(f, jnp.arange(3.0)) == 0
