"""Whole numbers that are known when a kernel is called, not when it is compiled.

The length of a roll-out is one: `offset + factor n` for a number n of at least two. Such a number
is a constant of a program like any other; machine code reads it from its table of sizes. What is
asked of it must hold for every n; where the answer depends on n, `Undecided` is raised.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graftsim.errors import KernelError

LEAST = 2
# No array is as long.
_MOST = 2**40


class Undecided(KernelError):
    """What is asked of a number depends on how large it will be."""


@dataclass(frozen=True, eq=False)
class Size:
    """offset + factor n, with factor not zero."""

    offset: int
    factor: int

    def at(self, n: int) -> int:
        """Its value."""
        return self.offset + self.factor * n

    def __str__(self) -> str:
        times = "" if self.factor == 1 else f"{self.factor} "
        rest = f" {'+' if self.offset > 0 else '-'} {abs(self.offset)}" if self.offset else ""
        return f"{times}n{rest}"

    def __add__(self, other: int | Size) -> int | Size:
        offset, factor = _parts(other)
        return size(self.offset + offset, self.factor + factor)

    def __mul__(self, other: int | Size) -> int | Size:
        if isinstance(other, Size):
            raise Undecided("Kernels know no square of a length that is given in the call.")
        return size(self.offset * other, self.factor * other)

    def __neg__(self) -> int | Size:
        return self * -1

    def __sub__(self, other: int | Size) -> int | Size:
        return self + -other

    def __rsub__(self, other: int) -> int | Size:
        return -self + other

    __radd__, __rmul__ = __add__, __mul__

    def __hash__(self) -> int:
        return hash((self.offset, self.factor))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Size):
            return NotImplemented
        rest = self - other
        if isinstance(rest, int):
            return rest == 0
        if rest < 0 or rest > 0:
            return False
        raise Undecided(f"Whether {self} is {other} depends on n.")

    def __index__(self) -> int:
        raise Undecided(f"{self} is known in the call alone.")

    def __floordiv__(self, other: int) -> int:
        raise Undecided(f"How often {other} goes into {self} depends on n.")

    __mod__ = __floordiv__

    def __bool__(self) -> bool:
        return self != 0

    def __lt__(self, other: int | Size) -> bool:
        return self - other <= -1

    def __ge__(self, other: int | Size) -> bool:
        return not self < other

    def __gt__(self, other: int | Size) -> bool:
        return not self <= other

    def __le__(self, other: int | Size) -> bool:
        rest = self - other
        if isinstance(rest, int):
            return rest <= 0
        ends = sorted((rest.at(LEAST), rest.at(_MOST)))
        if ends[0] > 0 or ends[1] <= 0:
            return ends[1] <= 0
        raise Undecided(f"Whether {self} is at most {other} depends on n.")


def size(offset: int, factor: int) -> int | Size:
    """offset + factor n; a number, if n does not matter."""
    return Size(offset, factor) if factor else offset


def _parts(x: int | Size) -> tuple[int, int]:
    return (x.offset, x.factor) if isinstance(x, Size) else (x, 0)


def value(x: Any, n: int | None) -> Any:
    """A number in a call in which n is this."""
    if not isinstance(x, Size):
        return x
    assert n is not None
    return x.at(n)


def within(shape: Sequence[int | Size], limit: int) -> bool:
    """Has an array few elements? One of a length that is not known yet never has."""
    return not any(isinstance(n, Size) for n in shape) and math.prod(shape) <= limit
