"""Rules of small dense factorisations and solves: plain arithmetic, unrolled.

Golub & Van Loan, Matrix Computations: Cholesky 4.2, triangular systems 3.1, LU with partial
pivoting 3.4. Batches of matrices are factored one by one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import Value
from graftsim.kernels.ir.trace import Interpreter, rule, type_of


def _each_matrix(a: np.ndarray, f: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Apply to the last two axes."""
    if not a.size:
        return a
    lead = a.shape[:-2]
    flat = a.reshape(-1, *a.shape[-2:])
    out = [f(m) for m in flat]
    return np.stack(out).reshape(*lead, *out[0].shape)


@rule("cholesky")
def _cholesky(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p, zero = t.p, t.p.const(0, type_of(avals[0]))
    one = t.p.const(1, type_of(avals[0]))
    half = t.p.const(0.5, type_of(avals[0]))
    symmetrize = params.get("symmetrize_input", False)

    def factor(a: np.ndarray) -> np.ndarray:
        n = len(a)
        if symmetrize:
            sym = np.empty_like(a)
            for i, j in np.ndindex(n, n):
                x, y = int(a[i, j]), int(a[j, i])
                sym[i, j] = x if x == y else p.mul(half, p.add(x, y))
            a = sym
        L = np.full((n, n), zero, dtype=np.int64)
        for j in range(n):
            d = int(a[j, j])
            for k in range(j):
                d = p.sub(d, p.mul(int(L[j, k]), int(L[j, k])))
            L[j, j] = p.apply("sqrt", d)
            inverse = p.div(one, int(L[j, j]))
            for i in range(j + 1, n):
                s = int(a[i, j])
                for k in range(j):
                    s = p.sub(s, p.mul(int(L[i, k]), int(L[j, k])))
                L[i, j] = p.mul(s, inverse)
        return L

    return [_each_matrix(t.arrays.explode(xs[0]), factor)]


@rule("triangular_solve")
def _triangular_solve(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    a, b = (t.arrays.explode(x) for x in xs)
    lower, unit = params["lower"], params["unit_diagonal"]
    if params["transpose_a"]:
        a, lower = np.swapaxes(a, -1, -2), not lower
    if not params["left_side"]:
        # x a = b is a^T x^T = b^T.
        a, lower, b = np.swapaxes(a, -1, -2), not lower, np.swapaxes(b, -1, -2)
    one = p.const(1, type_of(avals[0]))
    if not b.size:
        return [np.zeros(avals[0].shape, np.int64)]

    def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        n = len(a)
        x = b.copy()
        order = range(n) if lower else range(n - 1, -1, -1)
        inverse = [one if unit else p.div(one, int(a[i, i])) for i in range(n)]
        for c in range(b.shape[1]):
            for i in order:
                s = int(b[i, c])
                for k in range(i) if lower else range(i + 1, n):
                    s = p.sub(s, p.mul(int(a[i, k]), int(x[k, c])))
                x[i, c] = p.mul(s, inverse[i])
        return x

    lead = b.shape[:-2]
    pairs = zip(a.reshape(-1, *a.shape[-2:]), b.reshape(-1, *b.shape[-2:]), strict=True)
    x = np.stack([solve(m, r) for m, r in pairs]).reshape(*lead, *b.shape[-2:])
    return [x if params["left_side"] else np.swapaxes(x, -1, -2)]


@rule("lu")
def _lu(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    a = t.arrays.explode(xs[0])
    kind = type_of(avals[1])
    lead, n, m = a.shape[:-2], *a.shape[-2:]
    zero, one = (p.const(k, type_of(avals[0])) for k in (0, 1))
    if not a.size:
        rows = np.array([p.const(i, kind) for i in range(n)], np.int64)
        order = np.broadcast_to(rows, avals[2].shape)
        return [a, np.zeros(avals[1].shape, np.int64), order]
    factors, pivots, orders = [], [], []
    for matrix in a.reshape(-1, n, m):
        LU, rows, chosen = matrix.copy(), np.array([p.const(i, kind) for i in range(n)]), []
        for j in range(min(n, m)):
            best, at = p.abs(int(LU[j, j])), p.const(j, kind)
            for i in range(j + 1, n):
                size = p.abs(int(LU[i, j]))
                larger = p.compare("gt", size, best)
                best, at = p.select(larger, size, best), p.select(larger, p.const(i, kind), at)
            chosen.append(at)
            for i in range(j + 1, n):
                swap = p.compare("eq", at, p.const(i, kind))
                for c in range(m):
                    x, y = int(LU[j, c]), int(LU[i, c])
                    LU[j, c], LU[i, c] = p.select(swap, y, x), p.select(swap, x, y)
                x, y = int(rows[j]), int(rows[i])
                rows[j], rows[i] = p.select(swap, y, x), p.select(swap, x, y)
            # Below a pivot of zero there is nothing to scale.
            pivot = int(LU[j, j])
            inverse = p.div(one, p.select(p.compare("eq", pivot, zero), one, pivot))
            for i in range(j + 1, n):
                LU[i, j] = p.mul(int(LU[i, j]), inverse)
                for c in range(j + 1, m):
                    LU[i, c] = p.sub(int(LU[i, c]), p.mul(int(LU[i, j]), int(LU[j, c])))
        factors.append(LU)
        pivots.append(np.array(chosen))
        orders.append(rows)
    return [
        np.stack(factors).reshape(*lead, n, m),
        np.stack(pivots).reshape(*lead, -1),
        np.stack(orders).reshape(*lead, n),
    ]
