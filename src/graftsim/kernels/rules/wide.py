"""One simulation, neighbours in an array side by side: what makes networks cheap in it.

A dense product with numbers that are known before the loop starts a wide node; elementwise
operations on all its scalars stay wide. The scalars of a wide node are nodes like any other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graftsim.kernels.ir.program import Program

# Fewer neighbours than this, in a vector of any width, are not worth it.
FEWEST = 8


def source(p: Program, n: int) -> tuple[int, int] | None:
    """The wide node that a scalar is part of, and where."""
    if p.ops[n] != "lane":
        return None
    return p.args[n][0], p.value(p.args[n][1])


def pack(p: Program, scalars: Sequence[int]) -> int | None:
    """A node that holds these scalars (and anything behind them), if it costs nothing here."""
    first = scalars[0]
    if all(n == first for n in scalars):
        return first
    found = source(p, first)
    if found is not None:
        whole = found[0]
        return whole if all(source(p, n) == (whole, k) for k, n in enumerate(scalars)) else None
    # Scalars that a loop carries will be carried wide if they come to it wide: see `Carry`.
    if all(p.leaves(p.region, n) or p.ops[n] == "phi" for n in scalars):
        return p.pack([*scalars, *[first] * (p.wide - len(scalars))])
    return None


def pack_of(p: Program, lanes: dict[int, int]) -> int | None:
    """The wide node that has these scalars in these lanes."""
    found = [source(p, n) for n in lanes.values()]
    if any(x is None or x[1] != k for x, k in zip(found, lanes, strict=True)):
        return None
    wholes = {x[0] for x in found if x is not None}
    return wholes.pop() if len(wholes) == 1 else None


def blocks(p: Program, count: int) -> list[range]:
    """Neighbours that share a vector."""
    return [range(k, min(k + p.wide, count)) for k in range(0, count, p.wide)]


def mapped(p: Program, f: Callable[..., list[int]], lists: Sequence[list[int]]) -> list[int]:
    """f(*lists), a function of elements side by side, wide where elements are."""
    groups: dict[tuple[int | None, ...], dict[int, int]] = {}
    if p.wide > 1:
        for e, args in enumerate(zip(*lists, strict=True)):
            found = [source(p, a) for a in args]
            places = {x[1] for x in found if x}
            if len(places) == 1:
                group = groups.setdefault(tuple(x and x[0] for x in found), {})
                group.setdefault(places.pop(), e)
    wide: list[tuple[dict[int, int], list[int]]] = []
    for wholes, group in groups.items():
        if len(group) < min(FEWEST, p.wide):
            continue
        some = next(iter(group.values()))
        args = []
        for whole, column in zip(wholes, lists, strict=True):
            if whole is None:
                whole = pack(p, [column[group.get(k, some)] for k in range(p.wide)])
            args.append(whole)
        if None not in args:
            wide.append((group, args))
    if not wide:
        return f(*lists)
    out = [0] * len(lists[0])
    alone = sorted(set(range(len(out))).difference(*(group.values() for group, _ in wide)))
    if alone:
        for e, n in zip(alone, f(*([xs[e] for e in alone] for xs in lists)), strict=True):
            out[e] = n
    done = f(*map(list, zip(*(args for _, args in wide), strict=True)))
    for (group, _), n in zip(wide, done, strict=True):
        for k, e in group.items():
            out[e] = n if p.uniform[n] else p.lane(n, k)
    return out


def product(p: Program, A: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """A B^T with wide nodes, if it is dense and one factor comes in vectors."""
    if p.wide == 1 or not A.size or _sparse(p, A) or _sparse(p, B):
        return None
    if (out := _by_rows(p, B, A)) is not None:
        return out.T
    out = _by_rows(p, A, B)
    return _by_terms(p, A, B) if out is None else out


def _sparse(p: Program, A: np.ndarray) -> bool:
    """Known zeros in it: there is less to multiply than it seems."""
    return any(p.is_const(n) and p.value(n) == 0 for n in A.ravel().tolist())


def _packed(p: Program, A: np.ndarray) -> list[list[int]] | None:
    """For each block of rows, a node for each column."""
    if len(A) < FEWEST:
        return None
    out: list[list[int]] = []
    for rows in blocks(p, len(A)):
        line = [pack(p, A[rows.start : rows.stop, j].tolist()) for j in range(A.shape[1])]
        if any(n is None or p.uniform[n] for n in line):
            return None
        out.append([n for n in line if n is not None])
    return out


def _by_rows(p: Program, A: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """The rows of A side by side."""
    packed = _packed(p, A)
    if packed is None:
        return None
    out = np.empty((len(A), len(B)), np.int64)
    for c, column in enumerate(B.tolist()):
        for rows, line in zip(blocks(p, len(A)), packed, strict=True):
            n = _sum_of_products(p, line, column)
            out[rows, c] = [p.lane(n, k) for k in range(len(rows))]
    return out


def _by_terms(p: Program, A: np.ndarray, B: np.ndarray) -> np.ndarray | None:
    """The terms of each sum side by side."""
    a, b = _packed(p, A.T), _packed(p, B.T)
    if a is None or b is None or A.shape[1] % p.wide:
        return None
    out = np.empty((len(A), len(B)), np.int64)
    for i, c in np.ndindex(*out.shape):
        out[i, c] = p.total(_sum_of_products(p, [x[i] for x in a], [y[c] for y in b]))
    return out


def _sum_of_products(p: Program, xs: Sequence[int], ys: Sequence[int]) -> int:
    total = p.mul(xs[0], ys[0])
    for x, y in zip(xs[1:], ys[1:], strict=True):
        total = p.add(total, p.mul(x, y))
    return total
