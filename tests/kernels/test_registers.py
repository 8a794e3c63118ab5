"""What long code keeps in registers is chosen before LLVM sees it, and changes no value."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree
from test_schedule import M, X, busy

from graftsim import kernels
from graftsim.errors import KernelError
from graftsim.kernels import machine_code
from graftsim.kernels.codegen import emit, registers, schedule
from graftsim.kernels.codegen.layout import lay_out
from graftsim.kernels.codegen.liveness import find_live
from graftsim.kernels.codegen.target import host
from graftsim.kernels.function import Function


@pytest.fixture
def scarce(monkeypatch):
    """Four registers and two masks, blocks of ten operations, for programs of any length."""
    monkeypatch.setenv("GRAFTSIM_KERNEL_CACHE", "")
    for name in ("_LONG_ONE", "_LONG_MANY"):
        monkeypatch.setattr(schedule, name, 0)
    monkeypatch.setattr(registers, "registers", lambda target: (4, 2))
    monkeypatch.setattr(registers, "_CARRIED", np.inf)
    monkeypatch.setattr(emit, "_BLOCK", 10)


def slope(x, m):
    """Reverse mode of a loop with branches and stores."""
    return jax.grad(lambda y: busy(y, m)[0].sum())(x)


def turning(x, m):
    """Forward mode through a loop that lanes leave one by one, and rare calls of a library."""

    def f(y):
        z = jax.lax.while_loop(lambda c: c[0] < 3.0, lambda c: c + 0.3 + jnp.cos(c) ** 2, y)
        return jnp.where(z > 3.2, jnp.sin(1e9 * m[1]) * z, z * y[0]) + y[1] / (1 + y[0] ** 2)

    return jax.jvp(f, (x,), (m[0],))[1]


@pytest.mark.usefixtures("scarce")
@pytest.mark.parametrize("f", [busy, slope, turning])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scarce_registers_change_no_value(f, dtype):
    """One simulation and many: whatever waits in memory comes back as it was."""
    # Products and sums are fused where LLVM sees both: the last bits may differ.
    agree(f, X.astype(dtype), M.astype(dtype), rtol=1e-5 if dtype == np.float32 else 1e-11)


@pytest.mark.usefixtures("scarce")
def test_shared_numbers_come_back_too():
    """Scalars that all lanes share, read as scalars and in all lanes."""
    agree(lambda x, m: busy(x, m)[1] @ m, X, M[0], axes=(0, None))


def _products(n):
    """n values, each read as late as the others allow, first in first out."""

    def f(x):
        made = [x[0] * (k + 1.5) + x[k % 4] for k in range(n)]
        out = x[0]
        for value in made:
            out = jnp.sin(out) * value
        return out

    function = Function(f, [jax.ShapeDtypeStruct((4,), np.float32)], [])
    p, _ = machine_code.program(function, (True,))
    return p, find_live(p)


def test_no_more_values_at_hand_than_registers():
    """As many wait as do not fit."""
    p, live = _products(100)
    kept = registers.keep(p, live, 16)
    (run,) = [r for r in registers.runs(p, live, 16) if r.items]
    reads = {n: at for at, keys in enumerate(run.reads) for n, _ in keys}
    hand: set[registers.Key] = set()
    for at, (item, makes) in enumerate(zip(run.items, run.makes, strict=True)):
        hand |= {*run.reads[at], *((n, False) for n in makes)}
        hand = {k for k in hand if reads.get(k[0], -1) > at and p.types[k[0]] != "i1"}
        hand -= set(kept.drops.get(item, []))
        assert len(hand) <= registers.registers(host())[0]
    assert 60 < len(kept.waiting) < 100


def test_loops_that_carry_much_are_left_to_llvm(monkeypatch):
    """As reverse mode does, which sums up the slope of every weight of a network on its way."""
    size = 60

    def f(x, weights):
        def step(carry, _):
            y, sums = carry
            return (jnp.tanh(y * weights[0]), sums + y * weights), None

        return jax.lax.scan(step, (x, jnp.zeros(size, x.dtype)), None, length=7)[0][1]

    function = Function(
        f, [jax.ShapeDtypeStruct(s, np.float32) for s in ((), (size,))], []
    )  # fmt: skip
    p, _ = machine_code.program(function, (True, True))
    live = find_live(p)
    assert registers.keep(p, live, 16).waiting == {}
    monkeypatch.setattr(registers, "_CARRIED", np.inf)
    assert len(registers.keep(p, live, 16).waiting) > 20


def test_places_in_memory_are_used_again(monkeypatch):
    """Values that wait at different times share a place, those at the same time do not."""
    for name in ("_LONG_ONE", "_LONG_MANY"):
        monkeypatch.setattr(schedule, name, 0)
    monkeypatch.setattr(registers, "registers", lambda target: (4, 2))
    p, live = _products(100)
    schedule.shorten(p, live)
    kept, layout = registers.keep(p, live, 16), lay_out(p, live, 16)
    assert set(kept.waiting) == set(layout.slots)
    for a, (start, stop) in kept.waiting.items():
        for b, (other, _) in kept.waiting.items():
            if a != b and start <= other <= stop:
                assert layout.slots[a] != layout.slots[b]


def indexed(x):
    """Row numbers that all lanes share: added to those of each lane twice, and read alone later."""
    table = jnp.reshape(jnp.outer(x, jnp.arange(50, dtype=x.dtype)), -1)

    def body(k, y):
        own = jnp.clip(y[0] * 3, 0, 9).astype(int)
        rows = [7 * k + 3 * i for i in range(8)]
        for _ in range(2):
            y = y + sum(jnp.sin(table[own + r]) for r in rows)
        y = jax.lax.cond(y[1] > 0, lambda: jnp.cos(y), lambda: y * 0.5)
        return y + sum(table[r] for r in rows).astype(y.dtype)

    return jax.lax.fori_loop(0, 5, body, x)


@pytest.mark.usefixtures("scarce")
def test_what_shares_a_place_is_read_in_its_time_alone(monkeypatch):
    """Every read, counted or not, of what waits within a run lies between its making and last."""
    every: list[set[int]] = []
    add = registers._Runs._add

    def noted(self, item, reads, *makes):
        pairs = list(reads)
        every.append({n for n, _ in pairs if self.p.ops[n] != "const"})
        add(self, item, pairs, *makes)

    function = Function(indexed, [jax.ShapeDtypeStruct((4,), np.float32)], [])
    p, _ = machine_code.program(function, (True,))
    live = find_live(p)
    schedule.shorten(p, live)
    monkeypatch.setattr(registers._Runs, "_add", noted)
    kept = registers.keep(p, live, 16)
    spans = {n: span for n, span in kept.waiting.items() if n not in kept.crossing}
    assert len(spans) > 5
    for at, nodes in enumerate(every):
        for n in nodes & spans.keys():
            assert spans[n][0] < at <= spans[n][1], (n, p.ops[n], p.types[n])


def test_collection_goes_on_after_a_kernel_is_made():
    """And after one that cannot be."""
    assert gc.isenabled()
    kernels.compile(lambda x: x + 1.0, 1.0)(2.0)
    with pytest.raises(KernelError):
        kernels.compile(lambda x: jnp.fft.fft(x).real, jnp.ones(4))(jnp.ones(4))
    assert gc.isenabled()
