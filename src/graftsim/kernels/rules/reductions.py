"""Rules of sums and other reductions along axes."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from graftsim.kernels.ir.arrays import Index, LazyArray, Value
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Loop
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.ir.types import DTYPES
from graftsim.kernels.rules.elementwise import each, ones
from graftsim.kernels.rules.wide import mapped

T = TypeVar("T")


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
        if t.unrolls([x], x.shape):
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
    buffer = p.buffer(type, math.prod(shape), uniform=False)
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
        if not t.unrolls(xs, xs[0].shape):
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
    type = x.type if isinstance(x, LazyArray) else p.types[int(x.flat[0])]
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

        if not t.unrolls(xs, x.shape):
            if not shape:
                return [np.array(line(()), dtype=np.int64)]
            buffer = p.buffer(type, math.prod(shape), uniform=False)
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
