"""Elementary functions: every result within two units of the last place, for all arguments.

Of float32, that is tanh where JAX's `accuracy` asks for it; else 4.1e-7 of itself.

References: NumPy and SciPy in the next wider type, mpmath at the hard places.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy_program import evaluate, operations
from scipy import special

import graftsim.kernels
from graftsim.kernels.functions import FUNCTIONS
from graftsim.kernels.functions.exponential import careful_tanh
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Library

LIMIT = 2.0
TYPES = ["f32", "f64"]
DTYPE = {"f32": np.float32, "f64": np.float64}
WIDE = {"f32": np.float64, "f64": np.longdouble}
POINTS = 20000

UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos,
    "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh,
    "acosh": np.arccosh, "atanh": np.arctanh, "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1,
    "log": np.log, "log2": np.log2, "log1p": np.log1p, "cbrt": np.cbrt,
    "logistic": lambda x: np.exp(-np.logaddexp(np.zeros_like(x), -x)),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "erf": special.erf, "erfc": special.erfc,
    "erf_inv": lambda x: np.where(x == 0, x, special.erfinv(x)),
}  # fmt: skip
EXACT = FUNCTIONS | {"tanh": careful_tanh}
TANH = 4.1e-7
NO_LONG_DOUBLE = ("erf", "erfc", "erf_inv")
BINARY = {"atan2": np.arctan2, "pow": np.power}

long_double = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="needs a type wider than double as reference"
)


def ulps(got: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Distance in units of the last place; infinite where one is NaN or infinite alone."""
    info = np.finfo(got.dtype)
    with np.errstate(all="ignore"):
        rounded = wanted.astype(got.dtype)
        size = np.maximum(np.abs(rounded), info.smallest_normal)
        finite = np.isfinite(rounded) & np.isfinite(got)
        exponent = np.frexp(np.where(finite, size, 1))[1] - 1 - info.nmant
        unit = np.ldexp(np.ones_like(wanted), exponent)
        error = np.abs(got.astype(wanted.dtype) - wanted) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    return np.where(finite, error, np.where(same, 0, np.inf)).astype(np.float64)


def check(got: np.ndarray, wanted: np.ndarray, *args: np.ndarray) -> None:
    """All within the limit; else say where."""
    error = ulps(got, wanted)
    k = int(np.argmax(error))
    where = ", ".join(repr(a[k]) for a in args)
    assert error[k] <= LIMIT, f"{error[k]:.2f} ulp at {where}: {got[k]!r}, not {wanted[k]!r}"


def reference(f: Callable[..., Any], type: str, *args: np.ndarray) -> np.ndarray:
    """f in the wider type."""
    with np.errstate(all="ignore"):
        return f(*(a.astype(WIDE[type]) for a in args))


def scattered(type: str, seed: int = 0, n: int = POINTS) -> np.ndarray:
    """Numbers of both signs and all sizes, around 0, around 1, and subnormal."""
    rng = np.random.default_rng(seed)
    info = np.finfo(DTYPE[type])
    span = np.log(float(info.max))

    def sizes(low: float, high: float) -> np.ndarray:
        return np.exp(rng.uniform(low, high, n)) * rng.choice([-1, 1], n)

    spans = [
        rng.uniform(-1, 1, n), rng.uniform(-10, 10, n), rng.uniform(-1000, 1000, n),
        rng.uniform(-1.2 * span, 1.2 * span, n), sizes(-span, span), sizes(-span, 0),
        sizes(-7, 7), 1 + sizes(-np.log(2) * info.nmant, 0), -1 + sizes(-np.log(2) * info.nmant, 0),
        rng.integers(1, 2 ** min(info.nmant, 62), n) * float(info.smallest_subnormal),
    ]  # fmt: skip
    return np.concatenate(spans).astype(DTYPE[type])


SPECIAL = [0.0, 1.0, 0.5, 2.0, 3.0, 2.5, math.inf, math.nan]


def specials(type: str) -> np.ndarray:
    """Numbers that are special to some function, and their neighbours."""
    info = np.finfo(DTYPE[type])
    ends = [info.max, info.smallest_normal, info.smallest_subnormal, info.eps, info.eps / 2]
    x = np.array([*SPECIAL, *ends], DTYPE[type])
    x = np.concatenate([x, -x])
    with np.errstate(all="ignore"):
        near = [np.nextafter(x, DTYPE[type](s)) for s in (-np.inf, np.inf)]
    return np.unique(np.concatenate([x, *near]).view(f"i{x.itemsize}")).view(x.dtype)


def signs_agree(got: np.ndarray, wanted: np.ndarray) -> bool:
    """Also of zeros."""
    known = ~np.isnan(wanted) & ~np.isnan(got)
    return bool(np.all(np.signbit(got[known]) == np.signbit(wanted[known])))


@pytest.mark.parametrize("name", UNARY)
def test_single_precision_keeps_within_two_units(name: str) -> None:
    x = scattered("f32")
    check(evaluate(EXACT[name], x), reference(UNARY[name], "f32", x), x)


@long_double
@pytest.mark.parametrize("name", [n for n in UNARY if n not in NO_LONG_DOUBLE])
def test_double_precision_keeps_within_two_units(name: str) -> None:
    x = scattered("f64")
    check(evaluate(FUNCTIONS[name], x), reference(UNARY[name], "f64", x), x)


@long_double
@pytest.mark.parametrize("type", TYPES)
def test_neighbours_share_a_division(type: str) -> None:
    """tanh of two elements: as exact as that of one, whatever the other is."""
    x = np.concatenate([scattered(type), specials(type)])
    for other in (0.3, -4.0, math.inf, math.nan):
        got = evaluate(
            lambda p, xs, b=other: careful_tanh(p, [*xs, p.mul(xs[0], p.const(b, type))]), x
        )
        check(got, reference(np.tanh, type, x), x)
        assert signs_agree(got, reference(np.tanh, type, x))


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("name", UNARY)
def test_special_arguments(name: str, type: str) -> None:
    """Zeros of both signs, infinities, NaN, the ends of the range, and where domains end."""
    x = specials(type)
    if type == "f64" and name in NO_LONG_DOUBLE:
        # Where SciPy's own error is no matter.
        x = x[(np.abs(x) < 0.1) | (np.abs(x) == 1) | ~(np.abs(x) < 30)]
    got = evaluate(EXACT[name], x)
    if type == "f64" and name in NO_LONG_DOUBLE:
        with np.errstate(all="ignore"):
            wanted = UNARY[name](x)
    else:
        wanted = reference(UNARY[name], type, x)
    check(got, wanted, x)
    assert signs_agree(got, wanted)


def tanh_arguments() -> np.ndarray:
    """Of all sizes, dense where tanh bends and where its quotient ends."""
    ends = np.linspace(6, 9, POINTS, dtype=np.float32)
    bends = np.linspace(1e-4, 6, 20 * POINTS, dtype=np.float32)
    return np.concatenate([scattered("f32"), specials("f32"), ends, -ends, bends, -bends])


def test_quick_tanh() -> None:
    """Relative error, sign, |tanh| <= 1; a small argument is its own tanh, subnormal ones too."""
    x = tanh_arguments()
    got, wanted = evaluate(FUNCTIONS["tanh"], x), reference(np.tanh, "f32", x)
    assert np.array_equal(np.isnan(got), np.isnan(x))
    sure = x[~np.isnan(x)], got[~np.isnan(x)], wanted[~np.isnan(x)]
    error = np.abs(sure[1] - sure[2])
    assert np.all(error <= TANH * np.abs(sure[2]))
    assert signs_agree(got, wanted)
    assert np.max(np.abs(sure[1])) <= 1
    small = np.abs(sure[0]) < 2.0**-13
    np.testing.assert_array_equal(sure[1][small], sure[0][small])
    assert np.array_equal(evaluate(FUNCTIONS["tanh"], -x), -got, equal_nan=True)


def test_tanh_as_exact_as_asked() -> None:
    """`accuracy` of JAX chooses; the cheap one has little more than half the operations."""
    x = scattered("f32", 11, 2000)
    x = x[(np.abs(x) >= np.finfo(np.float32).smallest_normal) & (np.abs(x) < 1e30)]
    highest = jax.lax.AccuracyMode.HIGHEST
    for accuracy, f in ((None, FUNCTIONS["tanh"]), (highest, careful_tanh)):
        kernel = graftsim.kernels.compile(lambda a, o=accuracy: jax.lax.tanh(a, accuracy=o), x[0])
        np.testing.assert_array_equal(np.asarray(jax.vmap(kernel)(x)), evaluate(f, x))
    quick, careful = (operations(f, np.float32) for f in (FUNCTIONS["tanh"], careful_tanh))
    assert quick <= 14
    assert quick < 0.6 * careful


@pytest.mark.parametrize("mode", ["forward", "reverse"])
def test_slope_of_quick_tanh(mode: str) -> None:
    """1 - tanh² of the exact one, to what a result of 4.1e-7 allows; never negative."""
    x = np.linspace(-12, 12, 4001, dtype=np.float32)
    kernel = graftsim.kernels.compile(jnp.tanh, x[0])
    differentiate = jax.grad if mode == "reverse" else jax.jacfwd
    slope = np.asarray(jax.vmap(differentiate(kernel))(x))
    wanted = 1 / np.cosh(x.astype(np.float64)) ** 2
    assert slope.dtype == np.float32
    assert np.max(np.abs(slope - wanted)) <= 2 * TANH + 2.0**-23
    assert np.min(slope) >= 0


@long_double
@pytest.mark.parametrize("type", TYPES)
def test_quotient_angle(type: str) -> None:
    y, x = scattered(type, 1), np.random.default_rng(2).permutation(scattered(type, 3))
    check(evaluate(FUNCTIONS["atan2"], y, x), reference(np.arctan2, type, y, x), y, x)
    y, x = (a.ravel() for a in np.meshgrid(specials(type), specials(type)))
    got, wanted = evaluate(FUNCTIONS["atan2"], y, x), reference(np.arctan2, type, y, x)
    check(got, wanted, y, x)
    assert signs_agree(got, wanted)


@long_double
@pytest.mark.parametrize("type", TYPES)
def test_powers(type: str) -> None:
    """Over the whole range of results, subnormal ones included; and C's list of special cases."""
    rng = np.random.default_rng(4)
    info = np.finfo(DTYPE[type])
    x = np.abs(scattered(type, 5))
    exponent = rng.uniform(info.minexp - info.nmant - 2, info.maxexp + 1, x.size)
    with np.errstate(all="ignore"):
        y = (exponent / np.log2(x.astype(np.float64))).astype(DTYPE[type])
    check(evaluate(FUNCTIONS["pow"], x, y), reference(np.power, type, x, y), x, y)
    x, y = scattered(type, 6), rng.integers(-9, 10, x.size).astype(DTYPE[type])
    check(evaluate(FUNCTIONS["pow"], x, y), reference(np.power, type, x, y), x, y)
    whole = np.array([4, 5, -7, 2.0**info.nmant, 2.0**info.nmant + 1, 2.0**100], DTYPE[type])
    every = np.concatenate([specials(type), whole, -whole])
    x, y = (a.ravel() for a in np.meshgrid(every, every))
    got, wanted = evaluate(FUNCTIONS["pow"], x, y), reference(np.power, type, x, y)
    check(got, wanted, x, y)
    assert signs_agree(got, wanted)


# -- against mpmath --------------------------------------------------------------------------


def hard(name: str) -> np.ndarray:
    """Doubles where reductions cancel, series end, and results leave the range."""
    rng = np.random.default_rng(7)
    x = [rng.uniform(-3, 3, 40), 2.0 ** rng.uniform(-60, 5, 40), [1e-310, 5e-324, 2.0**-1022]]
    if name in ("sin", "cos", "tan"):
        k = np.concatenate([np.arange(1, 40), rng.integers(1, 2**38, 80)])
        x += [k * (np.pi / 2), k * (np.pi / 4), [1e22, 1e300, 1e12]]
    if name in ("exp", "expm1", "sinh", "cosh", "logistic", "exp2", "tanh"):
        k = np.arange(-40, 41) + 0.5
        x += [k * np.log(2), rng.uniform(-760, 720, 80), [709.78, 709.79, 710.47, 710.48]]
        x += [rng.uniform(-1080, -1000, 30), [-1074.5, -1075.0, -1074.0, 1023.9999]]
    if name in ("log", "log1p", "acosh", "asinh", "cbrt", "rsqrt"):
        x += [2.0 ** rng.uniform(-1060, 1020, 80), 1 + 2.0 ** rng.uniform(-52, 0, 40)]
        x += [1 - 2.0 ** rng.uniform(-53, -1, 40), [np.sqrt(0.5), np.sqrt(2), 1.5625]]
    if name in ("asin", "acos", "atanh", "erf_inv"):
        x += [1 - 2.0 ** rng.uniform(-53, -1, 60), -1 + 2.0 ** rng.uniform(-53, -1, 60)]
    if name in ("erf", "erfc"):
        x += [rng.uniform(-6, 28, 120), [0.5, 26.5, 27.2]]
    return np.concatenate([np.asarray(e, np.float64) for e in x])


def exact(name: str) -> Callable[[Any], Any]:
    """mpmath's function."""
    import mpmath as mp

    own: dict[str, Callable[[Any], Any]] = {
        "exp2": lambda x: mp.mpf(2) ** x,
        "log2": lambda x: mp.log(x, 2),
        "logistic": lambda x: 1 / (1 + mp.exp(-x)),
        "rsqrt": lambda x: 1 / mp.sqrt(x),
        "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
        "erf_inv": mp.erfinv,
    }
    return own.get(name) or getattr(mp, name)


def in_domain(name: str, x: np.ndarray) -> np.ndarray:
    """Arguments with real finite results."""
    low = {
        "log": 0,
        "log2": 0,
        "log1p": -1,
        "acosh": 1,
        "rsqrt": 0,
        "asin": -1,
        "acos": -1,
        "atanh": -1,
    }
    high = {"asin": 1, "acos": 1, "atanh": 1, "erf_inv": 1}
    low["erf_inv"] = -1
    return x[(x > low.get(name, -np.inf)) & (x < high.get(name, np.inf))]


@pytest.mark.parametrize("name", UNARY)
def test_hard_places_in_double_precision(name: str) -> None:
    mp = pytest.importorskip("mpmath")
    x = in_domain(name, hard(name))
    got = evaluate(FUNCTIONS[name], x)
    f = exact(name)
    with mp.workdps(400 if name in ("sin", "cos", "tan") else 60):
        for a, g in zip(x.tolist(), got.tolist(), strict=True):
            wanted = f(mp.mpf(a))
            if not math.isfinite(g):
                assert abs(wanted) >= mp.mpf(2) ** 1024 * (1 - mp.mpf(2) ** -54), (a, g)
                continue
            size = max(abs(float(wanted)), 2.0**-1022)
            assert abs(g - wanted) <= LIMIT * math.ulp(size), (a, g, wanted)


# -- in the compiler -------------------------------------------------------------------------


def test_sine_and_cosine_share_their_reduction() -> None:
    def both(p: Program, xs: list[int]) -> list[int]:
        return [*FUNCTIONS["sin"](p, xs), *FUNCTIONS["cos"](p, xs)]

    alone = operations(FUNCTIONS["sin"], np.float32), operations(FUNCTIONS["cos"], np.float32)
    assert operations(both, np.float32) <= sum(alone) - 12


def test_an_array_has_one_test_for_the_slow_path() -> None:
    p = Program()
    xs = [p.phi("f64", False) for _ in range(5)]
    FUNCTIONS["sin"](p, xs)
    calls = [i for i in p.region.items if isinstance(i, Library)]
    assert len(calls) == 1
    assert len(calls[0].xs) == 5


def test_constants_fold() -> None:
    p = Program()
    for name in UNARY:
        (y,) = FUNCTIONS[name](p, [p.const(0.75, "f64")])
        assert p.is_const(y), name


@pytest.mark.parametrize("type", TYPES)
def test_compiled_functions_give_the_same_bits(type: str) -> None:
    """The machine code of JAX's primitives equals the evaluation by NumPy, far arguments too.

    Apart from subnormal numbers, which XLA makes zeros while it runs.
    """
    least = np.finfo(DTYPE[type]).smallest_normal
    small = least * np.linspace(1, 20, 50, dtype=DTYPE[type])
    x = np.concatenate([scattered(type, 8, 300), specials(type), small])
    x = x[(np.abs(x) >= least) | (x == 0) | np.isnan(x)]
    y = np.random.default_rng(9).permutation(x)
    lax: Any = jax.lax

    def every(a: jax.Array, b: jax.Array) -> dict[str, jax.Array]:
        # JAX 0.10 has no log2.
        one = {name: getattr(lax, name)(a) for name in UNARY if hasattr(lax, name)}
        return one | {name: getattr(lax, name)(a, b) for name in BINARY}

    kernel = graftsim.kernels.compile(every, jnp.asarray(x[0]), jnp.asarray(y[0]))
    results = jax.vmap(kernel)(jnp.asarray(x), jnp.asarray(y))
    for name, result in results.items():
        args = (x, y) if name in BINARY else (x,)
        wanted = evaluate(FUNCTIONS[name], *args)
        got = np.asarray(result)
        assert got.dtype == wanted.dtype
        normal = ~(np.abs(wanted) < least)
        if name in ("sin", "cos", "tan"):
            check(got[normal], wanted[normal].astype(WIDE[type]), *(a[normal] for a in args))
        else:
            np.testing.assert_array_equal(got[normal], wanted[normal], err_msg=name)
        assert np.all(np.abs(got[~normal]) <= least)
        assert signs_agree(got, wanted), name
