"""Rows in lanes (prototype)."""

from __future__ import annotations

import os
from collections import Counter, defaultdict
from typing import Any

import numpy as np

from graftsim.kernels.codegen.liveness import Live, find_live
from graftsim.kernels.codegen.uses import inner, needs, regions
from graftsim.kernels.ir.ops import OPS
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import Size
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region, Store

STATS: dict[str, Any] = {}
READ = float(os.environ.get("ROWS_READ", 1.0))
PACK = float(os.environ.get("ROWS_PACK", 1.0))
SPREAD = float(os.environ.get("ROWS_SPREAD", 0.5))
_NOT = {"const", "load", "pack", "lane", "total"}


def weight_of(p: Program, r: Region | None) -> float:
    w = 1.0
    while r is not None:
        s = r.owner
        if isinstance(s, Loop) and r is s.body:
            if s.test is None and p.is_const(s.count) and not isinstance(p.value(s.count), Size):
                w *= max(p.value(s.count), 1)
            else:
                w *= 100 if s.test is None else 10
        elif isinstance(s, Branch):
            w *= 0.5
        r = r.parent
    return w


class Group:
    def __init__(self, members, sources, region):
        self.members = members
        self.sources = sources  # (tuple, region)
        self.region = region
        self.twin = None
        self.dead = False
        self.node = -1


class Rows:
    def __init__(self, p: Program, live: Live):
        self.p, self.live = p, live
        self.of: dict[int, tuple[Group, int]] = {}
        self.groups: list[Group] = []
        self._w: dict[int, float] = {}
        self.phi_place: dict[int, tuple[Loop, int]] = {}
        self.result_place: dict[int, tuple[Any, int]] = {}
        for s in live.statements:
            if isinstance(s, Loop):
                for k, phi in enumerate(s.phis):
                    self.phi_place[phi] = (s, k)
            for k, r in enumerate(s.results):
                self.result_place[r] = (s, k)
        self._class: dict[int, int] = {}

    def w(self, r: Region) -> float:
        found = self._w.get(id(r))
        if found is None:
            found = self._w[id(r)] = weight_of(self.p, r)
        return found

    # -- the graph --------------------------------------------------------------------------
    def sources(self, n: int) -> list[tuple[int, Region]] | None:
        """Operands of a node that may be in a group, and where they are read; None: it may not."""
        p = self.p
        op = p.ops[n]
        if op in _NOT or not p.uniform[n]:
            return None
        if op == "phi":
            found = self.phi_place.get(n)
            if found is None:
                return None
            s, k = found
            last = s.body if s.test is None else s.test
            return [(s.inits[k], s.body.parent), (s.nexts[k], last)]
        if op == "result":
            s = p.args[n][0]
            if isinstance(s, Loop):
                if n in s.exports:
                    return [(s.exports[n], s.body if s.test is None else s.test)]
                return []  # twin of phi
            s, k = self.result_place[n]
            if isinstance(s, Library):
                r = p.regions[n]
                return [(s.xs[k], r), (s.where[k], r)]
            return [(v[k], side) for v, side in zip(s.values, s.sides, strict=True)]
        return [(a, p.regions[n]) for a in p.operands(n)]

    def kind(self, n: int):
        p = self.p
        op = p.ops[n]
        if op == "phi":
            f = self.phi_place.get(n)
            return (op, id(f[0]) if f else None)
        if op == "result":
            s = p.args[n][0]
            return (op, id(s), isinstance(s, Loop) and n in s.exports)
        if op in ("convert", "bitcast"):
            return (op, p.types[n], p.types[p.args[n][0]])
        if OPS[op].result == "bit":
            return (op, p.types[p.args[n][0]])
        return (op, p.types[n])

    def classify(self, n: int) -> int:
        """A number that equal rows have in common."""
        stack = [n]
        c, p = self._class, self.p
        while stack:
            n = stack[-1]
            if n in c:
                stack.pop()
                continue
            op = p.ops[n]
            if op in _NOT or op in ("phi", "result"):
                c[n] = hash(("leaf", self._seed.get(n, n)))
                stack.pop()
                continue
            left = [a for a in p.operands(n) if a not in c]
            if left:
                stack += left
                continue
            ks = [c[a] for a in p.operands(n)]
            if OPS[op].commutative:
                ks.sort()
            c[n] = hash((op, p.types[n], *ks))
            stack.pop()
        return c[n]

    # -- growing ----------------------------------------------------------------------------
    def grow(self, seeds: list[tuple[int, ...]]) -> None:
        self._seed = {}
        for t in seeds:
            for n in t:
                self._seed.setdefault(n, t)
        todo = list(seeds)
        while todo:
            t = todo.pop()
            g = self.form(t)
            if g is not None:
                todo += [s for s, _ in g.sources if len(set(s)) > 1]

    def form(self, t: tuple[int, ...]) -> Group | None:
        p, live = self.p, self.live.nodes
        if len(set(t)) < len(t) or any(n in self.of or n not in live for n in t):
            return None
        first = t[0]
        lists = [self.sources(n) for n in t]
        if any(x is None for x in lists):
            return None
        kind, region = self.kind(first), p.regions[first]
        if self.w(region) <= 1:
            return None
        if any(self.kind(n) != kind or p.regions[n] is not region for n in t[1:]):
            return None
        g = Group(t, self.aligned(p.ops[first], lists), region)
        if p.ops[first] == "result" and isinstance(p.args[first][0], Loop):
            s = p.args[first][0]
            if first not in s.exports:
                twin = tuple(s.phis[self.result_place[n][1]] for n in t)
                if twin[0] in self.of:
                    other = self.of[twin[0]][0]
                    if other.members != twin or other.twin is not None:
                        return None
                else:
                    other = self.form(twin)
                    if other is None:
                        return None
                    self.grown_extra.append(other)
                g.twin, other.twin = other, g
        self.groups.append(g)
        for k, n in enumerate(t):
            self.of[n] = (g, k)
        return g

    grown_extra: list = []

    def aligned(self, op, lists):
        n = len(lists[0])
        if op in OPS and OPS[op].commutative and n == 2:
            want = [self.classify(a) for a, _ in lists[0]]
            new = []
            for l in lists:
                have = [self.classify(a) for a, _ in l]
                if have != want and have[::-1] == want:
                    l = l[::-1]
                elif have != want:
                    a0, b0 = self.p.ops[lists[0][0][0]], self.p.ops[lists[0][1][0]]
                    a, b = self.p.ops[l[0][0]], self.p.ops[l[1][0]]
                    shared = {x for x, _ in lists[0]}
                    if l[0][0] == lists[0][1][0] or l[1][0] == lists[0][0][0] or (
                        have[0] != want[0] and (have[0] == want[1] or have[1] == want[0])) or (
                        have[0] != want[0] and have[1] != want[1] and a0 != b0 and a == b0 and b == a0):
                        l = l[::-1]
                new.append(l)
            lists = new
        return [
            (tuple(l[k][0] for l in lists), lists[0][k][1]) for k in range(n)
        ]

    # -- counting ---------------------------------------------------------------------------
    def place(self, t, r):
        p = self.p
        deepest = max((p.regions[n] for n in t), key=lambda x: x.depth)
        target, region = r, r
        while region is not deepest:
            if region.loop:
                target = region.parent
            region = region.parent
        return target

    def status(self, t, r):
        p = self.p
        if all(n == t[0] for n in t):
            return "one"
        if all(p.is_const(n) for n in t):
            return "const"
        f = self.of.get(t[0])
        if f is not None and f[0].members == t:
            return "group"
        return "pack"

    def count(self) -> None:
        """Uses of each node as a scalar; users of each group; uses of each pack."""
        p, live = self.p, self.live
        self.need: Counter[int] = Counter()
        self.users: dict[int, list[tuple[Group, int]]] = defaultdict(list)
        self.packs: Counter[Any] = Counter()
        fixed = []
        for n in live.nodes:
            if n in self.of or p.ops[n] == "const":
                continue
            if p.ops[n] == "load":
                fixed.append(p.args[n][0])
            elif p.ops[n] in ("phi", "result"):
                if (x := self.sources(n)) is not None:
                    fixed += [a for a, _ in x]
            else:
                fixed += p.operands(n)
        for s in live.stores:
            fixed += [s.value, s.index]
        for s in live.statements:
            if isinstance(s, Loop):
                fixed.append(s.count if s.test is None else s.going)
            elif isinstance(s, Branch):
                fixed.append(s.condition)
        self.need.update(fixed)
        for g in self.groups:
            if not g.dead:
                for k in range(len(g.sources)):
                    self.read(g, k, 1)

    def read(self, g: Group, k: int, sign: int) -> None:
        """Add (or take away) what the k-th operand of a group needs."""
        t, r = g.sources[k]
        status = self.status(t, r)
        if status == "group":
            h = self.of[t[0]][0]
            if sign > 0:
                self.users[id(h)].append((g, k))
            else:
                self.users[id(h)].remove((g, k))
        elif status == "one":
            self.need[t[0]] += sign
        elif status == "pack":
            key = (t, id(self.place(t, r)))
            self.packs[key] += sign
            if self.packs[key] == (1 if sign > 0 else 0):
                for n in t:
                    self.need[n] += sign

    def pack_cost(self, t, r) -> float:
        target = self.place(t, r)
        w = self.w(target)
        wholes = {id(self.of[n][0]) if n in self.of else n for n in t}
        if len(wholes) == 1:
            return w * 1.5
        return PACK * w * len(t)

    def gain(self, g: Group) -> float:
        """What is lost by dropping a group: positive if it pays."""
        w, R = self.w(g.region), len(g.members)
        free = self.p.ops[g.members[0]] in ("phi",) or (self.p.ops[g.members[0]] == "result")
        delta = 0.0 if free else (R - 1) * w * cost(self.p, g.members[0])
        delta -= READ * w * sum(self.need[m] > 0 for m in g.members)
        for t, r in g.sources:
            status = self.status(t, r)
            if status == "group":
                h = self.of[t[0]][0]
                delta += READ * self.w(h.region) * sum(self.need[m] == 0 for m in t)
            elif status == "one":
                delta -= SPREAD * self.w(r) * (self.p.regions[t[0]].repeats is r.repeats)
            elif status == "pack":
                key = (t, id(self.place(t, r)))
                if self.packs[key] == 1:
                    delta -= self.pack_cost(t, r)
        seen = set()
        for u, k in self.users[id(g)]:
            r = u.sources[k][1]
            key = id(self.place(g.members, r))
            if key not in seen:
                seen.add(key)
                delta += PACK * self.w(self.place(g.members, r)) * R
        return delta

    def drop(self, g: Group) -> None:
        for k in range(len(g.sources)):
            self.read(g, k, -1)
        users = list(self.users[id(g)])
        for u, k in users:
            self.read(u, k, -1)
        g.dead = True
        for n in g.members:
            del self.of[n]
        for u, k in users:
            self.read(u, k, 1)
        for n in g.members:
            self.need.update(a for a, _ in self.sources(n) or ())
        self.users.pop(id(g), None)
        if g.twin is not None and not g.twin.dead:
            self.drop(g.twin)

    def prune(self) -> None:
        changed = True
        rounds = 0
        while changed:
            changed = False
            rounds += 1
            for g in self.groups:
                if not g.dead:
                    gain = self.gain(g)
                    if g.twin is not None:
                        gain += self.gain(g.twin)
                    if gain < 0:
                        self.drop(g)
                        changed = True
        STATS["rounds"] = rounds
        self.groups = [g for g in self.groups if not g.dead]

    # -- cycles -----------------------------------------------------------------------------
    def untangle(self) -> None:
        n = 0
        for r in list(regions(self.p.root)):
            while (g := self.cycle(r)) is not None:
                self.drop(g)
                n += 1
        STATS["cycles"] = n
        self.groups = [g for g in self.groups if not g.dead]

    def cycle(self, region: Region) -> Group | None:
        order = Order(self.p, self.live, region, self.of)
        found = order.sort()
        if found is None:
            return None
        groups = [x for x in found if isinstance(x, Group)]
        return min(groups, key=self.gain)

    # -- rewriting --------------------------------------------------------------------------
    def rewrite(self, width: int) -> None:
        p = self.p
        p.wide = width
        lib: dict[int, list[Group]] = defaultdict(list)
        for g in self.groups:
            m = g.members[0]
            op = p.ops[m]
            args = (p.args[m][0],) if op == "result" else ()
            g.node = p._append(op, args, p.types[m], g.region, False)
        for g in self.groups:
            m = g.members[0]
            op = p.ops[m]
            args = [self.resolve(t, r, width) for t, r in g.sources]
            if op == "phi":
                s, _ = self.phi_place[m]
                for n in g.members:
                    k = s.phis.index(n)
                    results = s.results.pop(k)
                    s.phis.pop(k), s.inits.pop(k), s.nexts.pop(k)
                    if g.twin is None and results in self.live.nodes:
                        self.lone.append((g, results))
                s.phis.append(g.node), s.inits.append(args[0]), s.nexts.append(args[1])
                parent = s.body.parent
                result = g.twin.node if g.twin else p._append("result", (s,), p.types[m], parent, False)
                s.results.append(result)
                if not g.twin:
                    for gg, n in self.lone:
                        k = [i for i, q in enumerate(g.members) if self.phi_result[q] == n][0]
                        self.lane(n, result, k)
                        parent.items.append(n)
                    self.lone = []
            elif op == "result":
                s = p.args[m][0]
                if isinstance(s, Loop):
                    if m in s.exports:
                        for n in g.members:
                            del s.exports[n]
                        s.exports[g.node] = args[0]
                elif isinstance(s, Branch):
                    for n in g.members:
                        k = s.results.index(n)
                        s.results.pop(k)
                        for v in s.values:
                            v.pop(k)
                    s.results.append(g.node)
                    for v, a in zip(s.values, args, strict=True):
                        v.append(a)
                else:
                    for n in g.members:
                        k = s.results.index(n)
                        s.results.pop(k), s.xs.pop(k), s.where.pop(k)
                    lib[id(s)].append((s, g, args))
            else:
                p.args[g.node] = tuple(args)
                g.region.items.append(g.node)
            for k, n in enumerate(g.members):
                self.lane(n, g.node, k)
                if op in ("phi", "result"):
                    g.region.items.append(n)
        for parts in lib.values():
            s = parts[0][0]
            new = Library(s.name, [a[0] for _, _, a in parts], [a[1] for _, _, a in parts],
                          [g.node for _, g, _ in parts])
            for _, g, _ in parts:
                p.args[g.node] = (new,)
            parts[0][1].region.items.append(new)

    lone: list = []

    def lane(self, n, whole, k):
        p = self.p
        p.ops[n], p.args[n] = "lane", (whole, p.const(k, "i64"))

    def resolve(self, t, r, width):
        p = self.p
        status = self.status(t, r)
        if status == "group":
            return self.of[t[0]][0].node
        if status == "one":
            return t[0]
        p.region = r
        return p.pack([*t, *[t[0]] * (width - len(t))])


def cost(p, n):
    return {"div": 4, "sqrt": 4, "neg": 1, "result": 0, "phi": 0}.get(p.ops[n], 1)


class Order:
    """Topological order of a region's items, groups contracted."""

    def __init__(self, p, live, region, of):
        self.p, self.live, self.region, self.of = p, live, region, of
        self.items = [i for i in region.items if self.shown(i)]
        self.provider: dict[int, Any] = {}
        for i in self.items:
            if isinstance(i, int):
                self.provider[i] = i
            elif isinstance(i, (Loop, Branch, Library)):
                for r in i.results:
                    self.provider[r] = i
                if isinstance(i, Loop):
                    for r in i.exports:
                        self.provider[r] = i
        self.memory = self._memory()

    def shown(self, i):
        return isinstance(i, Region) or self.live.has(i)

    def unit(self, i):
        """What is placed together with an item."""
        if isinstance(i, int) and i in self.of:
            return self.of[i][0]
        return i

    def needs(self, item):
        if isinstance(item, Group):
            out = []
            for m in item.members:
                if self.p.ops[m] == "result":
                    out.append(self.p.args[m][0])
                else:
                    out += self._units(needs(self.p, self.live, m)) + self.memory.get(m, [])
            return [x for x in out if x is not item]
        found = self._outer(item) if not isinstance(item, int) else needs(self.p, self.live, item)
        return self._units(found) + self.memory.get(item, [])

    def _units(self, nodes):
        out = []
        for n in nodes:
            x = self.provider.get(n)
            if x is not None:
                out.append(self.unit(n) if isinstance(x, int) else x)
        return out

    def _outer(self, s):
        out = list(needs(self.p, self.live, s)) if not isinstance(s, Region) else []
        for r in inner(s):
            for q in regions(r):
                for i in q.items:
                    if self.shown(i) and not isinstance(i, Region):
                        out += needs(self.p, self.live, i)
        return out

    def _memory(self):
        p = self.p
        last: dict[int, Any] = {}
        reads: dict[int, list[Any]] = defaultdict(list)
        out: dict[Any, list[Any]] = {}
        for i in self.items:
            r, w = set(), set()
            self._touched(i, r, w)
            if not r and not w:
                continue
            deps = [last[b] for b in r | w if b in last]
            for b in w:
                deps += [x for x in reads[b] if x is not i]
            out[i] = [self.unit(d) for d in deps]
            for b in r:
                reads[b].append(i)
            for b in w:
                last[b], reads[b] = i, []
        return out

    def _touched(self, i, r, w):
        p = self.p
        if isinstance(i, int):
            if p.ops[i] == "load" and p.args[i][1].role != "input":
                r.add(p.args[i][1].number)
        elif isinstance(i, Store):
            w.add(i.buffer.number)
        else:
            for q in inner(i):
                for s in regions(q):
                    for j in s.items:
                        if self.shown(j) and not isinstance(j, Region):
                            if isinstance(j, (int, Store)):
                                self._touched(j, r, w)

    def sort(self):
        """A cycle, or None; the order is kept in `out`."""
        state: dict[Any, int] = {}
        self.out = []
        for i in self.items:
            root = self.unit(i)
            stack = [(root, iter(self.needs(root)))] if state.get(root) is None else []
            if stack:
                state[root] = 1
            while stack:
                x, left = stack[-1]
                for d in left:
                    if state.get(d) is None:
                        state[d] = 1
                        stack.append((d, iter(self.needs(d))))
                        break
                    if state[d] == 1:
                        path = [s for s, _ in stack]
                        return path[path.index(d):]
                else:
                    state[x] = 2
                    self.out.append(x)
                    stack.pop()
        return None


def pack_rows(p: Program, rows: int | None = None) -> bool:
    live = find_live(p)
    if p.wide == 1 or not all(p.uniform[n] for n in live.nodes):
        return False
    seeds = []
    most = max((len(x) for x in p.rows), default=0)
    want = int(os.environ.get("ROWS", 4))
    for x in p.rows:
        if len(x) == want:
            for column in x.reshape(len(x), -1).T.tolist():
                if column[0] in live.nodes and len(set(column)) == len(column):
                    seeds.append(tuple(column))
    seeds = list(dict.fromkeys(seeds))
    r = Rows(p, live)
    r.grown_extra = []
    r.lone = []
    r.phi_result = {s.phis[k]: x for s in live.statements if isinstance(s, Loop) for k, x in enumerate(s.results)}
    r.grow(seeds[::-1])
    while r.grown_extra:
        r.grow([s for s, _ in r.grown_extra.pop().sources])
    STATS["seeds"], STATS["candidates"] = len(seeds), len(r.groups)
    r.count()
    if not os.environ.get("ROWS_ALL"):
        r.prune()
    r.untangle()
    if not os.environ.get("ROWS_ALL"):
        r.prune()
    r.groups = [g for g in r.groups if not g.dead]
    STATS["groups"] = len(r.groups)
    if not r.groups:
        return False
    width = 2
    while width < want:
        width *= 2
    here = p.region
    r.rewrite(width)
    p.region = here
    live = find_live(p)
    for q in list(regions(p.root)):
        o = Order(p, live, q, {})
        bad = o.sort()
        assert bad is None, bad
        q.items[:] = o.out
    return True
