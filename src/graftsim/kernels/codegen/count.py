"""How many operations a program has, and how many it runs."""

from __future__ import annotations

from collections import Counter

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.sizes import Size
from graftsim.kernels.ir.statements import Loop, Region

# Turns that a loop without a count is taken to make.
_TURNS = 10


def operations(p: Program, live: Live) -> Counter[Region]:
    """Operations in a turn of each loop, those of inner loops not included."""
    return Counter(p.regions[n].repeats for n in live.nodes if p.ops[n] != "const")


def work(p: Program, live: Live) -> int | Size:
    """Operations of a tile, all turns of its loops counted; ten of a loop without a count."""
    each = operations(p, live)
    total: int | Size = each[p.tile]
    for s in live.statements:
        if isinstance(s, Loop):
            total += each[s.body] * _turns(p, s.body)
    return total


def _turns(p: Program, region: Region | None) -> int | Size:
    turns: int | Size = 1
    while region is not None:
        s = region.owner
        if isinstance(s, Loop) and region is s.body:
            turns *= p.value(s.count) if s.test is None else _TURNS
        region = region.parent
    return turns
