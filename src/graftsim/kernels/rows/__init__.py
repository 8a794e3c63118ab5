"""Equal rows in one simulation, such as legs, as the lanes of vectors.

Scalar code of one simulation uses one lane of each register. Where a robot has four equal legs, the
same operations stand there four times with other numbers: here they become one of four lanes.
"""

from __future__ import annotations

from collections import defaultdict

from graftsim.kernels.codegen.liveness import Live, find_live
from graftsim.kernels.ir.program import Program
from graftsim.kernels.rows.groups import Group, Groups, Row, Sums
from graftsim.kernels.rows.order import Order, regions
from graftsim.kernels.rows.pack import pack
from graftsim.kernels.rows.worth import Worth

# Rows are packed in a loop if that saves this share of its operations. Vectors wait for their
# slowest lane: where they save less, steps that depend on each other take longer than before.
_LEAST = 0.25
# Of a program with so many operations (some eight bytes each) the code is beyond the 32 KiB of the
# first instruction cache: it runs as fast as it is fetched, and each operation less is less of it.
_LONG, _LEAST_LONG = 4000, 0.1
# Rows of a length are looked at if they are this share of all that is computed, and packed if they
# save this share in a loop beyond what others do.
_SOME, _MORE = 0.05, 0.02


def pack_rows(p: Program) -> None:
    """Compute equal rows of a program of one simulation in vectors, where that pays."""
    if p.wide == 1:
        return
    live = find_live(p)
    found = Groups(p, live)
    seeds = _seeds(p, live)
    worth, saved = Worth(found), Sums(float)
    for length in sorted(seeds, key=lambda n: -n * len(seeds[n])):
        left = [row for row in seeds[length] if all(n not in found.of for n in row)]
        if length * len(left) > _SOME * len(live.nodes):
            new = found.grow(left)
            worth = _settle(found)
            _keep(worth, new, saved, _MORE)
            saved = worth.saved()
    if found.groups:
        least = _LEAST if len(live.nodes) < _LONG else _LEAST_LONG
        _keep(worth, list(found.groups), Sums(float), least)
    if found.groups:
        pack(found)
        live = find_live(p)
        for region in list(regions(p.root)):
            region.items[:] = Order(p, live, region).sorted()


def _seeds(p: Program, live: Live) -> dict[int, list[Row]]:
    """Scalars that correspond in the rows of an array, by the number of rows."""
    out: dict[int, dict[Row, None]] = defaultdict(dict)
    for x in p.rows:
        for row in map(tuple, x.reshape(len(x), -1).T.tolist()):
            if all(n in live.nodes and not p.is_const(n) for n in row):
                out[len(row)][row] = None
    return {length: list(rows)[::-1] for length, rows in out.items()}


def _keep(worth: Worth, new: list[Group], before: Sums, least: float) -> None:
    """Drop new groups of loops in which they save too little."""
    found, saved = worth.found, worth.saved()
    costs = found.costs
    poor = {loop for loop in costs if saved[loop] - before[loop] < least * costs[loop]}
    there = [g for g in new if g in found.groups]
    bad = [g for g in there if found.p.regions[g.members[0]].repeats in poor]
    for g in bad:
        worth.drop(g)
    if bad:
        worth.prune()


def _settle(found: Groups) -> Worth:
    """Drop groups that do not pay, and those that would wait for themselves."""
    worth = Worth(found)
    worth.prune()
    count = len(found.groups)
    mixed = {found.p.regions[g.members[0]] for g in found.groups}
    for region in [r for r in regions(found.p.root) if r in mixed]:
        Order(found.p, found.live, region).sorted(
            found.unit, lambda x: x.members if isinstance(x, Group) else (x,),
            lambda circle: _give_up(worth, circle),
        )  # fmt: skip
    if len(found.groups) < count:
        worth.prune()
    return worth


def _give_up(worth: Worth, circle: list[object]) -> Group:
    """Drop the group of a circle that pays least."""
    g = min((x for x in circle if isinstance(x, Group)), key=worth.gain)
    worth.drop(g)
    return g


__all__ = ["pack_rows"]
