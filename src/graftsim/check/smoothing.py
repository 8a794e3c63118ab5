"""Velocities and accelerations of a recorded motion at some instants, smoothed alike.

Noise of an acceleration flattens a regression on it, so the smoothing is as long as the motion
allows: a share of its own period, over which a cubic is still near.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from graftsim.recordings.filters import SavitzkyGolay, local_fits
from graftsim.recordings.recording import Channel

# Instants of a recording that are looked at, at most.
INSTANTS = 1000
# Windows of the cubics: a share of the motion's period, between two lengths (s), and no fewer
# sample intervals than INTERVALS.
SHARE, SHORTEST, LONGEST, INTERVALS = 0.15, 0.04, 0.4, 9
# Of more samples in a window, neighbours are averaged first: a cubic sees no difference.
ENOUGH = 40


def smoothing(positions: list[Channel]) -> float:
    """Window (s) for these joints together: a share of the shortest period among them.

    The period of a joint is 2 pi times the spread of its position over that of its velocity.
    """
    periods = []
    for channel in positions:
        stride = max(int(SHORTEST / channel.interval), 1)
        t, q = channel.time[::stride], channel.values[::stride, 0]
        if len(t) > 8 and np.ptp(q) > 0:
            periods.append(2 * np.pi * np.std(q) / np.sqrt(np.mean((np.diff(q) / np.diff(t)) ** 2)))
    window = float(np.clip(SHARE * min(periods, default=0.0), SHORTEST, LONGEST))
    return max(window, INTERVALS * max(c.interval for c in positions))


def instants(channel: Channel, window: float) -> Float[np.ndarray, " n"]:
    """Sample times away from gaps and ends, at most `INSTANTS`."""
    kept = []
    for piece in channel.segments():
        t = channel.time[piece]
        kept.append(t[(t >= t[0] + window / 2) & (t <= t[-1] - window / 2)])
    time = np.concatenate(kept)
    if len(time) > INSTANTS:
        time = time[np.linspace(0, len(time) - 1, INSTANTS).round().astype(int)]
    return time


def derivatives(
    position: Channel, speed: Channel | None, at: Float[np.ndarray, " n"], window: float
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Position, velocity and acceleration at instants.

    The speed's channel is used where it is less noisy than the position's derivative: of a cubic
    fitted to n samples with deviation s over a window w, the second derivative has a variance of
    720 s^2 / (n w^4) and the first one of 75 s^2 / (n w^2).
    """
    q, qd, half = smooth_at(position, at, window).T[:3]
    if speed is not None and speed.width == 1:
        own = _noise(position) ** 2 * position.interval * 720 / window**2
        if _noise(speed) ** 2 * speed.interval * 75 < own:
            v, a = smooth_at(speed, at, window).T[:2]
            return q, v, a
    return q, qd, 2 * half


def smooth_at(
    channel: Channel, at: Float[np.ndarray, " n"], window: float
) -> Float[np.ndarray, "n 4"]:
    """Of the first column: value, rate, half the second and a sixth of the third derivative.

    Over a gap, and in stretches too short for the window, values are interpolated.
    """
    method = SavitzkyGolay(max(window, INTERVALS * channel.interval))
    out = np.zeros((len(at), 4))
    out[:, 0] = np.interp(at, channel.time, channel.values[:, 0])
    for piece in channel.segments():
        t, x = _thinned(channel.time[piece], channel.values[piece, :1], method.window_s)
        inside = (at >= t[0]) & (at <= t[-1])
        if len(t) > INTERVALS and inside.any():
            fits = local_fits(t, x, at[inside], method)
            if fits is not None:
                out[inside] = fits[..., 0]
    return out


def _thinned(
    t: Float[np.ndarray, " n"], x: Float[np.ndarray, "n 1"], window: float
) -> tuple[Float[np.ndarray, " m"], Float[np.ndarray, "m 1"]]:
    """Means of neighbours, so that a window holds about `ENOUGH`; the ends stay."""
    many = int(len(t) * window / max(t[-1] - t[0], window) / ENOUGH)
    if many < 2:
        return t, x
    edges = np.arange(0, len(t), many)
    counts = np.diff(np.append(edges, len(t)))
    return np.add.reduceat(t, edges) / counts, np.add.reduceat(x, edges) / counts[:, None]


def _noise(channel: Channel) -> float:
    """White noise by the size of third differences."""
    third = np.diff(channel.values[:, 0], n=3)
    return float(np.sqrt(np.mean(third**2) / 20)) if len(third) else 0.0
