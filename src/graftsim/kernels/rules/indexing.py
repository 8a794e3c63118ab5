"""Rules of indexing primitives. Indices are always brought into range, as XLA does."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from graftsim.kernels.ir.arrays import FEW, SMALL, Edit, Index, LazyArray, Value
from graftsim.kernels.ir.sizes import within
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.ir.types import DTYPES
from graftsim.kernels.rules import edits


def pulled(t: Interpreter, result: LazyArray, sources: list[Value]) -> Value:
    """Exploded at once where all sources are, else as it is."""
    return t.arrays.explode(result) if t.unrolls(sources, result.shape) else result


def clamp(t: Interpreter, i: int, high: int) -> int:
    """Index in 0 ... high, as i64."""
    p = t.p
    i = p.convert(i, "i64")
    if p.is_const(i):
        return t.arrays.index(min(max(p.value(i), 0), max(high, 0)))
    return p.min(p.max(i, t.arrays.index(0)), t.arrays.index(max(high, 0)))


@rule("dynamic_slice")
def _dynamic_slice(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, *starts = xs
    shape = avals[0].shape
    start = tuple(
        clamp(t, int(t.arrays.explode(s).reshape(-1)[0]), n - m)
        for s, n, m in zip(starts, x.shape, shape, strict=True)
    )
    out = LazyArray(
        shape, type_of(avals[0]), lambda i: t.arrays.at(x, t.arrays.moved(i, start)), view=True
    )
    return [pulled(t, out, [x])]


def copy_of(t: Interpreter, x: Value, type: str) -> LazyArray:
    """A fresh copy of an array in memory of each lane, to be changed."""
    buffer = t.p.buffer(type, x.size, uniform=False)
    t.arrays.write(x, buffer, lambda i: t.arrays.offset(x.shape, i))
    return t.arrays.view(buffer, x.shape)


@rule("dynamic_update_slice")
def _dynamic_update(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, update, *starts = xs
    p = t.p
    start = tuple(
        clamp(t, int(t.arrays.explode(s).reshape(-1)[0]), n - m)
        for s, n, m in zip(starts, x.shape, update.shape, strict=True)
    )
    known = t.arrays.known(start)
    if t.unrolls([x, update], x.shape) and (known is not None or within(x.shape, SMALL)):
        out = t.arrays.explode(x).copy()
        new = t.arrays.explode(update)
        if known is not None:
            out[tuple(slice(a, a + n) for a, n in zip(known, new.shape, strict=True))] = new
            return [out]
        for where in np.ndindex(*out.shape):
            for i in np.ndindex(*new.shape):
                hit = p.const(True, "i1")
                for s, k, w in zip(start, i, where, strict=True):
                    hit = p.band(hit, p.compare("eq", s, t.arrays.index(w - k)))
                out[where] = p.select(hit, int(new[i]), int(out[where]))
        return [out]
    if within(update.shape, FEW):
        return [edits.replaced(t, x, Edit(start, t.arrays.explode(update)), type_of(avals[0]))]
    result = copy_of(t, x, type_of(avals[0]))
    assert result.buffer is not None
    t.arrays.write(
        update, result.buffer, lambda i: t.arrays.offset(x.shape, t.arrays.moved(i, start))
    )
    return [result]


@rule("gather")
def _gather(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, indices = xs
    p = t.p
    d, sizes = params["dimension_numbers"], params["slice_sizes"]
    fills = params["mode"] == jax.lax.GatherScatterMode.FILL_OR_DROP
    type, rank = type_of(avals[0]), len(avals[0].shape)
    batch_axes = [k for k in range(rank) if k not in d.offset_dims]
    hidden = (*d.collapsed_slice_dims, *d.operand_batching_dims)
    window_axes = [k for k in range(len(x.shape)) if k not in hidden]
    fill = params.get("fill_value")
    if fill is None:
        fill = np.nan if type[0] == "f" else np.iinfo(DTYPES[type]).min if type != "i1" else True
    zero = t.arrays.index(0)

    def at(i: Index) -> int:
        batch = tuple(i[k] for k in batch_axes)
        where, good = [zero] * len(x.shape), p.const(True, "i1")
        for k, axis in enumerate(d.start_index_map):
            s = p.convert(t.arrays.at(indices, (*batch, t.arrays.index(k))), "i64")
            inside = clamp(t, s, x.shape[axis] - sizes[axis])
            good = p.band(good, p.compare("eq", s, inside))
            where[axis] = inside
        for axis, b in zip(d.operand_batching_dims, d.start_indices_batching_dims, strict=True):
            where[axis] = batch[b]
        for axis, k in zip(window_axes, d.offset_dims, strict=True):
            where[axis] = p.add(where[axis], i[k])
        value = t.arrays.at(x, tuple(where))
        return p.select(good, value, p.const(fill, type)) if fills else value

    known = not isinstance(indices, LazyArray) and all(p.is_const(int(n)) for n in indices.ravel())
    out = LazyArray(
        tuple(avals[0].shape), type, at, view=known and isinstance(x, LazyArray) and x.view
    )
    return [pulled(t, out, [x, indices])]


@rule("scatter", "scatter-add", "scatter_add", "scatter-sub", "scatter_sub", "scatter_mul",
      "scatter-mul", "scatter_min", "scatter-min", "scatter_max", "scatter-max")  # fmt: skip
def _scatter(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    x, indices, updates = xs
    p = t.p
    combine = _combiner(t, params)
    d = params["dimension_numbers"]
    rank = len(updates.shape)
    batch_axes = [k for k in range(rank) if k not in d.update_window_dims]
    hidden = (*d.inserted_window_dims, *d.operand_batching_dims)
    window_axes = [k for k in range(len(x.shape)) if k not in hidden]
    extent = {
        axis: updates.shape[k] for axis, k in zip(window_axes, d.update_window_dims, strict=True)
    }
    clips = params["mode"] == jax.lax.GatherScatterMode.CLIP
    zero = t.arrays.index(0)

    def target(i: Index) -> tuple[Index, int]:
        batch = tuple(i[k] for k in batch_axes)
        where, good = [zero] * len(x.shape), p.const(True, "i1")
        for k, axis in enumerate(d.scatter_dims_to_operand_dims):
            s = p.convert(t.arrays.at(indices, (*batch, t.arrays.index(k))), "i64")
            inside = clamp(t, s, x.shape[axis] - extent.get(axis, 1))
            good = p.band(good, p.compare("eq", s, inside))
            where[axis] = inside
        for axis, b in zip(d.operand_batching_dims, d.scatter_indices_batching_dims, strict=True):
            where[axis] = batch[b]
        for axis, k in zip(window_axes, d.update_window_dims, strict=True):
            where[axis] = p.add(where[axis], i[k])
        return tuple(where), p.const(True, "i1") if clips else good

    fixed = not isinstance(indices, LazyArray) and all(p.is_const(int(n)) for n in indices.ravel())
    if fixed and all(t.unrolls([x, updates], y.shape) for y in (x, updates)):
        out = t.arrays.explode(x).copy()
        new = t.arrays.explode(updates)
        for k in np.ndindex(*new.shape):
            where, good = target(tuple(t.arrays.index(j) for j in k))
            if p.value(good):
                place = t.arrays.known(where)
                out[place] = combine(int(out[place]), int(new[k]))
        return [out]
    adds = combine == p.add
    if within(updates.shape, FEW) and (adds or combine is _replace):
        one, new = (1,) * len(x.shape), t.arrays.explode(updates)
        changes = []
        for k in np.ndindex(*new.shape):
            where, good = target(tuple(t.arrays.index(j) for j in k))
            when = None if p.is_const(good) and p.value(good) else good
            changes.append(Edit(where, new[k].reshape(one), adds, when))
        return [edits.changed(t, x, tuple(changes), type_of(avals[0]))]
    result = copy_of(t, x, type_of(avals[0]))
    buffer = result.buffer
    assert buffer is not None

    def body(i: Index) -> None:
        where, good = target(i)
        place = t.arrays.offset(x.shape, where)
        old = p.load(buffer, place, fresh=True)
        p.store(buffer, place, p.select(good, combine(old, t.arrays.at(updates, i)), old))

    t.arrays.loops(updates.shape, body)
    return [result]


def _replace(old: int, new: int) -> int:
    return new


def _combiner(t: Interpreter, params: dict[str, Any]) -> Any:
    closed = params.get("update_jaxpr")
    if closed is None:
        return _replace
    names = [e.primitive.name for e in closed.eqns]
    p = t.p
    table = {
        "add": p.add, "add_any": p.add, "sub": p.sub, "mul": p.mul, "min": p.min, "max": p.max,
    }  # fmt: skip
    if not names:
        return _replace
    if len(names) == 1 and names[0] in table:
        return table[names[0]]
    consts = t.literals(closed, params.get("update_consts", ()))

    def run(old: int, new: int) -> int:
        scalars = [np.array(n, dtype=np.int64) for n in (old, new)]
        return int(t.arrays.explode(t.run(closed, consts, scalars)[0]))

    return run
