"""Primitives at their edges: types, special numbers, indices out of range, sizes 0, 1 and large."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from agreement import agree, close
from jax import lax

from graftsim import kernels
from graftsim.errors import KernelError

B = 19
R = np.random.default_rng(7)
X = R.normal(size=(B, 3, 4))
LARGE = R.normal(size=(B, 20, 21))
INDEX = R.integers(-12, 12, (B, 5))
SPECIAL = R.choice([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0], (2, B, 6))
BOOL = R.random((2, B, 6)) > 0.5
LOWEST, HIGHEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
# Each numerator meets each divisor: zero, and minus one, at which the lowest number overflows.
TOP = np.tile([LOWEST, HIGHEST, 2**53 + 1, -7, 0], (B, 1))
BOTTOM = np.stack([np.roll([-1, 0, 3, 2**40, 7], i) for i in range(B)])
WHOLE = {
    "int64": (TOP, BOTTOM),
    "int32": (np.clip(TOP, -(2**31), 2**31 - 1).astype(np.int32),
              np.clip(BOTTOM, -9, 99).astype(np.int32)),
    "uint64": (TOP.view(np.uint64), np.abs(BOTTOM).astype(np.uint64)),
    "uint32": ((TOP & 0xFFFFFFFF).astype(np.uint32), np.clip(BOTTOM, 0, 99).astype(np.uint32)),
}  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
def test_whole_numbers(kind):
    """Wrapping arithmetic, division by zero and at overflow, comparison without surprise."""
    x, y = WHOLE[kind]
    agree(
        lambda x, y: (
            lax.div(x, y), lax.rem(x, y), x + y, x - y, x * y, -x, x**3, lax.sign(x),
            lax.max(x, y), lax.min(x, y), x < y, x <= y, x > y, x >= y, x == y, x != y,
            x & y, x | y, x ^ y, ~x, lax.clamp(x[0], y, x[1]), x[::-1] // (y | 1), x % (y | 1),
        ),
        x, y, lanes=(1, 3, 19),
    )  # fmt: skip


@pytest.mark.parametrize("kind", WHOLE)
def test_shifts_by_more_than_the_width(kind):
    """Nothing is left but the sign, also where the distance is known in advance."""
    shifts = lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic
    agree(
        lambda x, y: (
            [f(x, y) for f in shifts],
            [f(x, jnp.full_like(x, n)) for f in shifts for n in (0, 31, 32, 64, 70)],
        ),
        *WHOLE[kind],
    )


@pytest.mark.parametrize("kind", WHOLE)
def test_reductions_of_whole_numbers(kind):
    """All kinds, in the type of the numbers."""

    def f(x):
        bits = [p.bind(x, axes=(0,)) for p in (lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p)]
        return bits, x.sum(), x.prod(), x.max(), x.min(), jnp.argmax(x), jnp.argmin(x)

    agree(lambda x: (f(x), jnp.sort(x), jnp.cumsum(x), jnp.cumprod(x)), WHOLE[kind][0])
    long = np.tile(WHOLE[kind][0], (1, 60))
    agree(lambda x: (f(x), jnp.cumsum(x), lax.cummax(x)), long)


def test_division_of_known_numbers():
    """Folded in whole numbers: a float64 does not hold 64 bits. XLA's own folding traps here."""
    top = [2**62 + 1, -(2**62) - 1, LOWEST, 5]
    bottom = [1, 3, -1, 0]
    wanted = [2**62 + 1, -((2**62 + 1) // 3), LOWEST, -1], [0, -((2**62 + 1) % 3), 0, 5]
    kernel = kernels.compile(
        lambda x: [f(jnp.array(top), jnp.array(bottom)) + 0 * x for f in (lax.div, lax.rem)], 1
    )
    close(kernel(1), [np.array(w) for w in wanted])


def test_nan_and_infinity():
    """NaN passes through min and max, and the first one is the largest and the smallest."""
    agree(
        lambda x, y: (
            lax.max(x, y), lax.min(x, y), jnp.fmax(x, y), x.max(), x.min(), x < y, x == y, x != y,
            jnp.argmax(x), jnp.argmin(x), lax.cummax(x), lax.cummin(x), lax.clamp(y, x, y + 1),
            lax.sign(x), jnp.sort(x), jnp.argsort(x), jnp.nan_to_num(x), jnp.isnan(x),
            lax.pow(x, y), lax.rem(x, y), lax.atan2(x, y), lax.div(x, y),
        ),
        *SPECIAL, lanes=(1, 3, 19),
    )  # fmt: skip
    long = np.tile(SPECIAL[0], (1, 60)).reshape(B, 20, 18)
    agree(
        lambda x: (
            jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.argmax(x), lax.cummin(x, 1),
            jnp.maximum(x, 0.5),
        ),
        long,
    )  # fmt: skip
    # XLA loses some NaN here.
    kernel = kernels.compile(lambda x: (x.max(0), x.min(1)), long[0])
    close(jax.vmap(kernel)(long), (long.max(1), long.min(2)))


def test_bools():
    """False is below true."""
    agree(
        lambda x, y: (
            x & y, x | y, x ^ y, ~x, lax.max(x, y), lax.min(x, y), x < y, x <= y, x > y, x >= y,
            x == y, x != y, x.all(), x.any(), x.max(), x.min(), jnp.argmax(x), jnp.argmin(x),
            x.sum(), jnp.cumsum(x), x.astype(float), x.astype(jnp.int32), x @ y, jnp.sort(x),
            jnp.where(x, y, ~y), x[::-1], lax.pad(x, True, [(1, 1, 1)]), x.at[1].set(True),
            x.at[jnp.array([0, 1])].max(y[:2]), x.at[y.argmax()].min(False),
        ),
        *BOOL, lanes=(1, 3, 19),
    )  # fmt: skip
    agree(
        lambda x: (
            x @ x, x.max(0), x.min(1), x.any(), x.all(0), jnp.argmax(x, 1), x.sum(1),
            jnp.where(x, x.T, ~x),
        ),
        R.random((B, 20, 20)) > 0.9,
    )  # fmt: skip


def test_clamp_of_bools():
    """As numbers would be; not every backend of XLA has it, so NumPy is asked."""
    x, y = (np.asarray(a[0]) for a in BOOL)
    high = x | y
    found = kernels.compile(lambda x, y: lax.clamp(x, y, x | y), x, y)(x, y)
    np.testing.assert_array_equal(found, np.minimum(np.maximum(y, x), high))


def test_conversions():
    """What a whole number cannot hold becomes the nearest that it can, and NaN zero."""
    numbers = [0, 1.5, -1.5, 1e10, -1e10, 1e20, -1e20, np.nan, np.inf, -np.inf, 3e9, -0.5]
    x = np.stack([np.roll(numbers, i) for i in range(B)])
    kinds = jnp.int32, jnp.int64, jnp.uint32, jnp.uint64, bool, jnp.float32
    agree(lambda x: [x.astype(k) for k in kinds], x)
    known, none = jnp.array(numbers), np.zeros_like(x)
    agree(lambda x: [x.astype(k) | known.astype(k) for k in kinds[:5]], none)
    agree(lambda x: [x.astype(k).astype(float) for k in kinds], TOP)
    agree(lambda x: [x.astype(k).astype(jnp.float32) for k in kinds], WHOLE["uint32"][0])
    agree(lambda x: lax.bitcast_convert_type(x, jnp.float32), WHOLE["int32"][0] >> 3)
    with pytest.raises(KernelError, match="width"):
        kernels.compile(lambda x: lax.bitcast_convert_type(x, jnp.int32), 1.0)(1.0)
    with pytest.raises(KernelError, match="fewer bits"):
        kernels.compile(lambda x: lax.reduce_precision(x, 5, 10), 1.0)(1.0)
    with pytest.raises(KernelError, match="float16"):
        kernels.compile(lambda x: x.astype(jnp.float16), 1.0)


def test_arrays_of_size_zero():
    """Sums of nothing, shapes without elements."""
    agree(
        lambda e, x: (
            e.sum(), e.sum(0), e.prod(0), e.max(0, initial=-1.0), e.any(0), e.all(0), e.T, e * 2,
            e @ x, jnp.pad(e, ((1, 1), (0, 0)), constant_values=3), e.reshape(3, 0),
            jnp.cumsum(e, 0), jnp.sort(e, 0), e[::-1], jnp.stack([e, e]), x[:0],
            jnp.concatenate([e, x.T[:2, :3]]), x[jnp.zeros(0, int)],
            x.at[jnp.zeros(0, int)].add(1.0), jnp.linalg.cholesky(e[:, :0]),
            jnp.linalg.inv(e[:, :0]), jnp.zeros((2, 0)) @ e,
            lax.scan(lambda c, _: ((c[0], c[1] + 1), c[0].sum()), (e, x), None, length=3),
        ),
        np.zeros((B, 0, 3)), X,
    )  # fmt: skip


def test_arrays_of_size_one():
    """And scalars."""
    agree(
        lambda o, s: (
            o.sum(), o.max(), jnp.argmax(o), jnp.cumsum(o), o @ o, o[::-1], o[None], o.at[0].set(2),
            o[jnp.array([0, 5])], jnp.sort(o), jnp.pad(o, 1), jnp.diff(o), jnp.linalg.inv(o[None]),
            s.reshape(1), jnp.broadcast_to(s, (2, 3)), jnp.stack([s, s]), s.sum(),
        ),
        X[:, 0, :1], X[:, 0, 0], lanes=(1, 3, 19),
    )  # fmt: skip


def test_reading_at_indices_out_of_range():
    """Clipped or filled, as the mode says; filled with what JAX has for the type."""
    agree(
        lambda x, i: (
            x[i], x[..., i], x.at[i].get(mode="clip"), x.at[i].get(mode="fill"),
            x.at[i, i].get(mode="fill", fill_value=-7.0), x.at[:, i].get(mode="fill"),
            jnp.take(x, i, axis=1), jnp.take_along_axis(x, jnp.abs(i[:3, None]) % 4, 1),
            [jnp.arange(5).astype(k).at[i].get(mode="fill")
             for k in (int, jnp.int32, jnp.uint32, jnp.float32, bool)],
            jnp.arange(5).at[i.astype(jnp.uint64)].get(mode="clip"),
            lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), lax.dynamic_slice(x, (1, 9), (2, 2)),
            lax.dynamic_slice(x, (i[0].astype(jnp.int32), i[1].astype(jnp.int32)), (3, 1)),
            jax.vmap(lambda r, j: (r[j], lax.dynamic_slice(r, (j,), (2,))))(x, i[:3]),
        ),
        X, INDEX, lanes=(1, 3, 19),
    )  # fmt: skip


def test_writing_at_indices_out_of_range():
    """Moved into range or dropped, as the mode says; repeated indices add up."""
    modes = [(op, mode) for op in ("add", "multiply", "min", "max") for mode in ("clip", "drop")]
    window = lax.ScatterDimensionNumbers((0, 1), (), (0,))
    agree(
        lambda x, i: (
            [getattr(x.at[i], op)(2.5, mode=mode) for op, mode in modes],
            x.at[i[0]].set(3.0, mode="clip"), x.at[i[0]].set(3.0, mode="drop"), x.at[:, i].add(1.0),
            x.at[i, i].add(1.0), x.at[i[0], 1:3].set(9.0), x.at[1, 2].set(x[0, 0]),
            x.at[i].add(jnp.arange(20.0).reshape(5, 4)), x.at[i].subtract(1.0),
            x.at[i].divide(2.0), x.at[i[0]].apply(jnp.sin),
            [lax.scatter_add(x, i[:1], jnp.ones((2, 2)), window, mode=m)
             for m in (lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP)],
            lax.dynamic_update_slice(x, jnp.ones((2, 2)), (i[2], i[3])),
            jax.vmap(lambda r, j: lax.dynamic_update_slice(r, r[:2], (j,)))(x, i[:3]),
        ),
        X, INDEX, lanes=(1, 3, 19),
    )  # fmt: skip


PADS = [
    (0.0, ((-1, -1, 0), (-2, 1, 0))),
    (1.0, ((2, -1, 2), (-1, -1, 1))),
    (2.0, ((-2, 3, 1), (0, 0, 3))),
    (3.0, ((-3, -1, 1), (0, 0, 0))),
]


def test_pads_that_cut_and_pads_between():
    """Small and large."""
    agree(lambda x: [lax.pad(x, *how) for how in PADS], X)
    agree(lambda x: [lax.pad(x, *how) for how in PADS], LARGE)


def test_large_arrays_are_moved():
    """As index maps over memory."""
    agree(
        lambda x: (
            x.T, x[::-1, 1::2], x.reshape(21, 20), x.reshape(2, 10, 21)[:, ::-1].transpose(2, 0, 1),
            jnp.roll(x, 3, 1), jnp.concatenate([x, x[:2], x * 2]), jnp.concatenate([x, x], 1),
            jnp.stack([x, x], 2), jnp.split(x, [3, 7], 1), jnp.tile(x, (2, 3)),
            jnp.repeat(x, 2, 0), x[None, :, None], jnp.triu(x), x.ravel()[5:100:7], x, x,
        ),
        LARGE,
    )  # fmt: skip


def test_large_arrays_are_indexed():
    """Read and written at indices of each lane."""
    agree(
        lambda x, i: (
            x[i], x[:, i], x[i, i], x.at[i].get(mode="fill"), x.at[i].add(1.0),
            x.at[:, i].mul(2.0), x.at[i[0]].set(5.0), lax.dynamic_slice(x, (i[0], i[1]), (11, 3)),
            lax.dynamic_update_slice(x, x[:5, :5], (i[0], i[1])), x.at[3].apply(jnp.cos),
            x.at[jnp.array([1, 2])].set(x[:2] * 2),
        ),
        LARGE, INDEX,
    )  # fmt: skip


def test_large_arrays_are_reduced():
    """Loops instead of straight-line code, for one simulation as for many."""
    agree(
        lambda x: (
            x.sum(), x.sum(0), x.prod(1), x.max(0), x.min(), x.std(), jnp.argmax(x, 1),
            jnp.argmin(x, 0), jnp.argmax(x), jnp.cumsum(x, 0), lax.cumsum(x, 1, reverse=True),
            lax.cummax(x, 1), lax.cumprod(x, 1), x @ x.T, x.T @ x, jnp.einsum("ij,ij->j", x, x),
            (x > 0).any(1), jnp.trace(x), jax.nn.softmax(x, 1), jax.nn.logsumexp(x, 0),
        ),
        LARGE,
    )  # fmt: skip


def test_arrays_beyond_straight_line_code():
    """300 x 300 numbers, own and shared; a product with shared weights."""
    big = R.normal(size=(3, 300, 300))
    agree(lambda x: (jnp.sin(x) * x + 1, jnp.cumsum(x, 0), x.sum()), big, lanes=(3,))
    agree(lambda w, x: (jnp.tanh(w) * x[0]).sum(1), big[0], X[:, 0], axes=(None, 0))
    agree(lambda w, x: w @ x, big[0, :200, :200], R.normal(size=(B, 200)), axes=(None, 0))


def test_products_of_different_types():
    """In the type of the result, small and large."""
    one, other = LARGE.astype(np.float32), LARGE[::-1]
    agree(
        lambda x, y, n: (
            [x[:3, :k] @ y[:3, :k].T for k in (4, 21)], x.T @ y, n @ x[0, :5], n @ n, n @ y[0, :5],
            jnp.einsum("i,i->", n, n, preferred_element_type=float),
        ),
        one, other, INDEX.astype(np.int32), rtol=1e-11,
    )  # fmt: skip


N = R.normal(size=(B, 4, 4))
SPD = np.einsum("bij,bkj->bik", N, N) + 0.5 * np.eye(4)


@pytest.mark.parametrize("left", [True, False])
def test_triangular_systems(left):
    """Every combination of side, triangle, transpose and unit diagonal."""

    def f(a, b):
        return [
            lax.linalg.triangular_solve(
                a, b if left else b.T, left_side=left, lower=lower, transpose_a=turned,
                unit_diagonal=unit,
            )
            for lower in (True, False) for turned in (True, False) for unit in (True, False)
        ]  # fmt: skip

    agree(f, SPD, N[..., :2], rtol=1e-11)


def test_factorisations():
    """Also wide, tall, singular, permuted, in float32 and in batches."""
    agree(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.cholesky(a, upper=True)), SPD)
    agree(lambda a: [lax.linalg.lu(m) for m in (a, a[:3], a[:, :3], a[:1, :1])], N)
    singular = np.tile([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.0]], (B, 1, 1))
    agree(lambda a: (lax.linalg.lu(a), lax.linalg.lu(0 * a), jnp.linalg.det(a)), singular)
    turned = np.tile(np.eye(4)[[2, 0, 3, 1]], (B, 1, 1))
    agree(lambda a, b: (jnp.linalg.solve(a, b), jnp.linalg.inv(a)), turned, N)
    agree(
        lambda a, b: (
            jnp.linalg.solve(a, b[0]), jnp.linalg.inv(a), jnp.linalg.slogdet(a),
            jnp.linalg.inv(jnp.stack([a, a * 2])), jax.scipy.linalg.solve_triangular(a, b, trans=1),
            jax.scipy.linalg.cho_solve(jax.scipy.linalg.cho_factor(b), a),
        ),
        N, SPD, rtol=1e-10,
    )  # fmt: skip
    agree(lambda a: (jnp.linalg.cholesky(a), jnp.linalg.inv(a)), SPD.astype(np.float32), rtol=1e-5)


def test_failure_of_cholesky_shows():
    """A negative pivot leaves NaN from its column on."""
    a = jnp.array([[1.0, 2.0, 0.0], [2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    kernel = kernels.compile(jnp.linalg.cholesky, a)
    assert jnp.isnan(kernel(a)[1, 1])
