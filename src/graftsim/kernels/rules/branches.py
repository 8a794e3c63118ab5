"""Rules of branches, and the choice between values."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import Index, LazyArray, Value
from graftsim.kernels.ir.jaxprs import inside
from graftsim.kernels.ir.sizes import within
from graftsim.kernels.ir.statements import Branch
from graftsim.kernels.ir.trace import Interpreter, rule
from graftsim.kernels.rules.carry import STATE

# A side of a branch with more equations than this is skipped where no lane takes it.
_LONG = 100


def choose(t: Interpreter, c: int, a: Value, b: Value) -> Value:
    """a where c, else b; a scalar condition."""
    if isinstance(a, LazyArray) or isinstance(b, LazyArray):

        def at(i: Index) -> int:
            return t.p.select(c, t.arrays.at(a, i), t.arrays.at(b, i))

        type = a.type if isinstance(a, LazyArray) else b.type  # type: ignore[union-attr]
        return LazyArray(a.shape, type, at)
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([t.p.select(c, x, y) for x, y in pairs], np.int64).reshape(a.shape)


def choose_rows(t: Interpreter, c: np.ndarray, a: Value, b: Value) -> Value:
    """a where c, else b; the conditions belong to the leading axes."""
    shape, type = a.shape, _type(t, a)
    if isinstance(a, LazyArray) or isinstance(b, LazyArray):

        def at(i: Index) -> int:
            test = t.arrays.at(c, i[: c.ndim])
            return t.p.select(test, t.arrays.at(a, i), t.arrays.at(b, i))

        return LazyArray(shape, type, at)
    tests = np.broadcast_to(c.reshape(*c.shape, *[1] * (len(shape) - c.ndim)), shape)
    cases = zip(tests.ravel().tolist(), a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([t.p.select(*case) for case in cases], np.int64).reshape(shape)


def _type(t: Interpreter, x: Value) -> str:
    if isinstance(x, LazyArray):
        return x.type
    return t.p.types[int(x.flat[0])] if x.size else "f64"


@rule("cond", "switch")
def _cond(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    branches, which = params["branches"], int(t.arrays.explode(xs[0]).reshape(-1)[0])
    operands = [t.arrays.readable(x) for x in xs[1:]]
    if p.is_const(which):
        k = min(max(int(p.value(which)), 0), len(branches) - 1)
        return t.closed(branches[k], operands)
    is_case = [
        p.compare("le" if k == 0 else "eq", which, p.const(k, p.type(which)))
        if p.type(which) != "i1"
        else (p.bnot(which) if k == 0 else which)
        for k in range(len(branches) - 1)
    ]
    if p.uniform[which]:
        return _real_branch(t, is_case, [lambda b=b: t.closed(b, operands) for b in branches])
    sizes = [_length(b) for b in branches]
    if len(branches) == 2 and max(sizes) > _LONG:
        return _rarely(t, is_case[0], branches, operands, sizes[0] > sizes[1])
    ambient, outs = t.mask, []
    others = p.const(True, "i1")
    for k, b in enumerate(branches):
        here = p.band(others, is_case[k]) if k < len(is_case) else others
        if k < len(is_case):
            others = p.band(others, p.bnot(is_case[k]))
        t.mask = here if ambient is None else p.band(ambient, here)
        outs.append(t.closed(b, operands))
    t.mask = ambient
    result = outs[-1]
    for k in range(len(is_case) - 1, -1, -1):
        result = [choose(t, is_case[k], a, b) for a, b in zip(outs[k], result, strict=True)]
    return result


def _length(jaxpr: Any) -> int:
    """Equations to go through, in inner programs too; loops of unknown length are long."""
    total = 0
    for e in jaxpr.eqns:
        turns = _LONG if e.primitive.name == "while" else e.params.get("length", 1)
        total += 1 + turns * sum(map(_length, inside(e)))
    return total


def _rarely(
    t: Interpreter, first: int, branches: Any, operands: list[Value], long_first: bool
) -> list[Value]:
    """The short side for all lanes, the long one only if any lane wants it."""
    p, ambient = t.p, t.mask
    wants = first if long_first else p.bnot(first)
    long, short = branches if long_first else branches[::-1]
    usual = t.closed(short, operands)

    def chosen() -> list[Value]:
        t.mask = wants if ambient is None else p.band(ambient, wants)
        out = t.closed(long, operands)
        t.mask = ambient
        return [choose(t, wants, a, b) for a, b in zip(out, usual, strict=True)]

    some = wants if ambient is None else p.band(ambient, wants)
    return _real_branch(t, [some], [chosen, lambda: usual])


def _real_branch(
    t: Interpreter, is_case: list[int], cases: list[Callable[[], list[Value]]]
) -> list[Value]:
    """Only the chosen side runs."""
    if not is_case:
        return cases[0]()
    p = t.p
    sides, values, memory, shapes = [], [], [], []
    for k in range(2):
        region = p.open(loop=False)
        out = cases[0]() if k == 0 else _real_branch(t, is_case[1:], cases[1:])
        if k == 0:
            outer = region.parent
            assert outer is not None
            for x in out:
                if isinstance(x, LazyArray) or not within(x.shape, STATE):
                    p.region = outer
                    memory.append(p.buffer(_type(t, x), x.size, uniform=False))
                    p.region = region
                else:
                    memory.append(None)
            shapes = [x.shape for x in out]
        scalars: list[int] = []
        for x, m in zip(out, memory, strict=True):
            if m is None:
                scalars += t.arrays.explode(x).ravel().tolist()
            else:
                t.arrays.write(x, m, lambda i, s=x.shape: t.arrays.offset(s, i))
        values.append(scalars)
        sides.append(p.close())
    # What both sides agree on, most often a zero, is no result of the branch.
    differ = [a != b for a, b in zip(*values, strict=True)]
    kept = [[x for x, d in zip(side, differ, strict=True) if d] for side in values]
    branch = Branch(is_case[0], sides, kept)
    for s in sides:
        s.owner = branch
    p.region.items.append(branch)
    results = [
        p.result(branch, p.types[a], p.uniform[a] and p.uniform[b]) if a != b else a
        for a, b in zip(*values, strict=True)
    ]
    out, at = [], 0
    for m, shape in zip(memory, shapes, strict=True):
        size = math.prod(shape)
        if m is not None:
            out.append(t.arrays.view(m, shape))
        else:
            out.append(np.array(results[at : at + size], np.int64).reshape(shape))
            at += size
    return out
