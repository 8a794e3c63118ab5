"""Loops and branches against JAX, for one simulation and in lanes."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree, close
from jax import lax

from graftsim import kernels
from graftsim.kernels.ir.trace import RULES

B = 19
R = np.random.default_rng(11)
N = R.integers(0, 9, B)
N[0] = 0
X = R.uniform(-1, 1, (B, 3))
ROWS = R.normal(size=(B, 7, 3))
BIG = R.normal(size=(B, 60, 50))
STACK = R.normal(size=(B, 4, 40, 30))


def cell(c, r):
    """State and output of one step."""
    return jnp.sin(c) + r, c * r


@pytest.mark.parametrize("reverse", [False, True])
def test_scans(reverse):
    """Forward and backward; of small and large states."""
    agree(lambda x, r: lax.scan(cell, x, r, reverse=reverse), X, ROWS, lanes=(1, 3, 19))
    agree(lambda x, r: lax.scan(cell, x, r, reverse=reverse), STACK[:, 0], STACK)


@pytest.mark.parametrize("length", [0, 1, 2])
def test_scans_of_few_steps(length):
    """None at all, and one."""

    def f(x, r):
        r = r[:length]
        both = [lax.scan(cell, x, r, reverse=b) for b in (False, True)]
        return both, lax.fori_loop(0, length, lambda i, c: c * 2 + i, x)

    agree(f, X, ROWS)
    agree(f, STACK[:, 0], STACK)


def test_scans_in_scans():
    """The inner one over the outer one's row, or over an array from outside."""

    def nested(x, r):
        def outer(c, row):
            return lax.scan(lambda d, e: (d * 0.9 + e, d.sum()), c, row, reverse=True)

        return lax.scan(outer, x, jnp.broadcast_to(r[:, None], (7, 4, 3)))

    def closing(x, r):
        def outer(c, _):
            return c + lax.scan(lambda d, e: (d * e + c.sum(), d), c, r)[1].sum(0), c

        return lax.scan(outer, x, r)

    agree(lambda x, r: (nested(x, r), closing(x, r)), X, ROWS)
    agree(lambda r: jax.vmap(lambda q: lax.scan(lambda c, e: (c + e, c * e), 0.0, q))(r.T), ROWS)
    agree(lambda r: (lax.map(lambda e: e @ e, r), lax.associative_scan(jnp.add, r)), ROWS)


def test_what_is_carried():
    """Counters of several types, bools, constants that stay, values that change places."""

    def f(x):
        def counters(c, _):
            return (c[0] + 1, c[1] * c[0], c[2] + jnp.int32(1), ~c[3]), c

        def turning(c, _):
            return (c[1], c[2], c[0]), c

        def staying(c, _):
            return (c[0], c[1] + c[0], c[2].T, c[3]), c[0] * 2

        empty = jnp.zeros((0, 3))
        return (
            lax.scan(counters, (0, x, jnp.int32(4), True), None, length=5),
            lax.scan(turning, (x[0], 2.0 * x[1], 3.0), None, length=7),
            lax.scan(staying, (jnp.zeros(3), x, jnp.eye(3), empty), None, length=7),
            lax.scan(lambda c, e: (c ^ (e > 0), (c, e > 0)), x[0] > 0, x),
            lax.scan(lambda c, _: (c + 1, empty), x, None, length=3),
        )

    agree(f, X, lanes=(1, 3, 19))
    agree(lambda x, r: lax.scan(cell, x, r), X.astype(np.float32), ROWS.astype(np.float32))


def test_large_states():
    """In memory: exchanged, transposed, started from zeros, written in part."""
    agree(
        lambda a, b: lax.fori_loop(0, 3, lambda i, c: (c[1], c[0] * 2 + i), (a, b)),
        STACK[:, 0], STACK[:, 1],
    )  # fmt: skip
    agree(lambda a: lax.scan(lambda c, _: (c.T + 1, c[0]), a[:50], None, length=3), BIG)

    def filling(a):
        def step(c, r):
            return jnp.tanh(c + r[:, None]), (c @ r, c)

        return lax.scan(step, jnp.zeros((50, 50)), a[:4])

    agree(filling, BIG)
    agree(
        lambda a: lax.scan(lambda c, r: (jnp.cumsum(c + r), (r * c)[:3], r @ r)[:2], a[0], a), BIG
    )
    agree(lambda a, n: lax.fori_loop(0, 50, lambda i, b: b.at[i, n].add(b[i - 1, i]), a), BIG, N)


@pytest.mark.parametrize("rows", [6, 600])
def test_filling_a_table(rows):
    """A loop that writes one row after the other into zeros."""

    def f(x, n):
        def step(i, table):
            new = x * i + 0.9 * table[jnp.maximum(i - 1, 0)]
            return lax.dynamic_update_slice(table, new[None], (i, 0))

        table = lax.fori_loop(0, 5, step, jnp.zeros((rows, 3)))
        return table, table[n], lax.fori_loop(n - 3, n, lambda i, c: c * 0.5 + i, x)

    agree(f, X, N)


def test_results_may_be_used_more_than_once():
    """As results of the function, as they are and changed."""

    def f(x, r):
        c, y = lax.scan(cell, x, r)
        return c, c, y, y, y * 2, c.T, y[::-1], y.reshape(-1), y[-1], y[0], x, r, r

    agree(f, X, ROWS)
    agree(f, STACK[:, 0], STACK)


def test_lanes_leave_a_while_loop_one_by_one():
    """Also with large states, loops in loops, and loops that nobody enters."""

    def f(n, x):
        def cosines(x):
            return lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.cos(c[1])), (0, x))

        def inner(c):
            grown = lax.while_loop(lambda d: d.sum() < c[0], lambda d: d * 1.1 + 0.5, c[1])
            return c[0] + 1, grown

        return (
            cosines(x), lax.while_loop(lambda c: c[0] < n, inner, (0, x)),
            lax.while_loop(lambda c: c.sum() > 1e9, lambda c: c + 1, x),
        )  # fmt: skip

    agree(f, N, X, lanes=(1, 3, 19))
    agree(lambda n, a: f(n, a)[0], N, BIG)


def test_while_loops_and_scans_in_one_another():
    """Both ways."""

    def f(n, r):
        def settle(c, e):
            return lax.while_loop(lambda d: jnp.abs(d).sum() > 1, lambda d: d * 0.6, c + e), c

        turns = lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, lax.scan(cell, c[1], r)[0]), (0, r[0])
        )
        return lax.scan(settle, r[0], r), turns

    agree(f, N, ROWS)


def test_a_mapped_while_loop_has_a_test_for_each_row():
    """A function may map a loop itself: rows that are done keep their values."""

    def f(x, n):
        def one(q):
            start = 0.0, q, jnp.zeros((2, 2))
            return lax.while_loop(
                lambda c: c[0] < q * n, lambda c: (c[0] + 1, c[1] + 0.5, c[2] + c[1]), start
            )

        return jax.vmap(one)(x), lax.cond(n > 4, jax.vmap(one), jax.vmap(one), -x)

    agree(f, X, N, lanes=(1, 3, 19))
    wide = R.uniform(-1, 1, (B, 80))
    agree(f, wide, N)


def test_a_while_loop_in_a_branch_runs_for_the_lanes_that_take_it():
    """In the others it would never end."""

    def f(n, x):
        def search(x):
            return lax.while_loop(
                lambda c: c.sum() < 10 * n, lambda c: jnp.where(n > 4, c + 1, c), x
            )

        return lax.cond(n > 4, search, lambda x: -x, x)

    kernel = kernels.compile(f, 0, X[0])
    one_by_one = [jax.jit(f)(n, x) for n, x in zip(N, X, strict=True)]
    close(jax.vmap(kernel)(N, X), np.stack(one_by_one))


def branches(n, x):
    """Nested conditions, a switch beyond its ends, results of several types."""
    return (
        lax.cond(
            n > 4,
            lambda x: lax.cond(n > 6, jnp.sin, jnp.cos, x),
            lambda x: lax.cond(n > 2, jnp.tanh, jnp.exp, x), x,
        ),
        lax.switch(n - 3, [jnp.sin, jnp.cos, jnp.tanh, jnp.exp], x),
        lax.cond(n > 4, lambda x: (x, n, True, x[0] > 0), lambda x: (-x, 0, x[0] < 0, False), x),
    )  # fmt: skip


def large_branches(n, a):
    """Zeros on one side or the other, a row replaced."""
    zeros = jnp.zeros((60, 50))
    return (
        lax.cond(n > 4, lambda a: zeros, lambda a: a, a),
        lax.cond(n > 4, lambda a: lax.dynamic_update_slice(a, a[:2], (n, 0)), lambda a: a, a),
        lax.switch(n, [lambda a: zeros, jnp.sin, lambda a: a.at[3].set(0.0), lambda a: a.T.T], a),
        lax.switch(n, [jnp.sin, lambda a: zeros, lambda a: a * 2], a),
    )


def test_branches_of_each_lane():
    """Chosen by select."""
    agree(branches, N, X, lanes=(1, 3, 19))
    agree(large_branches, N, BIG)


@pytest.mark.parametrize("n", [-2, 1, 7])
def test_branches_of_all_lanes_together(n):
    """A real branch on a shared index."""
    agree(branches, n, X, axes=(None, 0))
    agree(large_branches, n, BIG, axes=(None, 0))


def test_loops_over_what_all_lanes_share():
    """Shared counts, rows and large arrays, as constants and carried."""
    agree(
        lambda n, x: lax.while_loop(
            lambda c: c[0] < n, lambda c: (c[0] + 1, jnp.cos(c[1])), (0, x)
        ),
        5, X, axes=(None, 0),
    )  # fmt: skip
    agree(lambda r, x: lax.scan(cell, x, r), ROWS[0], X, axes=(None, 0))

    def carried(w, x):
        def shrinking(i, c):
            return c[0] * 0.9, c[1] + c[0][i, :3]

        def staying(c):
            return c[0] + 1, c[1], c[2] + c[1][c[0], :3]

        return (
            lax.fori_loop(0, 4, shrinking, (w, x)),
            lax.while_loop(lambda c: c[0] < 3, staying, (0, w, x)),
            lax.cond(w[0, 0] > 0, lambda w: (w, x), lambda w: (w * 2, x + w[0, :3]), w),
        )

    agree(carried, BIG[0], X, axes=(None, 0))
    weights = R.normal(size=(200, 200)) / 14
    agree(
        lambda w, x: lax.scan(lambda c, _: (jnp.tanh(w @ c), c[:2]), x, None, length=3),
        weights, R.normal(size=(B, 200)), axes=(None, 0),
    )  # fmt: skip


def test_a_body_in_loops_is_traced_a_few_times(monkeypatch):
    """What proved to hold of an inner loop is not found anew in each trace of the outer ones."""
    traced, sin = [], RULES["sin"]
    monkeypatch.setitem(RULES, "sin", lambda *args: (traced.append(args), sin(*args))[1])

    def nested(depth, x):
        if depth == 0:
            # A zero that stays, one that a neighbour's sine reaches, one that comes out at once.
            return x * 0.9 + jnp.array([0.0, 0.1, 0.0, 0.0]) + jnp.roll(jnp.sin(x), 1) * 0.1
        return lax.fori_loop(0, 2, lambda _, x: nested(depth - 1, x), x)

    for depth in (1, 3, 5):
        traced.clear()
        agree(lambda x, depth=depth: nested(depth, jnp.array([0.0, 0.0, 0.0, 1.0]) * x), X[:, 0])
        # Compiled for one simulation and for lanes.
        assert len(traced) <= 2 * (depth + 3)
