"""Where the residuals of each channel lie in a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Layout(NamedTuple):
    """Where the residuals of one channel lie in a row: n samples of `width` numbers from `first`.

    `given`: is its noise known, not estimated from the same samples?
    """

    channel: str
    first: int
    samples: int
    width: int
    given: bool = True


def layout_of(channels: Sequence[tuple[str, int, int, bool]]) -> tuple[Layout, ...]:
    """Layouts of channels (name, samples, width, noise given), one after the other in a row."""
    found, first = [], 0
    for name, samples, width, given in channels:
        found.append(Layout(name, first, samples, width, given))
        first += samples * width
    return tuple(found)
