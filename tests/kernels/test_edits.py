"""Large arrays of which a loop changes a few elements: right, and no copy of them an iteration."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree, close

from graftsim import kernels
from graftsim.kernels import machine_code
from graftsim.kernels.ir.statements import regions

LANES = 5


def over(body):
    """Function of (v, places) by a scan over the places."""
    return lambda v, places: jax.lax.scan(body, v, places)


def moved_block(c, j):
    block = 0.5 * jax.lax.dynamic_slice(c, (j, 0), (2, 3))
    return jax.lax.dynamic_update_slice(c, block, (j - 1, 0)), None


def pair(body):
    """Function of (v, places) that carries v and 2 v."""
    return lambda v, places: jax.lax.scan(body, (v, 2 * v), places)


def twice(c, j):
    once = c.at[j].multiply(1.1)
    return once.at[j].add(once[j - 1]), jnp.mean(once)


CASES = {
    "set": over(lambda c, j: (c.at[j].set(2 * c[j - 1]), jnp.mean(c))),
    "add": over(lambda c, j: (c.at[j].add(0.2 * c[j - 1]), c[j])),
    "block": over(moved_block),
    "beyond the end": over(lambda c, j: (c.at[3 * j].set(1.5), c.at[j].get(mode="clip"))),
    "twice": over(twice),
    "one into the other": pair(
        lambda c, j: ((c[0].at[j].add(c[1][j - 1]), c[1].at[j, 1].set(c[0][j, 0])), c[0][1])
    ),
    "exchanged": pair(lambda c, j: ((c[1], c[0].at[j].add(1.3)), None)),
    "one unchanged": pair(lambda c, j: ((c[0], c[1].at[j].add(c[0][j])), None)),
    "no loop": lambda v, places: jnp.cumsum(v.at[places].add(v[0]), 0) + v.at[places[0]].set(2.0),
    "read by two": lambda v, places: (lambda w: w + w[::-1])(v.at[places[0]].set(v[1] ** 2)),
}


@pytest.mark.parametrize("rows", [5, 100, 1500])
@pytest.mark.parametrize("case", CASES)
def test_values_and_gradients_are_those_of_jax(case, rows):
    """Small arrays are scalars, larger ones memory; places repeat, and differ between lanes."""
    rng = np.random.default_rng(rows)
    f, v = CASES[case], rng.normal(size=(LANES, rows, 3))
    places = rng.integers(0, rows, (LANES, 11))
    agree(f, v, places, lanes=(LANES,), rtol=1e-11)

    def loss(f, v, places):
        return sum(jnp.mean(jnp.sin(x)) for x in jax.tree.leaves(f(v, places)))

    kernel = kernels.compile(f, v[0], places[0])
    found, wanted = (
        jax.vmap(jax.grad(loss, 1), (None, 0, 0))(g, jnp.asarray(v), jnp.asarray(places))
        for g in (kernel, f)
    )
    close(found, wanted, 1e-11)


def test_lanes_stop_each_in_its_own_time():
    """Changes of a lane that has finished do not happen."""

    def f(v, n):
        def body(c):
            x, k = c
            return x.at[7 * k].add(x[k]), k + 1

        return jax.lax.while_loop(lambda c: c[1] < n, body, (v, 0))[0]

    v = np.random.default_rng(2).normal(size=(LANES, 200))
    agree(f, v, np.array([3, 0, 7, 1, 25]), lanes=(LANES,))


@pytest.mark.parametrize("rows", [100, 1500, None])
def test_the_way_back_through_a_table_costs_what_is_read(rows):
    """An iteration of the pull-back has no loop over the table in it, nor code for each row."""
    n = kernels.length() if rows is None else rows
    table = jax.ShapeDtypeStruct((n, 1), float)
    x = jax.ShapeDtypeStruct((n,), float)

    def read(table, x):
        return jax.lax.map(lambda x: x * table[x.astype(int)], x)

    pull = kernels.compile(read, table, x).function.cotangent((0,), None)
    program, _ = machine_code.program(pull, (True, True, True))
    loops = [r for r in regions(program.tile) if r.loop and r is not program.tile]
    assert len(loops) > 0
    assert all(r.parent is program.tile for r in loops)
    assert max(len(r.items) for r in loops) < 40


def test_hundreds_of_changes_are_not_asked_one_by_one():
    """What reads an array that was changed at many places reads it from memory."""
    rng = np.random.default_rng(0)
    v, places = rng.normal(size=(1500, 3)), rng.integers(0, 1500, (200,))

    def f(v, w):
        for k, j in enumerate(places):
            v = v.at[int(j), k % 3].set(w[k] * v[int(j), (k + 1) % 3])
        return jax.lax.scan(lambda s, row: (s + jnp.sin(row) @ row, s), 0.0, v)

    w = rng.normal(size=200)
    agree(f, np.stack([v] * LANES), np.stack([w] * LANES), lanes=(LANES,), rtol=1e-11)
    p, _ = machine_code.program(kernels.compile(f, v, w).function, (True, True))
    assert len(p.ops) < 12_000
