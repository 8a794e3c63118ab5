"""Rule of sorting: an odd-even transposition network, for a few elements."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.errors import KernelError
from graftsim.kernels.ir.arrays import SMALL, Value
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.trace import Interpreter, rule


def _after(p: Program, a: int, b: int) -> int:
    """Does a belong behind b? NaN belongs behind all numbers."""
    greater = p.compare("gt", a, b)
    if p.type(a)[0] != "f":
        return greater
    unordered = p.band(p.compare("ne", a, a), p.compare("eq", b, b))
    return p.bor(greater, unordered)


@rule("sort")
def _sort(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    axis, keys = params["dimension"], params["num_keys"]
    n = xs[0].shape[axis]
    if n > SMALL:
        raise KernelError(f"Kernels sort up to {SMALL} elements, not {n}.")
    p = t.p
    rows = [np.moveaxis(t.arrays.explode(x), axis, -1).copy() for x in xs]
    for where in np.ndindex(*rows[0].shape[:-1]):
        lines = [r[where] for r in rows]
        for turn in range(n):
            for i in range(turn % 2, n - 1, 2):
                swap = p.const(False, "i1")
                for k in reversed(range(keys)):
                    a, b = int(lines[k][i]), int(lines[k][i + 1])
                    tie = p.bnot(p.bor(_after(p, a, b), _after(p, b, a)))
                    swap = p.bor(_after(p, a, b), p.band(tie, swap))
                # Neighbours change places only where they must, so the order is stable.
                for line in lines:
                    a, b = int(line[i]), int(line[i + 1])
                    line[i], line[i + 1] = p.select(swap, b, a), p.select(swap, a, b)
    return [np.moveaxis(r, -1, axis) for r in rows]
