"""Clocks of two recordings of one run: offset and drift of one against the other.

First the best of all lags by correlation, so that no local minimum is met; then least squares.
"""

from __future__ import annotations

import dataclasses
import difflib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftsim.errors import GraftsimWarning, LogError
from graftsim.recordings.channels import parse_name
from graftsim.recordings.clock_fit import ClockFit, fit_clock
from graftsim.recordings.correlation import MOST_POINTS, Peak, best_lag, on_grid
from graftsim.recordings.recording import Channel, Recording

ALIKE = 0.5
"""Least correlation of channels that one clock can be found by."""

AMBIGUOUS = 0.97
"""A second peak of this share of the best one may be the right one."""

COARSE = 2**13
"""Grid points of the first look at all pairs of channels."""

SHARE = 0.3
"""Of the shorter recording, which the other must cover."""

NAMESAKES = 0.05
"""Correlation that like names are worth."""

_MOTION = ("joint.q", "joint.qd", "joint.qdd")
_CAUSE = ("control", "joint.tau", "signal")


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


@dataclass(frozen=True)
class Alignment:
    """Time in the reference's clock = t + offset + drift (t - middle), t in the other's.

    offset: s, at `middle` (s, the other's clock); drift: s a second, 0 if it is not significant.
    Standard deviations are of least squares, widened by how far the residuals' correlation
    reaches. correlation: at the best lag. lagged: whether a command was compared with the motion
    that it causes, so that the offset holds the delay of the motion as well.
    """

    offset: float
    offset_std: float
    drift: float
    drift_std: float
    middle: float
    correlation: float
    pairs: tuple[Pair, ...]
    lagged: bool

    def __str__(self) -> str:
        by = ", ".join(p.other if p.same else f"{p.other} and {p.reference}" for p in self.pairs)
        drift = f", drift {1e6 * self.drift:.3g} +- {1e6 * self.drift_std:.2g} us/s"
        what = "; the offset holds the delay from command to motion" if self.lagged else ""
        return (
            f"offset {self.offset:.6g} +- {self.offset_std:.2g} s"
            f"{drift if self.drift else ', no drift'}, by {by} (correlation "
            f"{self.correlation:.3g}){what}"
        )

    def apply(self, recording: Recording) -> Recording:
        """The other recording on the reference's clock."""
        moved = {
            name: channel.replace(
                time=channel.time + self.offset + self.drift * (channel.time - self.middle)
            )
            for name, channel in recording.channels.items()
        }
        notes = (*recording.notes, f"clock aligned: {self}")
        return dataclasses.replace(recording, channels=moved, notes=notes)


def align_clocks(
    reference: Recording,
    other: Recording,
    channels: Sequence[tuple[str, str]] | None = None,
    *,
    drift: bool | None = None,
) -> Alignment:
    """Offset and drift of one recording's clock against another's, of the same run.

    channels: (channel of the reference, channel of the other) to compare. By default those that
        both have, else the command and the motion that are most alike: `control`, `joint.tau` or
        `signal` in one, `joint.q`, `joint.qd` or its derivative in the other.
    drift: also look for a drift; it is kept if it is three standard deviations or more. By default
        where one quantity is in both: the delay from command to motion varies with the motion.

    The lag is the best of all that leave 30 % of the shorter recording over the other, so a wrong
    start does not matter. Raises: LogError when no channels are alike, or none moves. Warns:
    GraftsimWarning when another lag fits nearly as well, as with periodic motions.
    """
    pairs = _candidates(reference, other, channels)
    looks = [(_look(reference, other, pair, COARSE), pair) for pair in pairs]
    looks = [(peak, pair) for peak, pair in looks if peak is not None]
    if not looks:
        raise LogError(
            f"clocks of {reference.name!r} and {other.name!r}: no channel that both have, and no "
            "command with a motion, moves in both; name two by channels=[(REFERENCE, OTHER)]."
        )
    peak, best = max(looks, key=lambda look: abs(look[0].correlation) + _namesakes(look[1]))
    if abs(peak.correlation) < ALIKE:
        raise LogError(
            f"clocks of {reference.name!r} and {other.name!r}: no channels move alike; the best, "
            f"{best.reference} and {best.other}, have a correlation of {peak.correlation:.2g}. "
            "Are they recordings of one run?"
        )
    chosen = tuple(p for k, p in looks if p.same and abs(k.correlation) >= ALIKE) or (best,)
    chosen = chosen if best.same else (best,)
    fine = _look(reference, other, best, MOST_POINTS) or peak
    _doubt(fine, best, reference, other)
    found = _fitted(reference, other, chosen, fine.lag, best.same if drift is None else drift)
    return Alignment(
        found.offset,
        found.offset_std,
        found.drift,
        found.drift_std,
        found.middle,
        fine.correlation,
        chosen,
        not best.same,
    )


def _candidates(a: Recording, b: Recording, given: Sequence[tuple[str, str]] | None) -> list[Pair]:
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
        if (_is(x, _CAUSE) and _is(y, _MOTION)) or (_is(x, _MOTION) and _is(y, _CAUSE))
        for k in _orders(x, y)
    ]


def _namesakes(pair: Pair) -> float:
    """A little in favour of channels of one joint, where all joints move alike."""
    x, y = parse_name(pair.reference).label, parse_name(pair.other).label
    return NAMESAKES * difflib.SequenceMatcher(None, x, y).ratio()


def _is(name: str, quantities: tuple[str, ...]) -> bool:
    return parse_name(name).quantity in quantities


def _orders(x: str, y: str) -> range:
    """Derivatives of the motion that a command may be like: q follows a position, qdd a torque."""
    motion = next((n for n in (x, y) if _is(n, _MOTION)), None)
    if x == y or motion is None or not (_is(x, _CAUSE) or _is(y, _CAUSE)):
        return range(1)
    return range(3 - _MOTION.index(parse_name(motion).quantity))


def _look(a: Recording, b: Recording, pair: Pair, points: int) -> Peak | None:
    """The best lag of a pair on a grid of so many points; None where one does not move."""
    x, y = a[pair.reference], b[pair.other]
    if not (np.ptp(x.values[:, 0]) and np.ptp(y.values[:, 0])):
        return None
    span = max(float(c.time[-1] - c.time[0]) for c in (x, y))
    step = max(x.interval, y.interval, span / points)
    if not np.isfinite(step) or step <= 0:
        return None
    on = [on_grid(c, 0, step, _order_of(pair, c), _is(c.name, ("control",))) for c in (x, y)]
    return best_lag(on[0], on[1], SHARE)


def _order_of(pair: Pair, channel: Channel) -> int:
    return pair.order if not pair.same and _is(channel.name, _MOTION) else 0


def _doubt(peak: Peak, pair: Pair, a: Recording, b: Recording) -> None:
    high, lag = peak.rival
    if high > AMBIGUOUS * abs(peak.correlation):
        warnings.warn(
            f"clocks of {a.name!r} and {b.name!r}: an offset of {lag:.4g} s fits {pair.reference} "
            f"and {pair.other} nearly as well as {peak.lag:.4g} s (correlation {high:.3g} and "
            f"{abs(peak.correlation):.3g}): the motion is periodic. A recording with one motion "
            "that does not come again tells them apart.",
            GraftsimWarning,
            stacklevel=3,
        )


def _fitted(
    a: Recording, b: Recording, pairs: tuple[Pair, ...], lag: float, drift: bool
) -> ClockFit:
    """Least squares over the pairs; without drift where it is not significant."""
    signals = []
    for pair in pairs:
        x, y = a[pair.reference], b[pair.other]
        order = _order_of(pair, x)
        if order or _order_of(pair, y):
            step = max(x.interval, y.interval)
            x, y = (_derived(c, step, _order_of(pair, c)) for c in (x, y))
        signals.append((x, y))
    found = fit_clock(signals, lag, drift)
    if drift and abs(found.drift) < 3 * found.drift_std:
        found = fit_clock(signals, lag, False)
    return found


def _derived(channel: Channel, step: float, order: int) -> Channel:
    """A channel's derivative, on a grid."""
    on = on_grid(channel, 0, step, order, held=False)
    time = on.start + step * np.arange(len(on.values), dtype=np.float64)
    return Channel(channel.name, time[on.valid], on.values[on.valid], channel.unit)
