"""Rules of sums, products and other reductions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from graftsim.kernels.ir.arrays import Index, Pull, Value
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Loop
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.ir.types import DTYPES
from graftsim.kernels.rules.elementwise import convert, each, ones
from graftsim.kernels.rules.wide import mapped, product

T = TypeVar("T")
# A contraction with an array of parameters larger than this becomes a loop.
UNROLL_PRODUCT = 256
# The same in one simulation, where the code is as many times shorter as a vector has elements.
UNROLL_WIDE = 1024
# Of a looped contraction: results computed together, and terms of each a turn.
ROWS, TERMS = 8, 4


def accumulate(
    p: Program, count: int, inits: list[int], body: Callable[[int, list[int]], list[int]]
) -> list[int]:
    """Counted loop with carried scalars; returns their last values."""
    region = p.open(loop=True)
    counter = p.phi("i64", True)
    phis = [p.phi(p.types[i], False) for i in inits]
    nexts = body(counter, phis)
    p.close()
    loop = Loop(region, p.const(count, "i64"), counter, phis, list(inits), nexts)
    region.owner = loop
    p.region.items.append(loop)
    return [p.result(loop, p.types[i], p.uniform[phi]) for i, phi in zip(inits, phis, strict=True)]


def _reduction(name: str, f: Callable[[Program, int, int], int], start: Callable[[str], Any]):
    @rule(name)
    def _(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
        x, axes, type = xs[0], tuple(params["axes"]), type_of(avals[0])
        p = t.p
        if t.unrolls([x], x.size):
            x = t.arrays.explode(x)
            rest = [k for k in range(x.ndim) if k not in axes]
            count = int(np.prod([x.shape[k] for k in axes], dtype=np.int64))
            flat = np.transpose(x, (*rest, *axes)).reshape(*avals[0].shape, count)
            if not flat.size:
                return [np.full(avals[0].shape, p.const(start(type), type), dtype=np.int64)]
            both = each(lambda a, b: f(p, a, b))
            terms = [flat[..., k].ravel().tolist() for k in range(count)]
            out = tree(lambda a, b: mapped(p, both, [a, b]), terms)
            return [np.array(out, dtype=np.int64).reshape(avals[0].shape)]
        return [_reduce_loops(t, x, axes, avals[0].shape, type, f, start(type))]


def tree(f: Callable[[T, T], T], terms: list[T]) -> T:
    """Pairwise reduction: short chains of dependence, small rounding error."""
    while len(terms) > 1:
        paired = [f(a, b) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = paired + ([terms[-1]] if len(terms) % 2 else [])
    return terms[0]


def _reduce_loops(
    t: Interpreter, x: Value, axes: tuple[int, ...], shape: tuple[int, ...], type: str,
    f: Callable[[Program, int, int], int], start: Any,
) -> Value:  # fmt: skip
    p = t.p
    rest = [k for k in range(len(x.shape)) if k not in axes]

    def total(outer: Index) -> int:
        where = [t.arrays.index(0)] * len(x.shape)
        for k, i in zip(rest, outer, strict=True):
            where[k] = i

        def level(remaining: tuple[int, ...], acc: int) -> int:
            if not remaining:
                return f(p, acc, t.arrays.at(x, tuple(where)))
            axis = remaining[0]

            def body(i: int, accs: list[int]) -> list[int]:
                where[axis] = i
                return [level(remaining[1:], accs[0])]

            return accumulate(p, x.shape[axis], [acc], body)[0]

        return level(axes, p.const(start, type))

    if not shape:
        return np.array(total(()), dtype=np.int64)
    buffer = p.buffer(type, int(np.prod(shape)), uniform=False)
    t.arrays.loops(shape, lambda i: p.store(buffer, t.arrays.offset(shape, i), total(i)))
    return t.arrays.view(buffer, shape)


def _lowest(type: str) -> Any:
    return -np.inf if type[0] == "f" else False if type == "i1" else np.iinfo(DTYPES[type]).min


def _highest(type: str) -> Any:
    return np.inf if type[0] == "f" else True if type == "i1" else np.iinfo(DTYPES[type]).max


_reduction("reduce_sum", lambda p, a, b: p.add(a, b), lambda _: 0)
_reduction("reduce_prod", lambda p, a, b: p.mul(a, b), lambda _: 1)
_reduction("reduce_max", lambda p, a, b: p.max(a, b), _lowest)
_reduction("reduce_min", lambda p, a, b: p.min(a, b), _highest)
_reduction("reduce_and", lambda p, a, b: p.band(a, b), lambda t: True if t == "i1" else ones(t))
_reduction("reduce_or", lambda p, a, b: p.bor(a, b), lambda _: 0)
_reduction("reduce_xor", lambda p, a, b: p.apply("bxor", a, b), lambda _: 0)


def _cumulative(name: str, f: Callable[[Program, int, int], int], start: Callable[[str], Any]):
    @rule(name)
    def _(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
        axis, backward = params["axis"], params["reverse"]
        if not t.unrolls(xs, xs[0].size):
            return [_cumulate_loops(t, xs[0], axis, backward, f, start(type_of(avals[0])))]
        x = np.moveaxis(t.arrays.explode(xs[0]), axis, 0)
        out = x[::-1].copy() if backward else x.copy()
        for k in range(1, len(out)):
            for where in np.ndindex(*out.shape[1:]):
                at, before = (k, *where), (k - 1, *where)
                out[at] = f(t.p, int(out[before]), int(out[at]))
        return [np.moveaxis(out[::-1] if backward else out, 0, axis)]


def _cumulate_loops(
    t: Interpreter, x: Value, axis: int, backward: bool, f: Callable[[Program, int, int], int],
    start: Any,
) -> Value:  # fmt: skip
    p, shape = t.p, x.shape
    type = x.type if isinstance(x, Pull) else p.types[int(x.flat[0])]
    buffer = p.buffer(type, x.size, uniform=False)

    def line(rest: Index) -> None:
        def body(k: int, accs: list[int]) -> list[int]:
            i = p.sub(t.arrays.index(shape[axis] - 1), k) if backward else k
            where = (*rest[:axis], i, *rest[axis:])
            total = f(p, accs[0], t.arrays.at(x, where))
            p.store(buffer, t.arrays.offset(shape, where), total)
            return [total]

        accumulate(p, shape[axis], [p.const(start, type)], body)

    t.arrays.loops((*shape[:axis], *shape[axis + 1 :]), line)
    return t.arrays.view(buffer, shape)


_cumulative("cumsum", lambda p, a, b: p.add(a, b), lambda _: 0)
_cumulative("cumprod", lambda p, a, b: p.mul(a, b), lambda _: 1)
_cumulative("cummax", lambda p, a, b: p.max(a, b), _lowest)
_cumulative("cummin", lambda p, a, b: p.min(a, b), _highest)


def _arg(name: str, kind: str):
    @rule(name)
    def _(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
        p, type = t.p, type_of(avals[0])
        (axis,) = params["axes"]
        x, shape = xs[0], tuple(avals[0].shape)

        def step(k: int, new: int, best: int, at: int) -> tuple[int, int]:
            # The first NaN wins, as in XLA.
            better = p.bor(
                p.compare(kind, new, best),
                p.band(p.compare("ne", new, new), p.compare("eq", best, best)),
            )
            return p.select(better, new, best), p.select(better, k, at)

        def line(rest: Index) -> int:
            def element(k: int) -> int:
                return t.arrays.at(x, (*rest[:axis], k, *rest[axis:]))

            def body(k: int, found: list[int]) -> list[int]:
                return list(step(p.convert(k, type), element(k), *found))

            inits = [element(t.arrays.index(0)), p.const(0, type)]
            return accumulate(p, x.shape[axis], inits, body)[1]

        if not t.unrolls(xs, x.size):
            if not shape:
                return [np.array(line(()), dtype=np.int64)]
            buffer = p.buffer(type, int(np.prod(shape)), uniform=False)
            t.arrays.loops(shape, lambda i: p.store(buffer, t.arrays.offset(shape, i), line(i)))
            return [t.arrays.view(buffer, shape)]
        x = np.moveaxis(t.arrays.explode(x), axis, 0)
        out = np.empty(shape, dtype=np.int64)
        for where in np.ndindex(*shape):
            best, at = int(x[(0, *where)]), p.const(0, type)
            for k in range(1, len(x)):
                best, at = step(p.const(k, type), int(x[(k, *where)]), best, at)
            out[where] = at
        return [out]


_arg("argmax", "gt")
_arg("argmin", "lt")


@rule("dot_general")
def _dot_general(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    type = type_of(avals[0])
    # The factors may be of different types.
    a, b = (convert(t, x, type) for x in xs)
    (ca, cb), (ba, bb) = params["dimension_numbers"]
    fa = [k for k in range(len(a.shape)) if k not in (*ca, *ba)]
    fb = [k for k in range(len(b.shape)) if k not in (*cb, *bb)]
    shape = tuple(avals[0].shape)
    most = UNROLL_WIDE if t.p.wide > 1 else UNROLL_PRODUCT
    large = any(isinstance(x, Pull) and (not x.parameter or x.size > most) for x in (a, b))
    if not large:
        A = np.transpose(t.arrays.explode(a), (*ba, *fa, *ca))
        B = np.transpose(t.arrays.explode(b), (*bb, *fb, *cb))
        n, rows, cols, K = (
            int(np.prod([x.shape[k] for k in axes], dtype=np.int64))
            for x, axes in ((a, ba), (a, fa), (b, fb), (a, ca))
        )
        out = _product(t.p, A.reshape(n, rows, K), B.reshape(n, cols, K), type)
        return [out.reshape(shape)]
    nb, na = len(ba), len(fa)
    contracted = tuple(a.shape[k] for k in ca)

    def element(i: Index, k: Index) -> tuple[int, int]:
        ia, ib = [0] * len(a.shape), [0] * len(b.shape)
        for axes, index, values in (
            (ba, ia, i[:nb]), (bb, ib, i[:nb]), (fa, ia, i[nb : nb + na]), (fb, ib, i[nb + na :]),
            (ca, ia, k), (cb, ib, k),
        ):  # fmt: skip
            for axis, v in zip(axes, values, strict=True):
                index[axis] = v
        return t.arrays.at(a, tuple(ia)), t.arrays.at(b, tuple(ib))

    return [_product_loops(t, shape, contracted, element, type)]


def _product(p: Program, A: np.ndarray, B: np.ndarray, type: str) -> np.ndarray:
    """Batched A B^T, unrolled; known zeros cost nothing, not even here."""
    n, rows, _ = A.shape
    cols = B.shape[1]
    zero = p.const(0, type)
    mul, add = p.mul, p.add
    if type == "i1":
        mul, add = p.band, p.bor
    dead = {zero, p.const(-0.0, type)} if type[0] == "f" else {zero}
    out = np.empty((n, rows, cols), dtype=np.int64)
    for k in range(n):
        if type[0] == "f" and (wide := product(p, A[k], B[k])) is not None:
            out[k] = wide
            continue
        right = [[(j, x) for j, x in enumerate(r) if x not in dead] for r in B[k].tolist()]
        for i, row in enumerate(A[k].tolist()):
            for c, column in enumerate(right):
                s = zero
                for j, x in column:
                    y = row[j]
                    if y not in dead:
                        s = add(s, mul(y, x))
                out[k, i, c] = s
    return out


def _product_loops(
    t: Interpreter, shape: tuple[int, ...], contracted: tuple[int, ...],
    element: Callable[[Index, Index], tuple[int, int]], type: str,
) -> Value:  # fmt: skip
    """Loop nest; the innermost keeps several rows at once, which share what they can."""
    p, index = t.p, t.arrays.index
    zero = p.const(0, type)
    mul, add = (p.band, p.bor) if type == "i1" else (p.mul, p.add)
    *outer, last = shape or (1,)
    size = int(np.prod(shape, dtype=np.int64))
    buffer = p.buffer(type, max(size, 1), uniform=False)
    *far, near = contracted or (1,)
    terms = near if near <= 2 * TERMS else TERMS

    def block(where: Index, first: int, rows: int) -> None:
        """`rows` neighbouring results, from the node `first` on."""
        columns = [p.add(first, index(r)) for r in range(rows)]

        def fold(k: Index, accs: list[int]) -> list[int]:
            out = []
            for c, acc in zip(columns, accs, strict=True):
                x, y = element((*where, c) if shape else (), k if contracted else ())
                out.append(add(acc, mul(x, y)))
            return out

        def level(k: Index, accs: list[int]) -> list[int]:
            if len(k) < len(far):
                return accumulate(p, far[len(k)], accs, lambda i, a: level((*k, i), a))
            return innermost(k, accs)

        def innermost(k: Index, accs: list[int]) -> list[int]:
            turns = near // terms

            def body(i: int, a: list[int]) -> list[int]:
                for m in range(terms):
                    a = fold((*k, p.add(p.mul(i, index(terms)), index(m))), a)
                return a

            if turns > 1:
                accs = accumulate(p, turns, accs, body)
            elif turns == 1:
                accs = body(index(0), accs)
            for m in range(turns * terms, near):
                accs = fold((*k, index(m)), accs)
            return accs

        for c, s in zip(columns, level((), [zero] * rows), strict=True):
            p.store(buffer, t.arrays.offset((*outer, last), (*where, c)), s)

    def line(where: Index) -> None:
        blocks = last // ROWS
        if blocks > 1:
            p.for_range(blocks, lambda i: block(where, p.mul(i, index(ROWS)), ROWS))
        elif blocks == 1:
            block(where, index(0), ROWS)
        if last % ROWS:
            block(where, index(blocks * ROWS), last % ROWS)

    t.arrays.loops(outer, line)
    # Sums of what all lanes share are the same for all lanes.
    buffer.uniform = all(p.uniform[s.value] for s in buffer.stores)
    return t.arrays.view(buffer, shape)
