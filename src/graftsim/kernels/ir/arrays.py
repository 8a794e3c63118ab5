"""Arrays of scalars: exploded into node numbers, or pulled element by element from a rule.

`Exploded` (a NumPy array of node numbers) is for what becomes straight-line code: states, spatial
vectors, 6 x 6 matrices, whose zeros must fold. `LazyArray` is for what is too large for that: a
shape and a function from indices (nodes) to an element, evaluated inside whatever loop asks for it,
so that chains of elementwise operations fuse by themselves.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import Size, within
from graftsim.kernels.ir.statements import Buffer

Exploded = np.ndarray
Index = tuple[int, ...]

# Largest array that becomes straight-line code.
EXPLODE = 32768
# The same for what is read from an input: nothing is known of its elements, so nothing folds, and
# long straight-line code takes LLVM more than its length.
EXPLODE_INPUT = 256
# A result pulled from a loop is exploded if it is no larger than this.
SMALL = 64
# Changes of no more elements than this are kept apart from the array that they change.
FEW = 32


@dataclass(eq=False)
class LazyArray:
    """A large array. `view`: an element is one load, so it may be asked for repeatedly.

    `parameter`: it comes straight from an input that all lanes share; unless a dense product
    takes it as it is, it is exploded like any small array.
    """

    shape: tuple[int, ...]
    type: str
    at: Callable[[Index], int]
    view: bool = False
    parameter: bool = False
    store: Callable[[Buffer, Callable[[Index], int]], None] | None = None
    # The memory that it is, whole and in row-major order.
    buffer: Buffer | None = None
    # The one scalar that all its elements are.
    filled: int | None = None
    # Another array and what of it is changed, where that is all that it is.
    edits: Edits | None = None

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


Value = Exploded | LazyArray


@dataclass(frozen=True)
class Edit:
    """A block of few elements, from `start` on, that replaces what is there or is added to it.

    when: a condition, if it does so in some cases alone.
    """

    start: Index
    block: Exploded
    adds: bool = False
    when: int | None = None


@dataclass(frozen=True)
class Edits:
    """Changes of an array, in their order."""

    base: Value
    changes: tuple[Edit, ...]


def size_of(x: Value) -> int:
    """Number of elements."""
    return x.size


class Arrays:
    """Operations on values that need the program."""

    def __init__(self, p: Program) -> None:
        self.p = p
        # One copy in memory of each exploded array that is indexed at run time.
        self._copies: dict[tuple[int, ...], tuple[Buffer, list[int]]] = {}

    def index(self, i: int | Size) -> int:
        """Constant index."""
        return self.p.const(i, "i64")

    def offset(self, shape: Sequence[int], index: Index) -> int:
        """Row-major position of an index."""
        p = self.p
        at = self.index(0)
        for n, i in zip(shape, index, strict=True):
            at = p.add(p.mul(at, self.index(n)), i)
        return at

    def moved(self, a: Index, b: Index) -> Index:
        """Sum of two indices."""
        return tuple(self.p.add(x, y) for x, y in zip(a, b, strict=True))

    def known(self, index: Index) -> tuple[int, ...] | None:
        """The index as numbers, if it is constant."""
        p = self.p
        if all(p.is_const(i) for i in index):
            return tuple(p.value(i) for i in index)
        return None

    def at(self, x: Value, index: Index) -> int:
        """Element at an index of nodes."""
        if isinstance(x, LazyArray):
            return x.at(index)
        where = self.known(index)
        if where is not None:
            return int(x[where])
        flat = x.reshape(-1)
        if (flat == flat[0]).all():
            return int(flat[0])
        # Few runs of equal rows, as padding makes them, need no memory.
        for axis, i in enumerate(index):
            if not self.p.is_const(i) and (found := self._runs(x, axis, index)) is not None:
                return found
        buffer = self.in_memory(x)
        return self.p.load(buffer, self.offset(x.shape, index))

    def _runs(self, x: Exploded, axis: int, index: Index) -> int | None:
        """Element by comparison of one index with the borders of runs of equal rows."""
        rows = np.moveaxis(x, axis, 0)
        if len(rows) == 1:
            return None
        changes = (rows[1:] != rows[:-1]).reshape(len(rows) - 1, -1).any(axis=1)
        starts = [0, *(np.flatnonzero(changes) + 1).tolist()]
        if len(starts) > min(4, len(rows) // 2):
            return None
        p, i = self.p, index[axis]
        rest = (*index[:axis], *index[axis + 1 :])
        out = self.at(rows[starts[-1]], rest)
        for k in range(len(starts) - 2, -1, -1):
            here = self.at(rows[starts[k]], rest)
            out = p.select(p.compare("lt", i, self.index(starts[k + 1])), here, out)
        return out

    def in_memory(self, x: Exploded) -> Buffer:
        """A copy of exploded scalars in memory, made where the last of them is known."""
        p = self.p
        nodes = [int(n) for n in x.ravel()]
        key = tuple(nodes)
        found = self._copies.get(key)
        if found is not None and self._visible(found[0]):
            return found[0]
        uniform = all(p.uniform[n] for n in nodes)
        here = p.region
        deepest = max((p.regions[n] for n in nodes), key=lambda r: r.depth)
        p.region = p.place(deepest)
        buffer = p.buffer(p.types[nodes[0]], len(nodes), uniform)
        for i, n in enumerate(nodes):
            p.store(buffer, self.index(i), n)
        p.region = here
        self._copies[key] = (buffer, nodes)
        return buffer

    def _visible(self, buffer: Buffer) -> bool:
        r = self.p.region
        while r is not None:
            if r is buffer.region:
                return True
            r = r.parent
        return False

    def explode(self, x: Value) -> Exploded:
        """All elements as nodes."""
        if not isinstance(x, LazyArray):
            return x
        if x.edits is not None:
            x = self.materialise(x, x.type)
        out = np.empty(x.shape, dtype=np.int64)
        for where in np.ndindex(*x.shape):
            out[where] = x.at(tuple(self.index(i) for i in where))
        return out

    def settle(self, x: Value) -> Value:
        """Exploded if it has become small."""
        if isinstance(x, LazyArray) and within(x.shape, SMALL) and not x.parameter:
            return self.explode(x)
        return x

    def loops(self, shape: Sequence[int], body: Callable[[Index], None]) -> None:
        """Nested loops over an index space."""

        def level(k: int, index: Index) -> None:
            if k == len(shape):
                body(index)
            elif shape[k] == 1:
                level(k + 1, (*index, self.index(0)))
            elif shape[k] != 0:
                self.p.for_range(shape[k], lambda i: level(k + 1, (*index, i)))

        level(0, ())

    def write(self, x: Value, buffer: Buffer, place: Callable[[Index], int]) -> None:
        """Store all elements; `place` gives the position of an index."""
        p = self.p
        if isinstance(x, LazyArray) and x.store is not None:
            x.store(buffer, place)
            return
        if isinstance(x, LazyArray) or (x.size > SMALL and (x == x.flat[0]).all()):
            self.loops(x.shape, lambda i: p.store(buffer, place(i), self.at(x, i)))
            return
        for where in np.ndindex(*x.shape):
            i = tuple(self.index(j) for j in where)
            p.store(buffer, place(i), int(x[where]))

    def materialise(self, x: Value, type: str) -> LazyArray:
        """The array in memory; storage is shared by the lanes where its elements are."""
        p = self.p
        if isinstance(x, LazyArray) and x.view:
            return x
        buffer = p.buffer(type, size_of(x), uniform=False)
        self.write(x, buffer, lambda i: self.offset(x.shape, i))
        buffer.uniform = all(p.uniform[s.value] and p.uniform[s.index] for s in buffer.stores)
        return self.view(buffer, x.shape)

    def readable(self, x: Value) -> Value:
        """As it is, or in memory if evaluating it again and again would be work."""
        return self.materialise(x, x.type) if isinstance(x, LazyArray) and not x.view else x

    def view(self, buffer: Buffer, shape: tuple[int, ...], parameter: bool = False) -> LazyArray:
        """Row-major array over memory."""
        return LazyArray(
            shape,
            buffer.type,
            lambda i: self.p.load(buffer, self.offset(shape, i)),
            view=True,
            parameter=parameter,
            buffer=buffer,
        )

    def constant(self, x: np.ndarray, type: str) -> Exploded:
        """Known numbers."""
        const = self.p.const
        flat = [const(v, type) for v in x.ravel().tolist()]
        return np.array(flat, dtype=np.int64).reshape(x.shape)
