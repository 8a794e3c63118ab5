"""Rules of calls, loops and branches.

A carried scalar is first believed to be what it can be at best: a known number that stays, then the
same for all lanes. The body is traced, beliefs that it refutes are given up, and it is traced anew
until all hold. So zeros that go round a loop stay zeros, and loop counters stay counters.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jax.extend.core import jaxprs_in_params

from graftsim.kernels.ir.arrays import Index, Pull, Value
from graftsim.kernels.ir.statements import Branch, Buffer, Loop
from graftsim.kernels.ir.trace import Interpreter, rule, type_of
from graftsim.kernels.rules.indexing import copy_of
from graftsim.kernels.rules.reductions import tree
from graftsim.kernels.rules.shaping import remap
from graftsim.kernels.rules.wide import FEWEST, pack_of, source

# A carried array no larger than this is scalars, wherever it comes from.
STATE = 1024
# Equations of a side of a branch beyond which lanes that do not want it should not pay for it.
_LONG = 100


@rule("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call",
      "custom_vjp_call_jaxpr", "checkpoint", "remat", "remat2")  # fmt: skip
def _call(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    inner = params.get("jaxpr", params.get("call_jaxpr", params.get("fun_jaxpr")))
    if hasattr(inner, "jaxpr"):
        return t.closed(inner, xs)
    return t.run(inner, [], xs)


@rule("graftsim_seldom")
def _seldom(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    return t.closed(params["map"], xs)


@rule("custom_linear_solve")
def _linear_solve(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    lengths, jaxprs = params["const_lengths"], params["jaxprs"]
    counts = [lengths.matvec, lengths.vecmat, lengths.solve, lengths.transpose_solve]
    start = counts[0] + counts[1]
    return t.closed(jaxprs.solve, [*xs[start : start + counts[2]], *xs[sum(counts) :]])


@rule("platform_index")
def _platform(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    """Which of several programs is meant for this platform; kernels run on the CPU."""
    k = next(k for k, names in enumerate(params["platforms"]) if names is None or "cpu" in names)
    return [np.array(t.p.const(k, type_of(avals[0])), dtype=np.int64)]


class Carry:
    """What goes round a loop: scalars as phis, large arrays in memory."""

    def __init__(self, t: Interpreter, inits: list[Value], avals: list[Any]) -> None:
        self.t, self.p = t, t.p
        self.avals = avals
        self.inits: list[Value] = []
        self.memory: list[Pull | None] = []
        for x, aval in zip(inits, avals, strict=True):
            if isinstance(x, Pull) and x.size > STATE:
                self.memory.append(copy_of(t, x, type_of(aval)))
                self.inits.append(x)
            else:
                self.memory.append(None)
                self.inits.append(t.arrays.explode(x))
        p = self.p
        self.scalars: list[int] = self._flat()
        self.belief = [
            "same" if p.is_const(n) else "uniform" if p.uniform[n] else "free" for n in self.scalars
        ]
        self.phis: list[int] = []
        self.wide_phis: list[int] = []
        self.wide_inits: list[int] = []
        # Scalars that are carried in one vector: by lane, their positions.
        self.groups: list[dict[int, int]] = []
        self.scattered: set[int] = set()

    def _flat(self) -> list[int]:
        own = zip(self.inits, self.memory, strict=True)
        return [
            n for x, m in own if m is None and not isinstance(x, Pull) for n in x.ravel().tolist()
        ]

    def demote(self) -> None:
        """Move to memory what is large and of which too much has proved to change."""
        at = 0
        for k, x in enumerate(self.inits):
            if self.memory[k] is not None:
                continue
            moving = sum(b != "same" for b in self.belief[at : at + x.size])
            if moving > STATE:
                self.memory[k] = copy_of(self.t, x, type_of(self.avals[k]))
                del self.belief[at : at + x.size]
                self.belief = ["uniform" if b == "wide" else b for b in self.belief]
                self.groups.clear()
            else:
                at += x.size
        self.scalars = self._flat()

    def enter(self) -> list[Value]:
        """Values at the start of an iteration, in the present (loop) region."""
        p = self.p
        self.phis = [
            n if b in ("same", "wide") else p.phi(p.types[n], b == "uniform")
            for n, b in zip(self.scalars, self.belief, strict=True)
        ]
        self.wide_phis, self.wide_inits = [], []
        for group in self.groups:
            some = next(iter(group.values()))
            inits = [self.scalars[group.get(lane, some)] for lane in range(p.wide)]
            self.wide_inits.append(p.pack(inits))
            self.wide_phis.append(p.wide_phi(p.types[inits[0]]))
            for lane, k in group.items():
                self.phis[k] = p.lane(self.wide_phis[-1], lane)
        values: list[Value] = []
        at = 0
        for x, m in zip(self.inits, self.memory, strict=True):
            if m is not None:
                assert m.buffer is not None
                values.append(self._inside(m.buffer, m.shape))
            else:
                ids = np.array(self.phis[at : at + x.size], dtype=np.int64)
                values.append(ids.reshape(x.shape))
                at += x.size
        return values

    def _inside(self, buffer: Buffer, shape: tuple[int, ...]) -> Pull:
        """Memory that changes between iterations: its loads must not leave the loop."""
        p, here = self.p, self.p.region
        alias = buffer.inside(here)
        return Pull(
            shape, buffer.type, lambda i: p.load(alias, self.t.arrays.offset(shape, i)), view=True
        )

    def nexts(self, outs: list[Value]) -> tuple[list[int], list[Value]]:
        """Scalars and arrays at the end of an iteration."""
        scalars, arrays = [], []
        for x, m in zip(outs, self.memory, strict=True):
            if m is None:
                scalars += self.t.arrays.explode(x).ravel().tolist()
            else:
                arrays.append(x)
        return scalars, arrays

    def holds(self, nexts: list[int], diverges: bool = False) -> bool:
        """Does every belief hold? Those that do not are given up."""
        p, good = self.p, True
        for k, (b, n) in enumerate(zip(self.belief, nexts, strict=True)):
            if b == "same" and n != self.scalars[k]:
                self.belief[k] = "free"
                if p.uniform[n] and not diverges:
                    self.belief[k] = "uniform"
                good = False
            elif b == "uniform" and (diverges or not p.uniform[n]):
                self.belief[k] = "free"
                good = False
            elif b != "same" and n == self.phis[k]:
                self.belief[k] = "same"
                good = False
        return self._stay_wide(nexts) and good and not self._become_wide(nexts)

    def _stay_wide(self, nexts: list[int]) -> bool:
        """Do vectors still hold what they held? Others are given up for good."""
        kept = [
            g
            for g in self.groups
            if all(self.belief[k] == "wide" for k in g.values())
            and pack_of(self.p, {lane: nexts[k] for lane, k in g.items()}) is not None
        ]
        for g in self.groups:
            if g not in kept:
                self.scattered.update(g.values())
                for k in g.values():
                    if self.belief[k] == "wide":
                        self.belief[k] = "uniform"
        stay = len(kept) == len(self.groups)
        self.groups = kept
        return stay

    def _become_wide(self, nexts: list[int]) -> bool:
        """Are there scalars that come out of a vector together?"""
        found: dict[int, dict[int, int]] = {}
        for k, (b, n) in enumerate(zip(self.belief, nexts, strict=True)):
            where = source(self.p, n)
            if b == "uniform" and where is not None and k not in self.scattered:
                found.setdefault(where[0], {}).setdefault(where[1], k)
        new = [g for g in found.values() if len(g) >= min(FEWEST, self.p.wide)]
        self.groups += new
        for g in new:
            for k in g.values():
                self.belief[k] = "wide"
        return bool(new)

    def update(self, arrays: list[Value]) -> None:
        """Write the next iteration's arrays: all read before any is overwritten."""
        kept = [m for m in self.memory if m is not None]
        fresh = [
            self.t.arrays.materialise(_opaque(x) if isinstance(x, Pull) else x, m.type)
            for x, m in zip(arrays, kept, strict=True)
        ]
        for x, m in zip(fresh, kept, strict=True):
            assert m.buffer is not None
            self.t.arrays.write(x, m.buffer, lambda i, m=m: self.t.arrays.offset(m.shape, i))

    def finish(self, loop: Loop, nexts: list[int]) -> list[Value]:
        """Complete the loop with what is carried; the values after it."""
        p = self.p
        results: list[int] = []
        for b, init, phi, n in zip(self.belief, self.scalars, self.phis, nexts, strict=True):
            if b in ("same", "wide"):
                results.append(init)
                continue
            loop.phis.append(phi)
            loop.inits.append(init)
            loop.nexts.append(n)
            results.append(p.result(loop, p.types[init], p.uniform[phi]))
        for group, phi, init in zip(self.groups, self.wide_phis, self.wide_inits, strict=True):
            loop.phis.append(phi)
            loop.inits.append(init)
            last = pack_of(p, {lane: nexts[k] for lane, k in group.items()})
            assert last is not None
            loop.nexts.append(last)
            result = p.result(loop, p.types[phi], False)
            for lane, k in group.items():
                results[k] = p.lane(result, lane)
        values: list[Value] = []
        at = 0
        for x, m in zip(self.inits, self.memory, strict=True):
            if m is not None:
                values.append(m)
            else:
                values.append(np.array(results[at : at + x.size], np.int64).reshape(x.shape))
                at += x.size
        return values


def _opaque(x: Pull) -> Pull:
    return Pull(x.shape, x.type, x.at, store=x.store)


def row(t: Interpreter, x: Value, i: int) -> Value:
    """x[i] for a node i."""
    if not isinstance(x, Pull):
        known = t.arrays.known((i,))
        if known is not None:
            return x[known[0]]
        rest = x.shape[1:]
        out = np.empty(rest, dtype=np.int64)
        for where in np.ndindex(*rest):
            out[where] = t.arrays.at(x, (i, *(t.arrays.index(k) for k in where)))
        return out
    return remap(x, x.shape[1:], lambda j: (i, *j))


def _readable(t: Interpreter, x: Value) -> Value:
    """As it is, or in memory if evaluating it again and again would be work."""
    if isinstance(x, Pull) and not x.view:
        return t.arrays.materialise(x, x.type)
    return x


@rule("scan")
def _scan(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    nc, nk, length = params["num_consts"], params["num_carry"], params["length"]
    closed, backward = params["jaxpr"], params["reverse"]
    consts = [_readable(t, x) for x in xs[:nc]]
    rows = [_readable(t, x) for x in xs[nc + nk :]]
    in_avals = [v.aval for v in closed.jaxpr.invars]
    literals = [t.literal(c) for c in closed.consts]

    def body(carried: list[Value], i: int) -> list[Value]:
        step = []
        for x in rows:
            r = row(t, x, i)
            step.append(t.arrays.explode(r) if r.size <= STATE else r)
        return t.run(closed.jaxpr, literals, [*consts, *carried, *step])

    if length == 0:
        return [*xs[nc : nc + nk], *(np.zeros(a.shape, np.int64) for a in avals[nk:])]
    if length == 1:
        out = body(list(xs[nc : nc + nk]), t.arrays.index(0))
        return [*out[:nk], *(_first_axis(t, y) for y in out[nk:])]
    carry = Carry(t, list(xs[nc : nc + nk]), in_avals[nc : nc + nk])
    stacked = [p.buffer(type_of(a), int(np.prod(a.shape)), uniform=False) for a in avals[nk:]]
    while True:
        carry.demote()
        region = p.open(loop=True)
        counter = p.phi("i64", True)
        i = p.sub(t.arrays.index(length - 1), counter) if backward else counter
        outs = body(carry.enter(), i)
        nexts, arrays = carry.nexts(outs[:nk])
        if carry.holds(nexts):
            break
        _discard(t)
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


def _stack_of(
    t: Interpreter, loop: Loop, buffer: Buffer, y: Value, last: int, shape: tuple[int, ...]
) -> Pull:
    """What a loop has stacked; of the last iteration it is not read from memory."""
    whole = t.arrays.view(buffer, shape)
    if isinstance(y, Pull):
        return whole

    def at(i: Index) -> int:
        known = t.arrays.known(i)
        if known is None or known[0] != last:
            return whole.at(i)
        n = int(y[known[1:]])
        return n if _outside(t, n, loop) else t.p.export(loop, n)

    return Pull(shape, whole.type, at, view=True, buffer=buffer)


def _outside(t: Interpreter, n: int, loop: Loop) -> bool:
    return not _within(t.p.regions[n], loop.body)


def _first_axis(t: Interpreter, y: Value) -> Value:
    if isinstance(y, Pull):
        return remap(y, (1, *y.shape), lambda i: i[1:])
    return y[None]


def _discard(t: Interpreter) -> None:
    """Leave a region as if it had not been traced; its stores never happened."""
    done = t.p.close()
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
    test_consts = [_readable(t, x) for x in xs[:n1]]
    body_consts = [_readable(t, x) for x in xs[n1 : n1 + n2]]
    inits = xs[n1 + n2 :]
    carry = Carry(t, list(inits), [v.aval for v in params["body_jaxpr"].jaxpr.invars[n2:]])
    ambient = t.mask
    while True:
        carry.demote()
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
            outs = [_choose_rows(t, rows, new, old) for new, old in zip(outs, values, strict=True)]
        elif not uniform:
            outs = [_choose(t, going, new, old) for new, old in zip(outs, values, strict=True)]
        nexts, arrays = carry.nexts(outs)
        if carry.holds(nexts, diverges=not uniform):
            break
        p.close()
        _discard(t)
    carry.update(arrays)
    p.close()
    p.close()
    loop = Loop(region, going=going)
    loop.test = side
    region.owner = side.owner = loop
    p.region.items.append(loop)
    return carry.finish(loop, nexts)


def _choose(t: Interpreter, c: int, a: Value, b: Value) -> Value:
    """a where c, else b; a scalar condition."""
    if isinstance(a, Pull) or isinstance(b, Pull):

        def at(i: Index) -> int:
            return t.p.select(c, t.arrays.at(a, i), t.arrays.at(b, i))

        type = a.type if isinstance(a, Pull) else b.type  # type: ignore[union-attr]
        return Pull(a.shape, type, at)
    pairs = zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([t.p.select(c, x, y) for x, y in pairs], np.int64).reshape(a.shape)


def _choose_rows(t: Interpreter, c: np.ndarray, a: Value, b: Value) -> Value:
    """a where c, else b; the conditions belong to the leading axes."""
    shape, type = a.shape, _type(t, a)
    if isinstance(a, Pull) or isinstance(b, Pull):

        def at(i: Index) -> int:
            test = t.arrays.at(c, i[: c.ndim])
            return t.p.select(test, t.arrays.at(a, i), t.arrays.at(b, i))

        return Pull(shape, type, at)
    tests = np.broadcast_to(c.reshape(*c.shape, *[1] * (len(shape) - c.ndim)), shape)
    cases = zip(tests.ravel().tolist(), a.ravel().tolist(), b.ravel().tolist(), strict=True)
    return np.array([t.p.select(*case) for case in cases], np.int64).reshape(shape)


def _type(t: Interpreter, x: Value) -> str:
    if isinstance(x, Pull):
        return x.type
    return t.p.types[int(x.flat[0])] if x.size else "f64"


@rule("cond", "switch")
def _cond(t: Interpreter, params: dict[str, Any], xs: list[Value], avals: list[Any]):
    p = t.p
    branches, which = params["branches"], int(t.arrays.explode(xs[0]).reshape(-1)[0])
    operands = [_readable(t, x) for x in xs[1:]]
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
    sizes = [_length(b.jaxpr) for b in branches]
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
        result = [_choose(t, is_case[k], a, b) for a, b in zip(outs[k], result, strict=True)]
    return result


def _length(jaxpr: Any) -> int:
    """Equations to go through, in inner programs too; loops of unknown length are long."""
    total = 0
    for e in jaxpr.eqns:
        turns = _LONG if e.primitive.name == "while" else e.params.get("length", 1)
        total += 1 + turns * sum(map(_length, jaxprs_in_params(e.params)))
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
        return [_choose(t, wants, a, b) for a, b in zip(out, usual, strict=True)]

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
                if isinstance(x, Pull) or x.size > STATE:
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
        size = int(np.prod(shape, dtype=np.int64))
        if m is not None:
            out.append(t.arrays.view(m, shape))
        else:
            out.append(np.array(results[at : at + size], np.int64).reshape(shape))
            at += size
    return out
