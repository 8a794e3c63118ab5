"""Rule of products of arrays: unrolled, so that known zeros vanish, or as a loop nest."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import Index, LazyArray, Value
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import within
from graftsim.kernels.ir.statements import Buffer
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.rules.elementwise import convert
from graftsim.kernels.rules.reductions import accumulate
from graftsim.kernels.rules.wide import product

# A contraction with an array of parameters larger than this becomes a loop.
UNROLL_PRODUCT = 256
# The same in one simulation, where the code is as many times shorter as a vector has elements.
UNROLL_WIDE = 1024
# Of a looped contraction: results computed together, and terms of each a turn.
ROWS, TERMS = 8, 4


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
    large = any(
        isinstance(x, LazyArray) and not (x.parameter and within(x.shape, most)) for x in (a, b)
    )
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

    return [_Nest(t, shape, contracted, element, type).value()]


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


@dataclass(frozen=True)
class _Nest:
    """Loops over the results, and in each over the terms of its sum.

    The innermost keeps several results at once, which share what they can. `element`: the two
    factors of a term, given the index of a result and that of the term.
    """

    t: Interpreter
    shape: tuple[int, ...]
    contracted: tuple[int, ...]
    element: Callable[[Index, Index], tuple[int, int]]
    type: str

    def value(self) -> Value:
        """All results, in memory."""
        t, p = self.t, self.t.p
        *outer, last = self.shape or (1,)
        size = math.prod(self.shape)
        buffer = p.buffer(self.type, max(size, 1), uniform=False)
        t.arrays.loops(outer, lambda where: self._line(buffer, where, last))
        # Sums of what all lanes share are the same for all lanes.
        buffer.uniform = all(p.uniform[s.value] for s in buffer.stores)
        return t.arrays.view(buffer, self.shape)

    def _line(self, buffer: Buffer, where: Index, length: int) -> None:
        """The results along the last axis, block by block."""
        p, index = self.t.p, self.t.arrays.index
        blocks = length // ROWS

        def block(first: int, rows: int) -> None:
            columns = [p.add(first, index(r)) for r in range(rows)]
            sums = self._over_terms((), [p.const(0, self.type)] * rows, where, columns)
            for c, s in zip(columns, sums, strict=True):
                at = self.t.arrays.offset((*self.shape[:-1], length), (*where, c))
                p.store(buffer, at, s)

        if blocks > 1:
            p.for_range(blocks, lambda i: block(p.mul(i, index(ROWS)), ROWS))
        elif blocks == 1:
            block(index(0), ROWS)
        if length % ROWS:
            block(index(blocks * ROWS), length % ROWS)

    def _over_terms(self, k: Index, sums: list[int], where: Index, columns: list[int]) -> list[int]:
        """Sums, with the terms added of which the index begins with k."""
        p, index = self.t.p, self.t.arrays.index
        *far, near = self.contracted or (1,)
        if len(k) < len(far):
            return accumulate(
                p, far[len(k)], sums, lambda i, a: self._over_terms((*k, i), a, where, columns)
            )
        terms = near if near <= 2 * TERMS else TERMS
        turns = near // terms

        def turn(i: int, a: list[int]) -> list[int]:
            for m in range(terms):
                at = p.add(p.mul(i, index(terms)), index(m))
                a = self._add(a, where, columns, (*k, at))
            return a

        if turns > 1:
            sums = accumulate(p, turns, sums, turn)
        elif turns == 1:
            sums = turn(index(0), sums)
        for m in range(turns * terms, near):
            sums = self._add(sums, where, columns, (*k, index(m)))
        return sums

    def _add(self, sums: list[int], where: Index, columns: list[int], k: Index) -> list[int]:
        """Sums of neighbouring results, one term further."""
        p = self.t.p
        mul, add = (p.band, p.bor) if self.type == "i1" else (p.mul, p.add)
        out = []
        for c, s in zip(columns, sums, strict=True):
            x, y = self.element((*where, c) if self.shape else (), k if self.contracted else ())
            out.append(add(s, mul(x, y)))
        return out
