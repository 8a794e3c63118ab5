"""Going over a program in the order in which it is computed."""

from __future__ import annotations

from abc import ABC, abstractmethod

from graftsim.kernels.codegen.liveness import Live
from graftsim.kernels.ir.program import Program
from graftsim.kernels.ir.statements import Branch, Library, Loop, Region, Store


class Visitor(ABC):
    """Does something with each item that is needed. Regions of statements are its own to walk."""

    def __init__(self, p: Program, live: Live) -> None:
        self.p, self.live = p, live

    def walk(self, region: Region) -> None:
        """Items of a region, in order."""
        for item in region.items:
            if isinstance(item, int):
                if item in self.live.nodes:
                    self.node(item, region)
            elif item is self.p.tile:
                self.tile(item)
            elif self.live.has(item):
                if isinstance(item, Store):
                    self.store(item)
                elif isinstance(item, Library):
                    self.library(item, region)
                elif isinstance(item, Loop):
                    self.loop(item, region)
                else:
                    self.branch(item, region)

    @abstractmethod
    def node(self, n: int, region: Region) -> None:
        """An operation."""

    @abstractmethod
    def store(self, s: Store) -> None:
        """A number that goes to memory."""

    @abstractmethod
    def library(self, s: Library, region: Region) -> None:
        """Calls of the C library."""

    @abstractmethod
    def tile(self, tile: Region) -> None:
        """The loop over tiles."""

    @abstractmethod
    def loop(self, s: Loop, region: Region) -> None:
        """A loop."""

    @abstractmethod
    def branch(self, s: Branch, region: Region) -> None:
        """A branch."""
