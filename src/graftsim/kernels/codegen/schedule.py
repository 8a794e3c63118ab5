"""The order of straight-line code.

A trace goes breadth first: all links of a level, then the next level. That is good while the code
fits the processor's instruction cache, since what is computed side by side need not wait for each
other. Code beyond it runs as fast as it can be fetched, and then fewer bytes count: depth first, an
operation's operands right before it, values live shortly and more of them in registers. Of two
operands the costlier comes first (Sethi, Ullman 1970). Many simulations give each instruction so
much to do that fetching is no matter; there it is LLVM's time that grows too long in the end.
"""

from __future__ import annotations

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Region, regions

# Operations of one simulation whose code (some nine bytes each) is beyond the 64 KiB of present
# caches, and of many for which LLVM, left to itself, takes seconds.
_LONG_ONE, _LONG_MANY = 7000, 9000


def shorten(p: Program, live: Live) -> None:
    """Put the operations of a long program in depth-first order, between statements."""
    if is_long(p, live):
        for region in regions(p.root):
            _reorder(p, live, region)


def is_long(p: Program, live: Live) -> bool:
    """Is it too long to be left in its order, and its registers to LLVM?"""
    most = _LONG_ONE if p.wide > 1 else _LONG_MANY
    return sum(p.ops[n] != "const" for n in live.nodes) > most


def _reorder(p: Program, live: Live, region: Region) -> None:
    items: list[object] = []
    run: list[int] = []
    for item in region.items:
        if isinstance(item, int):
            if item in live.nodes:
                run.append(item)
            continue
        # Loads must not pass stores, nor anything its operands.
        items += _depth_first(p, run)
        run = []
        items.append(item)
    region.items = items + _depth_first(p, run)


def _depth_first(p: Program, run: list[int]) -> list[int]:
    """The same nodes, each as late as the first that needs it allows."""
    here = set(run)
    operands = {n: [a for a in dict.fromkeys(p.operands(n)) if a in here] for n in run}
    # Registers that the tree below a node takes at least.
    registers: dict[int, int] = {}
    needed: set[int] = set()
    for n in run:
        below = sorted((registers[a] for a in operands[n]), reverse=True)
        registers[n] = max((k + i for i, k in enumerate(below)), default=1)
        needed.update(operands[n])
    out: dict[int, None] = {}
    for root in run:
        stack = [] if root in needed else [root]
        while stack:
            n = stack[-1]
            left = [a for a in operands[n] if a not in out]
            if left:
                stack.append(max(left, key=registers.__getitem__))
            else:
                out[stack.pop()] = None
    return list(out)
