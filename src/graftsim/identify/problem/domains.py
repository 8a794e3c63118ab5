"""Where a free parameter may lie, and its prior."""

from __future__ import annotations

import math
from dataclasses import dataclass

from graftsim.errors import ProblemError


@dataclass(frozen=True)
class Prior:
    """A Gaussian prior: mean and standard deviation, in the parameter's unit."""

    mean: float
    std: float

    def __post_init__(self) -> None:
        if not (self.std > 0 and math.isfinite(self.std) and math.isfinite(self.mean)):
            raise ProblemError(f"A prior needs a finite mean and a positive std, got {self}.")


@dataclass(frozen=True)
class Domain:
    """An interval, an optional prior, and whether all selected rows share one number."""

    lower: float = -math.inf
    upper: float = math.inf
    prior: Prior | None = None
    shared: bool = False

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ProblemError(f"Empty interval: lower {self.lower}, upper {self.upper}.")


def Unbounded(*, prior: Prior | None = None, shared: bool = False) -> Domain:
    """Any real number."""
    return Domain(prior=prior, shared=shared)


def Positive(*, prior: Prior | None = None, shared: bool = False) -> Domain:
    """Zero or more; a parameter may start on zero and leave it."""
    return Domain(lower=0.0, prior=prior, shared=shared)


def Bounds(
    lower: float, upper: float, *, prior: Prior | None = None, shared: bool = False
) -> Domain:
    """Between two numbers, in the parameter's unit."""
    return Domain(lower, upper, prior, shared)
