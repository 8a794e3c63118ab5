"""What a program is made of besides scalars: regions, memory, loops, branches, library calls."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from graftsim.kernels.ir.sizes import Size


@dataclass(eq=False)
class Region:
    """A straight run of items: node numbers and statements. `loop` regions repeat."""

    parent: Region | None
    loop: bool
    items: list[Any] = field(default_factory=list)
    memo: dict[tuple[Any, ...], int] = field(default_factory=dict)
    owner: Any = None

    def __post_init__(self) -> None:
        self.depth: int = 0 if self.parent is None else self.parent.depth + 1

    @property
    def repeats(self) -> Region:
        """The innermost loop that it is in, or is; else the whole program."""
        region = self
        while not region.loop and region.parent is not None:
            region = region.parent
        return region


@dataclass(eq=False)
class Buffer:
    """Memory for `size` scalars of each lane, or of all lanes together (uniform)."""

    number: int
    type: str
    size: int | Size
    uniform: bool
    region: Region
    role: str = "work"  # work, input, output
    slot: int = -1
    stores: list[Store] = field(default_factory=list)
    base: Buffer | None = None

    def inside(self, region: Region) -> Buffer:
        """The same memory, changing with each turn of a loop: what is read there stays there."""
        return Buffer(
            self.number, self.type, self.size, self.uniform, region, self.role, self.slot,
            self.stores, self,
        )  # fmt: skip


@dataclass(eq=False)
class Store:
    """buffer[index] = value."""

    buffer: Buffer
    index: int
    value: int
    region: Region


@dataclass(eq=False)
class Loop:
    """A counted loop (`count`) or one that runs while `going` holds in any lane.

    Carried scalars are `phis`; their values at the end of an iteration are `nexts`. Lanes of a
    `while` loop that are done keep their values: the tracer selects, so nothing is masked here.
    """

    body: Region
    count: int = -1
    counter: int = -1
    phis: list[int] = field(default_factory=list)
    inits: list[int] = field(default_factory=list)
    nexts: list[int] = field(default_factory=list)
    results: list[int] = field(default_factory=list)
    # Values of the last iteration that are read after the loop: result -> node of the body.
    exports: dict[int, int] = field(default_factory=dict)
    test: Region | None = None
    going: int = -1


@dataclass(eq=False)
class Branch:
    """A real branch on a uniform condition, or on whether any lane wants the first side."""

    condition: int
    sides: list[Region]
    values: list[list[int]]
    results: list[int] = field(default_factory=list)


@dataclass(eq=False)
class Library:
    """Calls of the C library's double function, lane by lane, skipped if no lane needs it."""

    name: str
    xs: list[int]
    where: list[int]
    results: list[int] = field(default_factory=list)


Statement = Loop | Branch | Library


def regions(region: Region) -> Iterator[Region]:
    """A region, and all those of the loops and branches in it."""
    yield region
    for item in region.items:
        if isinstance(item, Region):
            yield from regions(item)
        elif isinstance(item, Loop):
            yield from regions(item.body)
            if item.test is not None:
                yield from regions(item.test)
        elif isinstance(item, Branch):
            for side in item.sides:
                yield from regions(side)
