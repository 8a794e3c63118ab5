"""Where values live is decided before any text is written."""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from graftsim import kernels
from graftsim.kernels import machine_code


def lowered(f, *args, lanes=True):
    """A function before its machine code, every argument different from lane to lane."""
    function = kernels.compile(f, *args).function
    return machine_code.lower(function, (lanes,) * len(function.in_avals), lanes)


def spiral(x, a):
    """A loop that reads one value from before it, and whose result is read after it."""

    def step(_, c):
        return c * a + jnp.tanh(c)

    return jax.lax.fori_loop(0, 1000, step, x) + a


def test_straight_code_lives_in_registers():
    """No slot where no value crosses into another loop."""
    layout = lowered(lambda x, y: jnp.exp(x) * jnp.sin(y) / x, 1.0, 2.0).layout
    assert layout.slots == {} and layout.work == () and layout.places() == ({}, 0)


def test_what_crosses_into_a_loop_has_a_slot():
    """Those, and no others: what is carried goes in and comes out in registers."""
    found = lowered(spiral, 1.0, 2.0)
    p = found.program
    assert sorted(p.ops[n] for n in found.layout.slots) == ["load"]
    (n,) = found.layout.slots
    assert p.args[n][1].slot == 1


def test_slots_do_not_overlap_and_are_aligned():
    """Each slot as wide as its vector, arrays on lines of the cache."""

    def f(x, table):
        def step(k, c):
            return c + jnp.sin(x) * jnp.cumsum(table)[k] * jnp.exp(x[0])

        return jax.lax.fori_loop(0, 300, step, x)

    found = lowered(f, jnp.ones(3), jnp.ones(300))
    p, layout = found.program, found.layout
    spans = []
    for n, at in layout.slots.items():
        width = np.dtype(np.float64).itemsize * (1 if p.uniform[n] else layout.lanes)
        assert p.types[n] == "f64" and at % width == 0
        spans.append((at, at + width))
    places, scratch = layout.places()
    for b, at in places.items():
        assert at % 64 == 0
        spans.append((at, at + 8 * b.size * (1 if b.uniform else layout.lanes)))
    assert layout.slots and layout.work
    spans.sort()
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    assert spans[-1][1] == scratch


@pytest.mark.parametrize(("quotients", "divisions"), [(1, 1), (3, 1)])
def test_quotients_by_one_divisor_share_a_reciprocal(quotients, divisions):
    """One division, the rest are products."""
    text = lowered(lambda x, y: [(x + k) / y for k in range(quotients)], 1.0, 2.0).module.text
    assert text.count("fdiv") == divisions
