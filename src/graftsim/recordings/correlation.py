"""Correlation of two signals on clocks of their own, over every lag that leaves enough of both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graftsim.recordings.recording import GAP_FACTOR, Channel

Floats = NDArray[np.float64]
MOST_POINTS = 2**18
"""Of a grid; a finer one is coarsened."""


class Signal(NamedTuple):
    """A signal on an even grid: start (s), step (s), values [n] and where they are valid [n]."""

    start: float
    step: float
    values: Floats
    valid: NDArray[np.bool_]


class Peak(NamedTuple):
    """A lag (s) that is added to the second signal's clock, and Pearson's correlation there.

    rival: correlation and lag of the best peak that is another one, (0, nan) without.
    """

    lag: float
    correlation: float
    rival: tuple[float, float]


def on_grid(channel: Channel, column: int, step: float, order: int, held: bool) -> Signal:
    """One column of a channel on a grid of its own; order: of the derivative.

    Derivatives are those of a parabola over seven grid points.
    """
    time, values = channel.time, channel.values[:, column]
    count = int((time[-1] - time[0]) / step) + 1
    grid = time[0] + step * np.arange(count)
    valid = covered(channel, grid)
    # A grid point that rounding puts just before its sample belongs to it.
    last = np.searchsorted(time, grid + 1e-6 * step, side="right") - 1
    on = values[last] if held else np.interp(grid, time, values)
    for _ in range(order):
        on = _slope(on, step)
    return Signal(float(time[0]), step, on, valid)


def covered(channel: Channel, times: Floats) -> NDArray[np.bool_]:
    """Which times within a channel's own lie in none of its gaps."""
    time = channel.time
    after = np.clip(np.searchsorted(time, times, side="right"), 1, len(time) - 1)
    return time[after] - time[after - 1] <= GAP_FACTOR * channel.interval


def _slope(values: Floats, step: float) -> Floats:
    weights = np.arange(-3, 4) / (28 * step)
    padded = np.pad(values, 3, mode="edge")
    return np.convolve(padded, weights[::-1], mode="valid")


def best_lag(a: Signal, b: Signal, share: float) -> Peak:
    """The lag at which the correlation of a(t) and b(t - lag) is greatest in size.

    share: of the shorter signal that must lie over the other. Pearson's correlation over what
    overlaps, by fast Fourier transforms of values, squares and masks (Padfield 2012, "Masked
    object registration in the Fourier domain", eq. 2). Its peak is found to a part of a step by a
    parabola.
    """
    n = len(a.values) + len(b.values) - 1
    size = 1 << (n - 1).bit_length()
    x, m = _centred(a)
    y, k = _centred(b)
    X, X2, M = (np.fft.rfft(v, size) for v in (x, x * x, m))
    Y, Y2, K = (np.fft.rfft(v, size) for v in (y, y * y, k))

    def over(P: Any, Q: Any) -> Floats:
        # Entry i: sum over t of p(t + i - (len(b) - 1)) q(t).
        found = np.fft.irfft(P * np.conj(Q), size)
        return np.concatenate([found[size - len(y) + 1 :], found[: len(x)]])

    count = over(M, K)
    enough = count > max(share * min(m.sum(), k.sum()), 8)
    count = np.maximum(count, 1.0)
    sx, sy = over(X, K), over(M, Y)
    spread = (over(X2, K) - sx**2 / count) * (over(M, Y2) - sy**2 / count)
    floor = 1e-9 * float(x @ x) * float(y @ y) + np.finfo(float).tiny
    r = (over(X, Y) - sx * sy / count) / np.sqrt(np.maximum(spread, floor))
    r = np.where(enough & (spread > floor), r, 0.0)
    at = int(np.abs(r).argmax())
    sign = np.sign(r[at]) or 1.0
    first = a.start - b.start - (len(y) - 1) * a.step
    return Peak(
        first + _summit(sign * r, at) * a.step, float(r[at]), _rival(sign * r, at, first, a)
    )


def _centred(s: Signal) -> tuple[Floats, Floats]:
    mask = s.valid.astype(np.float64)
    mean = float(s.values @ mask) / max(float(mask.sum()), 1.0)
    return (s.values - mean) * mask, mask


def _summit(r: Floats, at: int) -> float:
    """The place of a peak between samples, by a parabola through three."""
    if not 0 < at < len(r) - 1:
        return float(at)
    left, mid, right = r[at - 1 : at + 2]
    bend = left - 2 * mid + right
    return at + (0.5 * float((left - right) / bend) if bend < 0 else 0.0)


def _rival(r: Floats, at: int, first: float, grid: Signal) -> tuple[float, float]:
    """The highest peak beyond the valleys on both sides of the best one."""
    low = at
    while low > 0 and r[low - 1] < r[low]:
        low -= 1
    high = at
    while high < len(r) - 1 and r[high + 1] < r[high]:
        high += 1
    rest = r.copy()
    rest[low : high + 1] = 0.0
    other = int(rest.argmax())
    if rest[other] <= 0:
        return 0.0, float("nan")
    return float(rest[other]), first + other * grid.step
