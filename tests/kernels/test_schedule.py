"""The order of straight-line code changes how fast it runs, and nothing else."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree

from graftsim.kernels import machine_code
from graftsim.kernels.codegen import schedule
from graftsim.kernels.codegen.liveness import find_live
from graftsim.kernels.function import Function
from graftsim.kernels.ir.statements import Region

RANDOM = np.random.default_rng(5)
X = RANDOM.normal(size=(19, 4))
M = RANDOM.normal(size=(19, 4, 4))


def busy(x, m):
    """A loop with a branch and memory that is indexed at run time."""

    def body(k, c):
        y = jnp.tanh(m @ c) + x[k % 4]
        return jax.lax.cond(y[0] > 0, lambda: y * 0.5, lambda: y.at[k % 4].set(jnp.sum(c)))

    return jax.lax.fori_loop(0, 6, body, x), jnp.cumsum(x)


@pytest.fixture
def short(monkeypatch):
    """Reorder programs of any length; code of another order is not to be found."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", "")
    for name in ("_LONG_ONE", "_LONG_MANY"):
        monkeypatch.setattr(schedule, name, 0)


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("f", [busy, lambda x, m: jax.grad(lambda y: busy(y, m)[0].sum())(x)])
def test_reordered_code_computes_the_same(f):
    """One simulation and many, with loops, branches and stores."""
    agree(f, X, M)


@pytest.mark.parametrize("many", [False, True])
def test_operands_come_first_and_close(many):
    """Depth first: valid, complete, and with fewer values alive at a time."""
    function = Function(
        lambda x, m: [jnp.tanh(m @ x) @ m[:, k] for k in range(4)],
        [jax.ShapeDtypeStruct(s, np.float32) for s in ((4,), (4, 4))],
        [],
    )
    p, _ = machine_code.program(function, (False, False), many)
    live = find_live(p)
    region: Region = p.tile
    before = [n for n in region.items if isinstance(n, int) and n in live.nodes]
    after = schedule._depth_first(p, before)
    assert sorted(after) == sorted(before)
    place = {n: k for k, n in enumerate(after)}
    for n in after:
        assert all(place[a] < place[n] for a in p.operands(n) if a in place)
    assert _alive(p, after) <= _alive(p, before)


def _alive(p, order):
    """Largest number of values that are computed and still wanted."""
    place = {n: k for k, n in enumerate(order)}
    last = dict(place)
    for n in order:
        for a in p.operands(n):
            if a in place:
                last[a] = max(last[a], place[n])
    ends = np.zeros(len(order) + 1, int)
    for n, k in place.items():
        ends[k] += 1
        ends[last[n]] -= 1
    return np.cumsum(ends).max()
