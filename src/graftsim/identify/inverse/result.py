"""What a fit by inverse dynamics returns: base parameters, links, errors of joint forces."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graftsim.identify.inverse.base import BaseParameters
from graftsim.identify.inverse.cutoff import Filtering
from graftsim.identify.results.result import QUANTILE, error_line, finite, plain
from graftsim.identify.results.whiteness import LackOfFit
from graftsim.identify.words import Status
from graftsim.model.model import Model


@dataclass(frozen=True)
class BaseRow:
    """A combination that the joint forces tell: `name` as a sum of numbers, its value in the file
    (`start`), as measured with a 95 % interval `low` to `high`, and of the consistent model.
    """

    name: str
    unit: str
    start: float
    value: float
    std: float
    low: float
    high: float
    consistent: float
    status: Status


@dataclass(frozen=True)
class NumberRow:
    """A number of the consistent model, or one that the model has no place for (an offset, a
    coupled motor); `start` is the file's.
    """

    name: str
    unit: str
    start: float
    value: float


@dataclass(frozen=True)
class GainRow:
    """Joint force per unit of an effort, with a 95 % interval `low` to `high`."""

    name: str
    unit: str
    value: float
    std: float
    low: float
    high: float
    status: Status


@dataclass(frozen=True)
class ForceError:
    """Root-mean-square joint force that is not explained, in the filter's band: of the file's
    model, by least squares of the base parameters, by the consistent model. `size`: of the force
    itself. Held-out samples took no part; NaN where there are none.
    """

    channel: str
    unit: str
    size: float
    train_before: float
    train_base: float
    train_after: float
    heldout_before: float
    heldout_base: float
    heldout_after: float


@dataclass(frozen=True, repr=False)
class InverseFit:
    """What joint forces say of a mechanism. `model`: the consistent one, which can be written.

    covariance: of the base parameters. filtering: cut-offs and why. notes: what was assumed.
    """

    base: tuple[BaseRow, ...]
    numbers: tuple[NumberRow, ...]
    errors: tuple[ForceError, ...]
    covariance: np.ndarray
    combinations: BaseParameters
    filtering: Filtering
    samples: int
    method: str
    lack: LackOfFit
    set_aside: float
    warnings: tuple[str, ...]
    start: Model
    model: Model
    notes: tuple[str, ...] = ()
    seconds: float = math.nan
    # Of efforts that are currents; empty where they are forces.
    gains: tuple[GainRow, ...] = ()

    def __str__(self) -> str:
        rows = [
            f"{r.name}\n    {r.start:>12.5g} -> {r.value:>12.6g}  +- {QUANTILE * r.std:<9.2g} "
            f"{r.unit}{'' if r.status == Status.IDENTIFIED else f' ({r.status})'}"
            for r in self.base
        ]
        rows += map(error_line, self.errors)
        return "\n".join([*rows, self.filtering.text, self.verdict, *self.notes])

    __repr__ = __str__

    @property
    def verdict(self) -> str:
        """What the residuals say, in a sentence."""
        return _verdict(self.lack, len(self.errors))

    def value(self, name: str) -> float:
        """A number of the consistent model, or else a base parameter by its whole name or the one
        that leads it; KeyError lists the names.
        """
        for row in self.numbers:
            if row.name == name:
                return row.value
        return self.base_row(name).value

    def base_row(self, name: str) -> BaseRow:
        """A base parameter, by its whole name or the number that leads it."""
        leads = [self.combinations.names[k] for k in self.combinations.independent]
        for row, lead in zip(self.base, leads, strict=True):
            if name in (row.name, lead):
                return row
        known = ", ".join([r.name for r in self.numbers] + leads)
        raise KeyError(f"{name!r}; known: {known}")

    def as_dict(self) -> dict[str, Any]:
        """Numbers for JSON."""
        return {
            "method": "inverse",
            "seconds": self.seconds,
            "samples": self.samples,
            "filter": self.filtering._asdict(),
            "base": [vars(r) for r in self.base],
            "numbers": [vars(r) for r in self.numbers],
            "gains": [vars(r) for r in self.gains],
            "errors": [vars(r) for r in self.errors],
            "covariance": self.covariance.tolist(),
            "intervals": self.method,
            "lack of fit": plain(self.lack) | {"text": self.verdict},
            "set aside": self.set_aside,
            "warnings": list(self.warnings),
            "notes": list(self.notes),
        }

    def as_json(self) -> dict[str, Any]:
        """`as_dict` with NaN and infinity as None, so that any JSON reader takes it."""
        return finite(self.as_dict())


def _verdict(lack: LackOfFit, channels: int) -> str:
    hangs = [c for c in lack.channels if c.hangs(channels)]
    if not hangs:
        return "What is left of the joint forces has no memory: nothing speaks against the model."
    worst = max(hangs, key=lambda c: abs(c.autocorrelation))
    return (
        f"What is left of {len(hangs)} of {channels} joint forces has a memory (correlation "
        f"{worst.autocorrelation:.2f} from one sample of {worst.channel} to the next): the model "
        f"lacks an effect there. Intervals are {lack.widened:.2g} times wider for it."
    )


def rms(r: np.ndarray, *, centred: bool = False) -> np.ndarray:
    """Root mean square [nv] of rows [n, nv], or their standard deviation."""
    r = r - r.mean(0) if centred else r
    return np.sqrt(np.mean(r * r, 0))


def worst_ratio(errors: Sequence[ForceError]) -> float:
    """Largest held-out error over that of training; NaN without."""
    ratios = [e.heldout_after / e.train_after for e in errors if e.train_after > 0]
    return max(ratios, default=math.nan)
