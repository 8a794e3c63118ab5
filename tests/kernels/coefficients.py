"""Derives the polynomials of `graftsim.kernels.functions` by Remez exchange, and writes them.

    python tests/kernels/coefficients.py [name ...] > src/graftsim/kernels/functions/tables.py

A row says what is approximated, in which variable, where, and how its error weighs in the result.
Coefficients are rounded to their type from the lowest up, and the rest is fitted anew each time.
Needs mpmath. The relative error that remains in exact arithmetic is printed as bits to stderr.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import mpmath as mp
import numpy as np

from graftsim.kernels.functions.constants import CENTRES, TANH_END

mp.mp.dps = 70
Fn = Callable[[mp.mpf], mp.mpf]
POINTS = 600


@dataclass(frozen=True)
class Fit:
    """`f` on [low, high] by polynomials of so many coefficients; `weight` scales the error."""

    f: Fn
    weight: Fn
    low: float
    high: float
    f32: int
    f64: int


def _grid(low: float, high: float) -> list[mp.mpf]:
    mid, half = (mp.mpf(high) + low) / 2, (mp.mpf(high) - low) / 2
    return [mid - half * mp.cos(mp.pi * (2 * i + 1) / (2 * POINTS)) for i in range(POINTS)]


def _value(coefficients: list[mp.mpf], x: mp.mpf) -> mp.mpf:
    total = mp.mpf(0)
    for c in reversed(coefficients):
        total = total * x + c
    return total


def _extrema(errors: list[mp.mpf], count: int) -> list[int]:
    """Alternating extrema, `count` of them."""
    best: list[int] = []
    for i, e in enumerate(errors):
        if best and (e > 0) == (errors[best[-1]] > 0):
            if abs(e) > abs(errors[best[-1]]):
                best[-1] = i
        else:
            best.append(i)
    while len(best) > count:
        if len(best) - count == 1:
            best.pop(0 if abs(errors[best[0]]) < abs(errors[best[-1]]) else -1)
        else:
            k = min(
                range(len(best) - 1),
                key=lambda j: min(abs(errors[best[j]]), abs(errors[best[j + 1]])),
            )
            del best[k : k + 2]
    return best


def remez(
    grid: list[mp.mpf], f: list[mp.mpf], w: list[mp.mpf], fixed: list[mp.mpf], n: int
) -> list[mp.mpf]:
    """Coefficients; the first ones are given."""
    m = n - len(fixed)
    if m == 0:
        return fixed
    rest = [v - _value(fixed, x) for v, x in zip(f, grid, strict=True)]
    reference = [round((1 - np.cos(np.pi * k / m)) / 2 * (POINTS - 1)) for k in range(m + 1)]
    found: list[mp.mpf] = []
    for _ in range(12):
        a, b = mp.matrix(m + 1, m + 1), mp.matrix(m + 1, 1)
        for row, i in enumerate(reference):
            x = grid[i]
            power = x ** len(fixed)
            for k in range(m):
                a[row, k] = power
                power *= x
            a[row, m] = (-1) ** row / w[i]
            b[row] = rest[i]
        solution = mp.lu_solve(a, b)
        found = fixed + [solution[k] for k in range(m)]
        errors = [wi * (_value(found, x) - v) for x, v, wi in zip(grid, f, w, strict=True)]
        news = _extrema(errors, m + 1)
        if len(news) < m + 1 or news == reference:
            break
        reference = news
        if max(abs(e) for e in errors) < abs(solution[m]) * 1.002:
            break
    return found


def fit(row: Fit, n: int, type: type) -> tuple[list[float], float]:
    """Rounded coefficients, and the bits of accuracy that they keep."""
    grid = _grid(row.low, row.high)
    f, w = [row.f(x) for x in grid], [abs(row.weight(x)) for x in grid]
    fixed: list[mp.mpf] = []
    found: list[mp.mpf] = []
    least = mp.inf
    for k in range(min(n, 8)):
        # With coefficients fixed, an interval around zero may have no alternation to exchange:
        # so the best of all stages counts.
        rounded = [mp.mpf(float(type(float(c)))) for c in remez(grid, f, w, fixed, n)]
        error = max(wi * abs(_value(rounded, x) - v) for x, v, wi in zip(grid, f, w, strict=True))
        if error < least:
            least, found = error, rounded
        fixed = rounded[: k + 1]
    return [float(c) for c in found], float(-mp.log(least, 2))


@dataclass(frozen=True)
class Quotient:
    """`f` of z in [0, high], one at 0, by a quotient of such polynomials, float32 alone."""

    f: Fn
    high: float
    above: int
    below: int


def fit_quotient(row: Quotient) -> tuple[list[float], list[float], float]:
    """Coefficients of both polynomials, and the bits of accuracy that they keep.

    Remez exchange of P - f Q over f Q, in which the last factor is that of the round before.
    """
    grid = _grid(0, row.high)[1:]
    f, n = [row.f(z) for z in grid], row.above + row.below - 1
    reference = [round((1 - np.cos(np.pi * k / (n - 1))) / 2 * (len(grid) - 1)) for k in range(n)]
    scale = [mp.mpf(1)] * len(grid)
    p = q = [mp.mpf(1)]
    for _ in range(30):
        a, b = mp.matrix(n, n), mp.matrix(n, 1)
        for line, i in enumerate(reference):
            powers = [(grid[i] / row.high) ** k for k in range(1, max(row.above, row.below))]
            a[line, :] = mp.matrix([[
                *powers[: row.above - 1],
                *(-f[i] * z for z in powers[: row.below - 1]),
                (-1) ** line * f[i] * scale[i],
            ]])  # fmt: skip
            b[line] = f[i] - 1
        solution = [*mp.lu_solve(a, b)]
        p = [1, *(solution[k] / row.high ** (k + 1) for k in range(row.above - 1))]
        q = [1, *(solution[row.above - 1 + k] / row.high ** (k + 1) for k in range(row.below - 1))]
        scale = [_value(q, z) for z in grid]
        errors = [_value(p, z) / (d * v) - 1 for z, d, v in zip(grid, scale, f, strict=True)]
        news = _extrema(errors, n)
        if len(news) < n or (
            news == reference and max(map(abs, errors)) < abs(solution[-1]) * 1.01
        ):
            break
        reference = news
    up, down = ([float(np.float32(float(c))) for c in side] for side in (p, q))
    worst = max(abs(_value(up, z) / _value(down, z) / v - 1) for z, v in zip(grid, f, strict=True))
    return up, down, float(-mp.log(worst, 2))


def odd(g: Fn, first: float = 1.0) -> tuple[Fn, Fn]:
    """g(x) = x + x z P(z), z = x²: P, and the weight of its error relative to g."""

    def f(z: mp.mpf) -> mp.mpf:
        x = mp.sqrt(z)
        return (g(x) / x - first) / z

    return f, lambda z: z * mp.sqrt(z) / g(mp.sqrt(z))


def moved(name: str, f: Fn) -> Fn:
    """f around the centre of a polynomial."""
    return lambda t: f(t + CENTRES[name])


def erfcx(a: mp.mpf) -> mp.mpf:
    """exp(a²) erfc(a)."""
    return mp.exp(a * a) * mp.erfc(a)


def erfinv_root(w: mp.mpf) -> mp.mpf:
    """erf⁻¹(x) where (1 - x)(1 + x) = exp(-w)."""
    q = mp.exp(-w) / (1 + mp.sqrt(-mp.expm1(-w)))  # 1 - x
    if q > 0.5:
        return mp.erfinv(1 - q)
    y = mp.sqrt(-mp.log(q * mp.sqrt(mp.pi) * mp.sqrt(-mp.log(q))))
    for _ in range(60):
        step = (mp.erfc(y) - q) * mp.sqrt(mp.pi) / 2 * mp.exp(y * y)
        y += step / (1 + y * step)
        if abs(step) < mp.mpf(10) ** -50:
            break
    return y


def erfinv_ratio(w: mp.mpf) -> mp.mpf:
    """erf⁻¹(x) / x."""
    return erfinv_root(w) / mp.sqrt(-mp.expm1(-w))


QUARTER = (np.pi / 4 * 1.0001) ** 2
HALF_LN2 = np.log(2) / 2 * 1.0002

FITS: dict[str, Fit] = {
    # sin x = x + x z P(z), z = x²
    "sin": Fit(*odd(mp.sin), 0, QUARTER, 3, 6),
    # cos x = 1 - z/2 + z² P(z)
    "cos": Fit(
        lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2,
        lambda z: z**2 / mp.cos(mp.sqrt(z)), 0, QUARTER, 3, 6),
    # tan x = x + x z P(z)
    "tan": Fit(*odd(mp.tan), 0, QUARTER, 7, 15),
    # exp r = 1 + r + r² P(r)
    "exp": Fit(
        lambda r: (mp.expm1(r) - r) / r**2, lambda r: r**2 / mp.expm1(r),
        -HALF_LN2, HALF_LN2, 6, 11),
    # 2^r = 1 + r P(r)
    "exp2": Fit(
        lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r / 2**r, -0.5001, 0.5001, 6, 12),
    # cosh r = 1 + z P(z); sinh r = r + r z P(z)
    "cosh": Fit(
        lambda z: (mp.cosh(mp.sqrt(z)) - 1) / z, lambda z: z, 0, HALF_LN2**2, 3, 5),
    "sinh": Fit(*odd(mp.sinh), 0, HALF_LN2**2, 3, 5),
    # log(1 + f) = f + f² P(f)
    "log": Fit(
        lambda f: (mp.log1p(f) - f) / f**2, lambda f: f**2 / mp.log1p(f),
        2**-0.5 - 1.0001, 2**0.5 - 0.9999, 9, 20),
    # the others: g(x) = x + x z P(z)
    "asin": Fit(*odd(mp.asin), 0, 0.25, 5, 12),
    "atan": Fit(*odd(mp.atan), 0, 1, 9, 20),
    "asinh": Fit(*odd(mp.asinh), 0, 0.25, 5, 11),
    "atanh": Fit(*odd(mp.atanh), 0, 0.0801, 4, 9),
    # acosh(1 + t) = s + s t P(t), s = sqrt(2 t)
    "acosh": Fit(
        lambda t: (mp.acosh(1 + t) / mp.sqrt(2 * t) - 1) / t,
        lambda t: t * mp.sqrt(2 * t) / mp.acosh(1 + t), 0, 0.5626, 5, 12),
    # erf x = x + x P(z)
    "erf": Fit(
        lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1,
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)), 0, 0.25, 5, 9),
    # erfc x = exp(-x²) y P(y - centre), y = 1 / (x + 3)
    "erfc": Fit(
        moved("erfc", lambda y: erfcx(1 / y - 3) / y),
        moved("erfc", lambda y: y / erfcx(1 / y - 3)),
        1 / 30.5 - CENTRES["erfc"], 1 / 3.499 - CENTRES["erfc"], 11, 22),
    # log2(1 + f) = f P(f) and 2^r = 1 + r P(r), to what a float power needs of doubles
    "log2": Fit(
        lambda f: mp.log1p(f) / mp.log(2) / f, lambda f: mp.log(2) * f / mp.log1p(f),
        2**-0.5 - 1.0001, 2**0.5 - 0.9999, 0, 14),
    "short exp2": Fit(
        lambda r: mp.expm1(r * mp.log(2)) / r, lambda r: r / 2**r, -0.5001, 0.5001, 0, 6),
    # atanh s = s (1 + z/3 + z² P(z)), z = s²
    "log power": Fit(
        lambda z: (mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 1 - z / 3) / z**2, lambda z: z**2,
        0, 0.02945, 0, 7),
    # erf⁻¹ x = x P(w - centre) for w = -log(1 - x²) < 5, and x P(sqrt(w) - centre) above
    "erf_inv": Fit(
        moved("erf_inv", erfinv_ratio), moved("erf_inv", lambda w: 1 / erfinv_ratio(w)),
        -CENTRES["erf_inv"], 5.0001 - CENTRES["erf_inv"], 12, 25),
    "erf_inv far f32": Fit(
        moved("erf_inv far f32", lambda s: erfinv_ratio(s * s)),
        moved("erf_inv far f32", lambda s: 1 / erfinv_ratio(s * s)),
        5**0.5 - CENTRES["erf_inv far f32"], 4 - CENTRES["erf_inv far f32"], 11, 0),
    "erf_inv far f64": Fit(
        moved("erf_inv far f64", lambda s: erfinv_ratio(s * s)),
        moved("erf_inv far f64", lambda s: 1 / erfinv_ratio(s * s)),
        5**0.5 - CENTRES["erf_inv far f64"], 6.07 - CENTRES["erf_inv far f64"], 0, 33),
}  # fmt: skip

QUOTIENTS: dict[str, Quotient] = {
    # tanh x = x P(z) / Q(z), z = x²
    "tanh": Quotient(lambda z: mp.tanh(mp.sqrt(z)) / mp.sqrt(z), TANH_END**2, 4, 5),
}


def main(names: list[str]) -> None:
    """Print the table."""
    print('"""Coefficients, lowest power first. Written by `tests/kernels/coefficients.py`."""\n')
    print("# fmt: off")
    print("TABLES: dict[str, dict[str, tuple[float, ...]]] = {")
    for name in names or [*FITS, *QUOTIENTS]:
        if name in QUOTIENTS:
            _print_quotient(name)
            continue
        print(f'    "{name}": {{')
        for kind, type in (("f32", np.float32), ("f64", np.float64)):
            n = getattr(FITS[name], kind)
            if not n:
                continue
            coefficients, bits = fit(FITS[name], n, type)
            print(f"{name} {kind}: {n} coefficients, {bits:.1f} bits", file=sys.stderr, flush=True)
            _print_coefficients(kind, coefficients)
        print("    },")
    print("}\n# fmt: on")


def _print_quotient(name: str) -> None:
    *both, bits = fit_quotient(QUOTIENTS[name])
    print(f"{name} f32: {bits:.1f} bits", file=sys.stderr, flush=True)
    for side, coefficients in zip(("above", "below"), both, strict=True):
        print(f'    "{name} {side}": {{')
        _print_coefficients("f32", coefficients)
        print("    },")


def _print_coefficients(kind: str, coefficients: list[float]) -> None:
    print(f'        "{kind}": (')
    for c in coefficients:
        print(f"            {c!r},")
    print("        ),")


if __name__ == "__main__":
    main(sys.argv[1:])
