"""Channels of two recordings that may be compared: one quantity in both, or cause and effect."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftsim.recordings.channels import parse_name
from graftsim.recordings.correlation import Peak, best_lag, on_grid
from graftsim.recordings.recording import Channel, Recording

SHARE = 0.3
"""Of the shorter recording, which the other must cover."""

NAMESAKES = 0.05
"""Correlation that like names are worth."""

MOTION = ("joint.q", "joint.qd", "joint.qdd")
CAUSE = ("control", "joint.tau", "signal")


@dataclass(frozen=True)
class Pair:
    """Channels that move alike: of the reference, of the other, and whose derivative.

    order: of the derivative of the motion that follows the command; 0 for the same quantity.
    """

    reference: str
    other: str
    order: int = 0

    @property
    def same(self) -> bool:
        """Whether it is one quantity that both recorded."""
        return self.reference == self.other


def candidates(a: Recording, b: Recording, given: Sequence[tuple[str, str]] | None) -> list[Pair]:
    """Pairs of channels that may be compared."""
    if given is not None:
        pairs = [(a[x].name, b[y].name) for x, y in given]
        return [Pair(x, y, k) for x, y in pairs for k in _orders(x, y)]
    both = [Pair(name, name) for name in a.names if name in b]
    if both:
        return both
    return [
        Pair(x, y, k)
        for x in a.names
        for y in b.names
        if (is_of(x, CAUSE) and is_of(y, MOTION)) or (is_of(x, MOTION) and is_of(y, CAUSE))
        for k in _orders(x, y)
    ]


def namesakes(pair: Pair) -> float:
    """A little in favour of channels of one joint, where all joints move alike."""
    x, y = parse_name(pair.reference).label, parse_name(pair.other).label
    return NAMESAKES * difflib.SequenceMatcher(None, x, y).ratio()


def is_of(name: str, quantities: tuple[str, ...]) -> bool:
    return parse_name(name).quantity in quantities


def _orders(x: str, y: str) -> range:
    """Derivatives of the motion that a command may be like: q follows a position, qdd a torque."""
    motion = next((n for n in (x, y) if is_of(n, MOTION)), None)
    if x == y or motion is None or not (is_of(x, CAUSE) or is_of(y, CAUSE)):
        return range(1)
    return range(3 - MOTION.index(parse_name(motion).quantity))


def look(a: Recording, b: Recording, pair: Pair, points: int) -> Peak | None:
    """The best lag of a pair on a grid of so many points; None where one does not move."""
    x, y = a[pair.reference], b[pair.other]
    if not (np.ptp(x.values[:, 0]) and np.ptp(y.values[:, 0])):
        return None
    span = max(float(c.time[-1] - c.time[0]) for c in (x, y))
    step = max(x.interval, y.interval, span / points)
    if not np.isfinite(step) or step <= 0:
        return None
    on = [on_grid(c, 0, step, order_of(pair, c), is_of(c.name, ("control",))) for c in (x, y)]
    return best_lag(on[0], on[1], SHARE)


def order_of(pair: Pair, channel: Channel) -> int:
    return pair.order if not pair.same and is_of(channel.name, MOTION) else 0
