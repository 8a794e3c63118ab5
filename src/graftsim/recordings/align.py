"""Clocks of two recordings of one run: offset and drift of one against the other.

First the best of all lags by correlation, so that no local minimum is met; then least squares, of
one quantity that both recorded, or of the motion that a servo makes of its commands.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graftsim.errors import GraftsimWarning, LogError
from graftsim.recordings.alike import (
    CAUSE,
    MOTION,
    Pair,
    candidates,
    is_of,
    look,
    namesakes,
    order_of,
)
from graftsim.recordings.clock_fit import ClockFit, fit_clock
from graftsim.recordings.correlation import MOST_POINTS, Peak, on_grid
from graftsim.recordings.recording import Channel, Recording
from graftsim.recordings.response_fit import Response, fit_response

ALIKE = 0.5
"""Least correlation of channels that one clock can be found by."""

AMBIGUOUS = 0.97
"""A second peak of this share of the best one may be the right one."""

COARSE = 2**13
"""Grid points of the first look at all pairs of channels."""

FORM = 0.15
"""Share of a servo's lag by which its form may put the offset wrong. Eight recordings of Unitree
robots, whose offset is within 8 ms of zero, are off by up to 9 ms of 67, and 25 of 150."""

NEAR = 0.5
"""s: lags of joints of one robot differ by less, and an offset is known better."""


@dataclass(frozen=True)
class Alignment:
    """Time in the reference's clock = t + offset + drift (t - middle), t in the other's.

    offset: s, at `middle` (s, the other's clock); drift: s a second, 0 if it is not significant.
    Standard deviations are of least squares, widened by how far the residuals' correlation
    reaches. correlation: at the best lag. servo: natural frequency (rad/s) and damping ratio of the
    servo through which commands were compared with the motion that they cause. lagged: whether
    causes were compared with effects at all, so that a pure delay between them is in the offset.
    epoch: of the reference.
    """

    offset: float
    offset_std: float
    drift: float
    drift_std: float
    middle: float
    correlation: float
    pairs: tuple[Pair, ...]
    lagged: bool
    servo: tuple[float, float] | None = None
    epoch: float = 0.0

    def __str__(self) -> str:
        named = [p.other if p.same else f"{p.other} and {p.reference}" for p in self.pairs]
        by = ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")
        drift = f", drift {1e6 * self.drift:.3g} +- {1e6 * self.drift_std:.2g} us/s"
        what = "; a pure delay from command to motion is in the offset" if self.lagged else ""
        if self.servo:
            rate, damping = self.servo
            what = f" through a servo of {rate:.3g} rad/s, damping {damping:.2g}{what}"
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
        return dataclasses.replace(recording, channels=moved, notes=notes, epoch=self.epoch)


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

    A command is compared with the motion through a servo (an oscillator of unit gain), so that its
    lag does not count as offset; how far that form may be wrong is in the deviation.

    The lag is the best of all that leave 30 % of the shorter recording over the other, so a wrong
    start does not matter. Raises: LogError when no channels are alike, or none moves. Warns:
    GraftsimWarning when another lag fits nearly as well, as with periodic motions.
    """
    pairs = candidates(reference, other, channels)
    looks = [(look(reference, other, pair, COARSE), pair) for pair in pairs]
    looks = [(peak, pair) for peak, pair in looks if peak is not None]
    if not looks:
        raise LogError(
            f"clocks of {reference.name!r} and {other.name!r}: no channel that both have, and no "
            "command with a motion, moves in both; name two by channels=[(REFERENCE, OTHER)]."
        )
    peak, best = max(looks, key=lambda one: abs(one[0].correlation) + namesakes(one[1]))
    if abs(peak.correlation) < ALIKE:
        raise LogError(
            f"clocks of {reference.name!r} and {other.name!r}: no channels move alike; the best, "
            f"{best.reference} and {best.other}, have a correlation of {peak.correlation:.2g}. "
            "Are they recordings of one run?"
        )
    fine = look(reference, other, best, MOST_POINTS) or peak
    _doubt(fine, best, reference, other)
    if not best.same and best.order == 0 and not drift:
        found = _through_servos(reference, other, looks, best, fine)
        if found is not None:
            return dataclasses.replace(found, epoch=reference.epoch)
    alike = (p for k, p in looks if p.same and abs(k.correlation) >= ALIKE)
    pairs = tuple(alike) if best.same else (best,)
    fit = _fitted(reference, other, pairs, fine.lag, best.same if drift is None else drift)
    if not best.same:
        # A sample of a cause stands for the interval before it, about it or after it.
        late = max(reference[best.reference].interval, other[best.other].interval) / 2
        fit = fit._replace(offset_std=float(np.hypot(fit.offset_std, late)))
    return Alignment(*fit, fine.correlation, pairs, not best.same, epoch=reference.epoch)


def _through_servos(
    a: Recording, b: Recording, looks: list[tuple[Peak, Pair]], best: Pair, peak: Peak
) -> Alignment | None:
    """The offset by each command with the motion most like it, and their weighted mean.

    Its deviation is that of the mean, or from the spread of the joints' offsets if that is more,
    and a share of the servos' lag for their form.
    """
    by_command: dict[str, tuple[float, Peak, Pair]] = {}
    for found_at, pair in looks:
        score = abs(found_at.correlation) + namesakes(pair)
        cause = pair.reference if is_of(pair.reference, CAUSE) else pair.other
        near = abs(found_at.lag - peak.lag) < NEAR and abs(found_at.correlation) >= ALIKE
        if pair.order == 0 and near and score > by_command.get(cause, (0.0,))[0]:
            by_command[cause] = score, found_at, pair
    found: list[tuple[Response, Pair, float]] = []
    for _, found_at, pair in by_command.values():
        forward = is_of(pair.reference, MOTION)  # the motion's clock is the reference
        command, motion = (b[pair.other], a[pair.reference]) if forward else (
            a[pair.reference], b[pair.other]
        )  # fmt: skip
        response = fit_response(command, motion, found_at.lag if forward else -found_at.lag)
        if response is not None and 0 < response.offset_std < NEAR:
            found.append((response, pair, 1.0 if forward else -1.0))
    if not found:
        return None
    offsets = np.array([sign * r.offset for r, _, sign in found])
    weights = np.array([r.offset_std for r, _, _ in found]) ** -2.0
    mean = float(weights @ offsets / weights.sum())
    spread = float(weights @ (offsets - mean) ** 2 / weights.sum()) / max(len(found) - 1, 1)
    lag = float(weights @ [2 * r.damping / r.rate for r, _, _ in found] / weights.sum())
    std = float(np.hypot(max(float(weights.sum()) ** -0.5, spread**0.5), FORM * lag))
    sharpest = max(found, key=lambda each: each[1] == best)[0]
    pairs = tuple(pair for _, pair, _ in found)
    return Alignment(
        mean, std, 0.0, 0.0, 0.0, peak.correlation, pairs, True, (sharpest.rate, sharpest.damping)
    )


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
        order = order_of(pair, x)
        if order or order_of(pair, y):
            step = max(x.interval, y.interval)
            x, y = (_derived(c, step, order_of(pair, c)) for c in (x, y))
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
