"""Rules of primitives that move elements without computing: views and index maps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import EXPLODE, Index, LazyArray, Value
from graftsim.kernels.ir.sizes import within
from graftsim.kernels.ir.statements import Buffer
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.ir.types import DTYPES

Place = Callable[[Index], int]


def remap(x: LazyArray, shape: Sequence[int], index: Callable[[Index], Index]) -> LazyArray:
    """View of a pulled array through an index map."""
    return LazyArray(
        tuple(shape), x.type, lambda i: x.at(index(i)), view=x.view, parameter=x.parameter
    )


@rule("transpose")
def _transpose(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    (x,) = xs
    order = params["permutation"]
    if not isinstance(x, LazyArray):
        return [np.transpose(x, order)]
    inverse = np.argsort(order)
    return [remap(x, avals[0].shape, lambda i: tuple(i[k] for k in inverse))]


@rule("reshape")
def _reshape(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return [reshape(t, xs[0], avals[0].shape)]


def reshape(t: Interpreter, x: Value, shape: tuple[int, ...]) -> Value:
    """The same elements in row-major order under another shape."""
    if not isinstance(x, LazyArray):
        return x.reshape(shape)
    long = [k for k, n in enumerate(x.shape) if n != 1]
    new = [k for k, n in enumerate(shape) if n != 1]
    if [x.shape[k] for k in long] == [shape[k] for k in new]:

        def drop(i: Index) -> Index:
            out = [t.arrays.index(0)] * len(x.shape)
            for k, m in zip(long, new, strict=True):
                out[k] = i[m]
            return tuple(out)

        return remap(x, shape, drop)
    if x.buffer is None:
        x = t.arrays.materialise(LazyArray(x.shape, x.type, x.at, store=x.store), x.type)
    assert x.buffer is not None
    return t.arrays.view(x.buffer, shape, x.parameter)


@rule("squeeze", "expand_dims")
def _squeeze(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return [reshape(t, xs[0], avals[0].shape)]


@rule("broadcast_in_dim")
def _broadcast(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, shape, dims = xs[0], tuple(avals[0].shape), params["broadcast_dimensions"]
    if not isinstance(x, LazyArray) and within(shape, EXPLODE):
        padded = [1] * len(shape)
        for axis, d in enumerate(dims):
            padded[d] = x.shape[axis]
        return [np.broadcast_to(x.reshape(padded), shape)]
    zero = t.arrays.index(0)

    def index(i: Index) -> Index:
        return tuple(zero if x.shape[a] == 1 else i[d] for a, d in enumerate(dims))

    if isinstance(x, LazyArray):
        return [remap(x, shape, index)]
    filled = int(x.flat[0]) if x.size == 1 else None
    at = lambda i: t.arrays.at(x, index(i))  # noqa: E731
    return [LazyArray(shape, type_of(avals[0]), at, view=True, filled=filled)]


@rule("slice")
def _slice(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x = xs[0]
    start = params["start_indices"]
    steps = params["strides"] or [1] * len(start)
    if not isinstance(x, LazyArray):
        limits = params["limit_indices"]
        return [x[tuple(slice(a, b, c) for a, b, c in zip(start, limits, steps, strict=True))]]
    return [remap(x, avals[0].shape, lambda i: _affine(t, i, start, steps))]


def _affine(t: Interpreter, i: Index, start: Sequence[int], steps: Sequence[int]) -> Index:
    p, index = t.p, t.arrays.index
    return tuple(
        p.add(p.mul(k, index(s)), index(a)) for k, a, s in zip(i, start, steps, strict=True)
    )


@rule("rev")
def _rev(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, dims = xs[0], params["dimensions"]
    if not isinstance(x, LazyArray):
        return [np.flip(x, dims)]
    shape = x.shape
    start = [n - 1 if k in dims else 0 for k, n in enumerate(shape)]
    steps = [-1 if k in dims else 1 for k in range(len(shape))]
    return [remap(x, shape, lambda i: _affine(t, i, start, steps))]


@rule("concatenate")
def _concatenate(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return [concatenate(t, xs, params["dimension"], avals[0])]


def concatenate(t: Interpreter, xs: list[Value], axis: int, aval: Any) -> Value:
    """Arrays one after the other along an axis."""
    if t.unrolls(xs, aval.shape):
        return np.concatenate([t.arrays.explode(x) for x in xs], axis)
    p, index = t.p, t.arrays.index
    starts = np.cumsum([0, *(x.shape[axis] for x in xs)]).tolist()

    def inside(i: Index, k: int, clamp: bool) -> Index:
        at = p.sub(i[axis], index(starts[k]))
        if clamp:
            at = p.min(p.max(at, index(0)), index(xs[k].shape[axis] - 1))
        return (*i[:axis], at, *i[axis + 1 :])

    full = [k for k, x in enumerate(xs) if x.shape[axis]]

    def at(i: Index) -> int:
        known = t.arrays.known((i[axis],))
        if known is not None:
            k = next(k for k in full if known[0] < starts[k + 1])
            return t.arrays.at(xs[k], inside(i, k, False))
        out = t.arrays.at(xs[full[-1]], inside(i, full[-1], True))
        for k in reversed(full[:-1]):
            here = t.arrays.at(xs[k], inside(i, k, True))
            out = p.select(p.compare("lt", i[axis], index(starts[k + 1])), here, out)
        return out

    def store(buffer: Buffer, place: Place) -> None:
        for k in full:
            t.arrays.write(xs[k], buffer, lambda i, k=k: place(shift(i, k)))

    def shift(i: Index, k: int) -> Index:
        return (*i[:axis], p.add(i[axis], index(starts[k])), *i[axis + 1 :])

    return LazyArray(tuple(aval.shape), type_of(aval), at, store=store)


@rule("stack")
def _stack(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    axis = params["axis"]
    parts = [
        reshape(t, x, (*x.shape[:axis], 1, *x.shape[axis:]))
        if isinstance(x, LazyArray)
        else np.expand_dims(x, axis)
        for x in xs
    ]
    return [concatenate(t, parts, axis, avals[0])]


@rule("split")
def _split(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, axis = xs[0], params["axis"]
    starts = np.cumsum([0, *params["sizes"]])[:-1].tolist()
    if not isinstance(x, LazyArray):
        return np.split(x, starts[1:], axis)
    one = [1] * len(x.shape)
    return [
        remap(
            x,
            a.shape,
            lambda i, s=s: _affine(t, i, [s if k == axis else 0 for k in range(len(i))], one),
        )
        for s, a in zip(starts, avals, strict=True)
    ]


@rule("unstack")
def _unstack(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, axis = xs[0], params["axis"]
    if not isinstance(x, LazyArray):
        return [np.take(x, k, axis) for k in range(x.shape[axis])]
    return [
        remap(x, a.shape, lambda i, k=k: (*i[:axis], t.arrays.index(k), *i[axis:]))
        for k, a in enumerate(avals)
    ]


@rule("tile")
def _tile(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, shape = xs[0], avals[0].shape
    if not isinstance(x, LazyArray):
        return [np.tile(x, params["reps"])]
    p, index = t.p, t.arrays.index
    return [
        remap(
            x, shape, lambda i: tuple(p.rem(k, index(n)) for k, n in zip(i, x.shape, strict=True))
        )
    ]


@rule("pad")
def _pad(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, fill = xs
    fill = int(t.arrays.explode(fill).reshape(-1)[0])
    config, shape = params["padding_config"], avals[0].shape
    if t.unrolls([x], shape):
        x = t.arrays.explode(x)
        out = np.full(shape, fill, dtype=np.int64)
        source, target = [], []
        for n, (low, _, gap), m in zip(x.shape, config, shape, strict=True):
            places = low + np.arange(n) * (gap + 1)
            keep = (places >= 0) & (places < m)
            source.append(np.flatnonzero(keep))
            target.append(places[keep])
        out[np.ix_(*target)] = x[np.ix_(*source)]
        return [out]
    p, index = t.p, t.arrays.index

    def at(i: Index) -> int:
        good, where = p.const(True, "i1"), []
        for k, n, (low, _, gap) in zip(i, x.shape, config, strict=True):
            shifted = p.sub(k, index(low))
            at_k, step = shifted, index(gap + 1)
            if gap:
                at_k = p.div(shifted, step)
                good = p.band(good, p.compare("eq", p.rem(shifted, step), index(0)))
            good = p.band(good, p.compare("ge", shifted, index(0)))
            good = p.band(good, p.compare("lt", at_k, index(n)))
            where.append(p.min(p.max(at_k, index(0)), index(n - 1)))
        return p.select(good, t.arrays.at(x, tuple(where)), fill)

    return [LazyArray(tuple(shape), type_of(avals[0]), at)]


@rule("iota")
def _iota(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    shape, axis, type = tuple(avals[0].shape), params["dimension"], type_of(avals[0])
    if within(shape, EXPLODE):
        across = [1] * len(shape)
        across[axis] = shape[axis]
        row = t.arrays.constant(np.arange(shape[axis], dtype=DTYPES[type]), type)
        return [np.broadcast_to(row.reshape(across), shape)]
    return [LazyArray(shape, type, lambda i: t.p.convert(i[axis], type), view=True)]


@rule("dim_as_value")
def _dim_as_value(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return [np.array(t.p.convert(t.arrays.index(params["dim"]), type_of(avals[0])))]


@rule("empty", "empty2")
def _empty(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    shape, zero = tuple(avals[0].shape), t.p.const(0, type_of(avals[0]))
    if within(shape, EXPLODE):
        return [np.full(shape, zero, dtype=np.int64)]
    return [LazyArray(shape, type_of(avals[0]), lambda i: zero, view=True)]
