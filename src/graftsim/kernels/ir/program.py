"""The intermediate form: a graph of scalar operations in nested regions, folded as it is built.

A node is one scalar of one simulation; the back end turns it into a vector over lanes, or into one
number where it is the same for all lanes (uniform). Nodes are pure and numbered; equal operations
share a number. A node is placed in the outermost loop that its operands allow, so what depends on
parameters alone leaves the time loop by construction.

Memory is for what cannot be scalars: arrays indexed at run time, and what a loop keeps.

In a program of one simulation all scalars are uniform, and vectors are free for something else: a
wide node holds neighbours in an array (`wide`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graftsim.kernels.ir import printing
from graftsim.kernels.ir.algebra import Algebra
from graftsim.kernels.ir.fold import INT64
from graftsim.kernels.ir.sizes import Size, Undecided
from graftsim.kernels.ir.statements import Buffer, Library, Loop, Region, Store
from graftsim.kernels.ir.types import DTYPES


class Program(Algebra):
    """Builder and container. `root` runs once a call, `tile` once for each set of lanes."""

    def __init__(self, wide: int = 1) -> None:
        super().__init__()
        # Scalars in a wide node; 1 in a program of many simulations, which has none.
        self.wide = wide
        # The same of wide nodes that have another number of them.
        self.widths: dict[int, int] = {}
        # Arrays with a few rows, in a program of one simulation: rows may share vectors.
        self.rows: list[np.ndarray] = []
        self.regions: list[Region] = []
        self.uniform: list[bool] = []
        self.buffers: list[Buffer] = []
        self.root = Region(None, loop=False)
        self.tile = Region(self.root, loop=True)
        self.region = self.tile
        self._constants: dict[tuple[str, Any], int] = {}
        # The same by what was asked for, before it is rounded to the type.
        self._given: dict[Any, int] = {}

    def __str__(self) -> str:
        """One line an instruction, in the order of evaluation; see `printing`."""
        return printing.text_of(self)

    # -- nodes -------------------------------------------------------------------------------

    def const(self, value: Any, type: str) -> int:
        """Constant of a type."""
        kind = value.__class__
        given = (type, kind, value or repr(value)) if kind is not Size else None
        if (found := self._given.get(given)) is not None:
            return found
        plain = (
            (kind is float and type == "f64")
            or (kind is int and type == "i64" and -INT64 <= value < INT64)
            or (kind is bool and type == "i1")
        )
        if kind is Size and type != "i64":
            raise Undecided(f"A length that is given in the call is an i64, not an {type}.")
        if not plain and kind is not Size:
            with np.errstate(over="ignore"):
                value = DTYPES[type].type(value).item()
        # Zeros of both signs and NaN are told apart by their text.
        key = (type, value if value and value == value else repr(value))
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self._append("const", (value,), type, self.root, True)
        if given is not None and value == value:
            self._given[given] = found
        return found

    def _append(
        self, op: str, args: tuple[Any, ...], type: str, region: Region, uniform: bool
    ) -> int:
        self.ops.append(op)
        self.args.append(args)
        self.types.append(type)
        self.regions.append(region)
        self.uniform.append(uniform)
        return len(self.ops) - 1

    def place(self, deepest: Region, region: Region | None = None) -> Region:
        """Region for a node whose deepest operand lives in `deepest`: outside of idle loops.

        region: where it is asked for, if not in the present region.
        """
        region = self.region if region is None else region
        target = region
        while region is not deepest:
            assert region.parent is not None
            if region.loop:
                target = region.parent
            region = region.parent
        return target

    def node(self, op: str, args: tuple[int, ...], type: str, key: Any = None) -> int:
        """Node of a pure operation, shared with an equal one that is in scope."""
        regions, uniform = self.regions, self.uniform
        deepest = self.root
        same = True
        for a in args:
            r = regions[a]
            if r.depth > deepest.depth:
                deepest = r
            same = same and uniform[a]
        target = deepest if deepest is self.region else self.place(deepest)
        key = (op, *args, key) if key is not None else (op, *args)
        r = target
        while True:
            found = r.memo.get(key)
            if found is not None:
                return found
            if r is deepest or r.parent is None:
                break
            r = r.parent
        n = self._append(op, args, type, target, same)
        target.memo[key] = n
        target.items.append(n)
        return n

    def hoists(self, a: int, b: int) -> bool:
        """Is b known outside of a loop that a is in?"""
        return self.leaves(self.regions[a], b)

    def leaves(self, r: Region, b: int) -> bool:
        """Is b known outside of a loop that r is in?"""
        outer = self.regions[b]
        while r.depth > outer.depth and r.parent is not None:
            if r.loop:
                return True
            r = r.parent
        return False

    # -- statements --------------------------------------------------------------------------

    def library(self, name: str, xs: list[int], where: list[int]) -> list[int]:
        """C library's `name` of each x where a lane needs it, else zero; skipped if none does."""
        zero = [self.const(0, self.types[x]) for x in xs]
        wanted = [i for i, w in enumerate(where) if not (self.is_const(w) and not self.value(w))]
        if not wanted:
            return zero
        statement = Library(name, [xs[i] for i in wanted], [where[i] for i in wanted])
        needed = (*statement.xs, *statement.where)
        here = self.region
        self.region = self.place(max((self.regions[a] for a in needed), key=lambda r: r.depth))
        same = all(self.uniform[a] for a in needed)
        for i in wanted:
            zero[i] = self.result(statement, self.types[xs[i]], same)
        self.region.items.append(statement)
        self.region = here
        return zero

    def result(self, statement: Any, type: str, uniform: bool) -> int:
        """New node in the present region that a statement defines."""
        n = self._append("result", (statement,), type, self.region, uniform)
        statement.results.append(n)
        return n

    def export(self, loop: Loop, n: int) -> int:
        """Value of a node of a counted loop's body in its last iteration."""
        for result, node in loop.exports.items():
            if node == n:
                return result
        region = loop.body.parent
        assert region is not None
        result = self._append("result", (loop,), self.types[n], region, self.uniform[n])
        loop.exports[result] = n
        return result

    def phi(self, type: str, uniform: bool) -> int:
        """New carried scalar of the present (loop) region."""
        return self._append("phi", (), type, self.region, uniform or self.wide > 1)

    # -- wide nodes: not uniform, in a program where all others are -----------------------------

    def wide_phi(self, type: str) -> int:
        """New carried vector of the present (loop) region."""
        return self._append("phi", (), type, self.region, False)

    def wide_node(
        self, op: str, args: tuple[Any, ...], type: str, region: Region, lanes: int
    ) -> int:
        """New wide node that is in no region's items yet."""
        n = self._append(op, args, type, region, False)
        if lanes != self.wide:
            self.widths[n] = lanes
        return n

    def become_lane(self, n: int, whole: int, k: int) -> None:
        """A scalar is the k-th of a wide node from here on."""
        self.ops[n], self.args[n] = "lane", (whole, self.const(k, "i64"))

    def pack(self, scalars: Sequence[int]) -> int:
        """Wide node of scalars."""
        n = self.node("pack", tuple(scalars), self.types[scalars[0]])
        self.uniform[n] = False
        if len(scalars) != self.wide:
            self.widths[n] = len(scalars)
        return n

    def lane(self, a: int, k: int) -> int:
        """Scalar of a wide node."""
        n = self.node("lane", (a, self.const(k, "i64")), self.types[a])
        self.uniform[n] = True
        return n

    def total(self, a: int) -> int:
        """Sum of the scalars of a wide node, in whatever order."""
        n = self.node("total", (a,), self.types[a])
        self.uniform[n] = True
        return n

    # -- memory --------------------------------------------------------------------------------

    def buffer(
        self, type: str, size: int | Size, uniform: bool, role: str = "work", slot: int = -1
    ) -> Buffer:
        """New memory, defined in the present region."""
        uniform = uniform or self.wide > 1
        region = self.root if role == "input" and uniform else self.region
        b = Buffer(len(self.buffers), type, size, uniform, region, role, slot)
        self.buffers.append(b)
        return b

    def load(self, buffer: Buffer, index: int, fresh: bool = False) -> int:
        """buffer[index]; `fresh` where the buffer is being changed."""
        uniform = buffer.uniform and self.uniform[index]
        r = self.regions[index]
        deepest = r if r.depth > buffer.region.depth else buffer.region
        target = self.region if fresh else self.place(deepest)
        key = ("load", buffer.number, index)
        if not fresh and (found := target.memo.get(key)) is not None:
            return found
        n = self._append("load", (index, buffer), buffer.type, target, uniform)
        if not fresh:
            target.memo[key] = n
        target.items.append(n)
        return n

    def store(self, buffer: Buffer, index: int, value: int) -> None:
        """buffer[index] = value, here and now."""
        s = Store(buffer, index, value, self.region)
        buffer.stores.append(s)
        self.region.items.append(s)

    def open(self, loop: bool) -> Region:
        """Enter a new region."""
        self.region = Region(self.region, loop)
        return self.region

    def close(self) -> Region:
        """Leave the present region; returns it."""
        done = self.region
        assert done.parent is not None
        self.region = done.parent
        return done

    def for_range(self, count: int | Size, body: Callable[[int], None]) -> Loop:
        """Counted loop without carried scalars."""
        region = self.open(loop=True)
        counter = self.phi("i64", True)
        body(counter)
        self.close()
        loop = Loop(region, count=self.const(count, "i64"), counter=counter)
        region.owner = loop
        self.region.items.append(loop)
        return loop
