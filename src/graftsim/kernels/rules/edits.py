"""Arrays of which few elements change: a large array never moves for that.

A loop that carries such an array changes it where it lies (`Carry`); so the cotangents of a table
that is read at one place an iteration, zeros but for one block that are added to those before, cost
as much as the block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import reduce

import numpy as np

from graftsim.kernels.ir.arrays import Edit, Edits, Index, LazyArray, Value
from graftsim.kernels.ir.statements import Buffer
from graftsim.kernels.ir.trace import Interpreter

# With more changes an array is copied after all: each read at a place known in the run asks them.
_FEW = 64


def replaced(t: Interpreter, x: Value, block: Edit, type: str) -> LazyArray:
    """x with a block in place of its own elements."""
    adds = block.when is None and _is_zero(t, x)
    return changed(t, x, (replace(block, adds=adds),), type)


def sum_of(t: Interpreter, x: Value, y: Value, type: str) -> LazyArray | None:
    """x + y, if one of them is zero but for a few blocks."""
    for a, b in ((x, y), (y, x)):
        found = _blocks(t, b)
        if found and a.shape == b.shape:
            return changed(t, a, found, type)
    return None


def changed(t: Interpreter, base: Value, changes: tuple[Edit, ...], type: str) -> LazyArray:
    """An array with further changes; they may be its first."""
    before = base.edits if isinstance(base, LazyArray) else None
    if isinstance(base, LazyArray) and before and len(before.changes) + len(changes) > _FEW:
        base, before = t.arrays.materialise(base, type), None
    made = Edits(before.base, (*before.changes, *changes)) if before else Edits(base, changes)

    def at(index: Index) -> int:
        out = t.arrays.at(made.base, index)
        for e in made.changes:
            for where, new in _elements(t, e):
                same = [t.p.compare("eq", a, b) for a, b in zip(where, index, strict=True)]
                here = replace(
                    e, when=reduce(t.p.band, same if e.when is None else [e.when, *same])
                )
                out = _after(t, here, out, new)
        return out

    def store(buffer: Buffer, place: Callable[[Index], int]) -> None:
        t.arrays.write(made.base, buffer, place)
        apply(t, made, buffer, place)

    return LazyArray(base.shape, type, at, store=store, edits=made)


def apply(t: Interpreter, x: Edits, buffer: Buffer, place: Callable[[Index], int]) -> None:
    """Change the elements of an array that is in memory already; `place`: that of an index."""
    p = t.p
    for e in x.changes:
        for index, new in _elements(t, e):
            i = place(index)
            plain = e.when is None and not e.adds
            p.store(buffer, i, new if plain else _after(t, e, p.load(buffer, i, fresh=True), new))


def _blocks(t: Interpreter, x: Value) -> tuple[Edit, ...]:
    """What is added to zeros, where that is what x is."""
    made = x.edits if isinstance(x, LazyArray) else None
    only = made is not None and _is_zero(t, made.base) and all(e.adds for e in made.changes)
    return made.changes if made is not None and only else ()


def _is_zero(t: Interpreter, x: Value) -> bool:
    node = x.filled if isinstance(x, LazyArray) else int(x.flat[0])
    all_equal = isinstance(x, LazyArray) or bool((x == node).all())
    return node is not None and all_equal and t.p.is_const(node) and t.p.value(node) == 0


def _after(t: Interpreter, e: Edit, old: int, new: int) -> int:
    out = t.p.add(old, new) if e.adds else new
    return out if e.when is None else t.p.select(e.when, out, old)


def _elements(t: Interpreter, e: Edit) -> Iterator[tuple[Index, int]]:
    for k in np.ndindex(*e.block.shape):
        yield t.arrays.moved(e.start, tuple(t.arrays.index(j) for j in k)), int(e.block[k])
