"""Rules of loops: `scan` and `while`. `Carry` handles what they carry."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from graftsim.kernels.ir.arrays import Index, LazyArray, Value
from graftsim.kernels.ir.jaxprs import opened
from graftsim.kernels.ir.sizes import within
from graftsim.kernels.ir.statements import Buffer, Loop, Region
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.rules.branches import choose, choose_rows
from graftsim.kernels.rules.carry import STATE, Carry
from graftsim.kernels.rules.reductions import tree
from graftsim.kernels.rules.shaping import remap


def row(t: Interpreter, x: Value, i: int) -> Value:
    """x[i] for a node i."""
    if not isinstance(x, LazyArray):
        known = t.arrays.known((i,))
        if known is not None:
            return x[known[0]]
        rest = x.shape[1:]
        out = np.empty(rest, dtype=np.int64)
        for where in np.ndindex(*rest):
            out[where] = t.arrays.at(x, (i, *(t.arrays.index(k) for k in where)))
        return out
    return remap(x, x.shape[1:], lambda j: (i, *j))


@rule("scan")
def _scan(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    nc, nk, length = params["num_consts"], params["num_carry"], params["length"]
    (jaxpr, constants), backward = opened(params["jaxpr"]), params["reverse"]
    consts = [t.arrays.readable(x) for x in xs[:nc]]
    rows = [t.arrays.readable(x) for x in xs[nc + nk :]]
    in_avals = [v.aval for v in jaxpr.invars]
    literals = t.literals(jaxpr, constants)

    def body(carried: list[Value], i: int) -> list[Value]:
        step = []
        for x in rows:
            r = row(t, x, i)
            step.append(t.arrays.explode(r) if within(r.shape, STATE) else r)
        return t.run(jaxpr, literals, [*consts, *carried, *step])

    if length == 0:
        return [*xs[nc : nc + nk], *(np.zeros(a.shape, np.int64) for a in avals[nk:])]
    if length == 1:
        out = body(list(xs[nc : nc + nk]), t.arrays.index(0))
        return [*out[:nk], *(_first_axis(t, y) for y in out[nk:])]
    carry = Carry(t, list(xs[nc : nc + nk]), in_avals[nc : nc + nk], params["jaxpr"])
    stacked = [p.buffer(type_of(a), math.prod(a.shape), uniform=False) for a in avals[nk:]]

    def turn() -> tuple[bool, tuple[Any, ...]]:
        region = p.open(loop=True)
        counter = p.phi("i64", True)
        i = p.sub(t.arrays.index(length - 1), counter) if backward else counter
        outs = body(carry.enter(), i)
        nexts, arrays = carry.nexts(outs[:nk])
        return carry.holds(nexts), (region, counter, i, outs, nexts, arrays)

    region, counter, i, outs, nexts, arrays = _settled(t, carry, turn)
    for y, buffer, aval in zip(outs[nk:], stacked, avals[nk:], strict=True):
        shape = tuple(aval.shape)
        t.arrays.write(y, buffer, lambda j, s=shape: t.arrays.offset(s, (i, *j)))
    carry.update(arrays)
    p.close()
    loop = Loop(region, count=t.arrays.index(length), counter=counter)
    region.owner = loop
    p.region.items.append(loop)
    after = carry.finish(loop, nexts)
    last = 0 if backward else length - 1
    ys = [
        _stack_of(t, loop, b, y, last, tuple(a.shape))
        for b, y, a in zip(stacked, outs[nk:], avals[nk:], strict=True)
    ]
    return [*after, *ys]


def _settled(t: Interpreter, carry: Carry, turn: Callable[[], tuple[bool, Any]]) -> Any:
    """Trace a body, by `turn`, until all that is assumed of the carry holds; what it gives then.

    The first trace of a body of which nothing is learned is most often the first of two, so loops
    inside of it are traced once, whether what is assumed of them holds or not.
    """
    outer, here = t.trying, t.p.region
    t.trying = outer or carry.fresh
    while True:
        carry.demote()
        before = t.unproved
        t.met.append(0)
        holds, found = turn()
        t.met.pop()
        t.unproved += not holds
        if outer or t.unproved == before:
            break
        while t.p.region is not here:
            done = t.p.close()
        _discard(t, done)
        t.trying = False
    t.trying = outer
    carry.learn()
    return found


def _stack_of(
    t: Interpreter, loop: Loop, buffer: Buffer, y: Value, last: int, shape: tuple[int, ...]
) -> LazyArray:
    """What a loop has stacked; of the last iteration it is not read from memory."""
    whole = t.arrays.view(buffer, shape)
    if isinstance(y, LazyArray):
        return whole

    def at(i: Index) -> int:
        known = t.arrays.known(i)
        if known is None or known[0] != last:
            return whole.at(i)
        n = int(y[known[1:]])
        return n if _outside(t, n, loop) else t.p.export(loop, n)

    return LazyArray(shape, whole.type, at, view=True, buffer=buffer)


def _outside(t: Interpreter, n: int, loop: Loop) -> bool:
    return not _within(t.p.regions[n], loop.body)


def _first_axis(t: Interpreter, y: Value) -> Value:
    if isinstance(y, LazyArray):
        return remap(y, (1, *y.shape), lambda i: i[1:])
    return y[None]


def _discard(t: Interpreter, done: Region) -> None:
    """A region is as if it had not been traced; its stores never happened."""
    for b in t.p.buffers:
        if b.stores:
            b.stores[:] = [s for s in b.stores if not _within(s.region, done)]


def _within(region: Any, outer: Any) -> bool:
    while region is not None:
        if region is outer:
            return True
        region = region.parent
    return False


@rule("while")
def _while(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    n1, n2 = params["cond_nconsts"], params["body_nconsts"]
    test_consts = [t.arrays.readable(x) for x in xs[:n1]]
    body_consts = [t.arrays.readable(x) for x in xs[n1 : n1 + n2]]
    inits = xs[n1 + n2 :]
    carry = Carry(t, list(inits), params["body_jaxpr"].in_avals[n2:], params["body_jaxpr"])
    ambient = t.mask

    def turn() -> tuple[bool, tuple[Any, ...]]:
        region = p.open(loop=True)
        values = carry.enter()
        # The test is the head of the body; a finished lane keeps its values.
        tests = t.arrays.explode(t.closed(params["cond_jaxpr"], [*test_consts, *values])[0])
        each = tests.ravel().tolist()
        if ambient is not None:
            each = [p.band(n, ambient) for n in each]
        going = tree(p.bor, each) if each else p.const(False, "i1")
        side = p.open(loop=False)
        uniform = p.uniform[going]
        t.mask = ambient if uniform else going
        outs = t.closed(params["body_jaxpr"], [*body_consts, *values])
        t.mask = ambient
        if tests.shape:
            # A mapped loop: each row of what is carried has a test of its own.
            rows = np.array(each, np.int64).reshape(tests.shape)
            outs = [choose_rows(t, rows, new, old) for new, old in zip(outs, values, strict=True)]
        elif not uniform:
            outs = [choose(t, going, new, old) for new, old in zip(outs, values, strict=True)]
        nexts, arrays = carry.nexts(outs)
        return carry.holds(nexts, diverges=not uniform), (region, side, going, nexts, arrays)

    region, side, going, nexts, arrays = _settled(t, carry, turn)
    carry.update(arrays)
    p.close()
    p.close()
    loop = Loop(region, going=going)
    loop.test = side
    region.owner = side.owner = loop
    p.region.items.append(loop)
    return carry.finish(loop, nexts)
