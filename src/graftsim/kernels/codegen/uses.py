"""Who uses a value: the edges of a program, statements included."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region, Store


def inner(s: Any) -> list[Region]:
    """Regions of a statement."""
    if isinstance(s, Region):
        return [s]
    if isinstance(s, Loop):
        return [s.body] if s.test is None else [s.body, s.test]
    return s.sides if isinstance(s, Branch) else []


def regions(region: Region) -> Iterator[Region]:
    """A region and all within it."""
    yield region
    for item in region.items:
        for r in inner(item):
            # A loop's test lies within its body, and is an item of the loop alone.
            yield from regions(r)


def needs(p: Program, live: Live, item: Any) -> list[int]:
    """Nodes that an item reads itself; those of its regions are not included."""
    if isinstance(item, int):
        return list(p.operands(item)) if p.ops[item] not in ("result", "phi") else []
    if isinstance(item, Store):
        return [item.value, item.index]
    if isinstance(item, Library):
        kept = [k for k, r in enumerate(item.results) if r in live.nodes]
        return [n for k in kept for n in (item.xs[k], item.where[k])]
    if isinstance(item, Loop):
        kept = [k for k, phi in enumerate(item.phis) if phi in live.nodes]
        out = [n for k in kept for n in (item.inits[k], item.nexts[k])]
        out += [n for r, n in item.exports.items() if r in live.nodes]
        return [*out, item.count if item.test is None else item.going]
    if isinstance(item, Branch):
        kept = [k for k, r in enumerate(item.results) if r in live.nodes]
        return [item.condition, *(side[k] for side in item.values for k in kept)]
    return []
