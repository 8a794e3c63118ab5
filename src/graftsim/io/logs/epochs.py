"""Clocks that count from 1970 become clocks that count from the log's start, to a whole second.

At 1.7e9 s a float64 tells 0.24 us apart, so intervals and steps taken from such numbers are off.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from graftsim.io.logs.clean import Samples

EARLIEST, LATEST = 1e9, 4.2e9
"""Seconds since 1970 of the years 2001 and 2103."""

LONGEST = 1e7
"""s. What lasts longer is no log of a machine."""

TICK = 1e-6
"""s. Stamps are rounded to it, which undoes the rounding of float64."""


def unit_since_1970(stamp: float) -> str | None:
    """The unit, finer than s, in which a stamp counts from 1970; None if it does not."""
    units = {"ms": 1e3, "us": 1e6, "ns": 1e9}
    return next((u for u, n in units.items() if EARLIEST * n <= stamp <= LATEST * n), None)


def since_epoch(
    channels: Sequence[Samples], epoch: float = 0.0
) -> tuple[list[Samples], float, list[str]]:
    """Channels on a clock that starts near 0 if theirs counts from 1970; its epoch; a note.

    epoch: what was already taken off (s).
    """
    start = min(float(s.time[0]) for s in channels)
    end = max(float(s.time[-1]) for s in channels)
    if start >= EARLIEST and end <= LATEST and end - start < LONGEST:
        whole = float(math.floor(start))
        channels = [dataclasses.replace(s, time=_rounded(s.time - whole)) for s in channels]
        epoch += whole
    if not epoch:
        return list(channels), epoch, []
    day = datetime.datetime.fromtimestamp(epoch, datetime.UTC)
    note = f"time 0 is {epoch:.0f} s of the log's clock"
    if EARLIEST <= epoch <= LATEST:
        note += f", {day:%Y-%m-%d %H:%M:%S} UTC"
    return list(channels), epoch, [note]


def _rounded(time: np.ndarray) -> np.ndarray:
    ticked = np.round(time / TICK) * TICK
    return ticked if len(time) < 2 or np.diff(ticked).min() > 0 else time
