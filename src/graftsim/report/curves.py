"""Curves made fit for a page: windows laid on one time axis, and long ones thinned.

Thinning keeps the lowest and the highest sample of each stretch, so no peak is lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graftsim.identify.results.result import Trace
from graftsim.spatial.components import POSE, VECTOR

POINTS = 2000
"""Most points a curve has on the page."""
MAX_PLOTS = 24
MAX_WINDOWS = 40
MIN_POINTS = 24


@dataclass(frozen=True)
class Stretch:
    """One window of a plot: times (s) as drawn, and the three curves of one component [n]."""

    window: int
    heldout: bool
    time: np.ndarray
    measured: np.ndarray
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True)
class Plot:
    """One component of one channel of one recording. `laid_out`: windows were set side by side."""

    recording: str
    channel: str
    component: str
    unit: str
    stretches: tuple[Stretch, ...]
    left_out: int
    laid_out: bool

    @property
    def misfit(self) -> float:
        """RMS of measured minus simulated over the spread of the measured; 0 if there is none."""
        measured = np.concatenate([s.measured for s in self.stretches])
        residual = measured - np.concatenate([s.after for s in self.stretches])
        good = np.isfinite(residual)
        if not good.any():
            return 0.0
        spread = float(np.std(measured[good])) or 1.0
        return float(np.sqrt(np.mean(residual[good] ** 2))) / spread


def thin(
    time: np.ndarray, values: np.ndarray, limit: int = POINTS
) -> tuple[np.ndarray, np.ndarray]:
    """About `limit` samples of a curve: of each stretch its lowest and highest, and the ends.

    A stretch without a finite sample keeps one, so that the gap stays a gap.
    """
    n = len(values)
    if n <= limit:
        return time, values
    buckets = max(1, (limit - 2) // 2)
    width = -(-n // buckets)
    padded = np.full(buckets * width, np.nan)
    padded[:n] = values
    table = padded.reshape(buckets, width)
    finite = np.isfinite(table)
    low = np.where(finite, table, np.inf).argmin(1)
    high = np.where(finite, table, -np.inf).argmax(1)
    first = np.arange(buckets) * width
    keep = np.concatenate([[0, n - 1], first + low, first + high])
    keep = np.unique(keep[keep < n])
    return time[keep], values[keep]


def plots(traces: tuple[Trace, ...]) -> list[Plot]:
    """One plot for each recording, channel and component, windows in the order of time."""
    groups: dict[tuple[str, str], list[Trace]] = {}
    for trace in traces:
        groups.setdefault((trace.recording, trace.channel), []).append(trace)
    found = []
    for (recording, channel), windows in groups.items():
        windows = sorted((w for w in windows if len(w.time)), key=lambda w: (w.time[0], w.window))
        if not windows:
            continue
        chosen = _chosen(windows)
        times, laid_out = _times(chosen)
        width = _columns(chosen[0].measured).shape[1]
        for i, component in enumerate(_components(width)):
            stretches = tuple(
                Stretch(w.window, w.heldout, t, *(_column(x, i, len(t)) for x in _three(w)))
                for w, t in zip(chosen, times, strict=True)
            )
            left_out = len(windows) - len(chosen)
            unit = chosen[0].unit
            found.append(Plot(recording, channel, component, unit, stretches, left_out, laid_out))
    return found


def most_telling(all_plots: list[Plot], limit: int = MAX_PLOTS) -> list[Plot]:
    """The plots with the largest misfit, in their given order, when there are too many."""
    if len(all_plots) <= limit:
        return all_plots
    worst = sorted(range(len(all_plots)), key=lambda i: -all_plots[i].misfit)[:limit]
    return [all_plots[i] for i in sorted(worst)]


def share(stretch: Stretch, total: int) -> int:
    """Points that one window of a plot may have, when its curve has `total` samples."""
    if total <= POINTS:
        return len(stretch.time)
    return max(MIN_POINTS, int(POINTS * len(stretch.time) / total))


def _chosen(windows: list[Trace]) -> list[Trace]:
    """At most MAX_WINDOWS: half of the places go to held-out windows if there are so many."""
    if len(windows) <= MAX_WINDOWS:
        return windows
    held = [w for w in windows if w.heldout]
    fitted = [w for w in windows if not w.heldout]
    places = max(MAX_WINDOWS // 2, MAX_WINDOWS - len(fitted))
    held = held[:places]
    kept = {id(w) for w in held + fitted[: MAX_WINDOWS - len(held)]}
    return [w for w in windows if id(w) in kept]


def _times(windows: list[Trace]) -> tuple[list[np.ndarray], bool]:
    """Times to draw at; windows whose clocks overlap are set side by side."""
    times = [np.asarray(w.time, float) for w in windows]
    step = max((float(np.median(np.diff(t))) for t in times if len(t) > 1), default=1e-3)
    if all(b[0] >= a[-1] - 0.5 * step for a, b in pairwise(times)):
        return times, False
    moved, now = [], 0.0
    gap = 0.03 * sum(float(t[-1] - t[0]) for t in times) / len(times) + step
    for t in times:
        moved.append(t - t[0] + now)
        now = float(moved[-1][-1]) + gap
    return moved, True


def _three(w: Trace) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return w.measured, w.before, w.after


def _columns(x: np.ndarray) -> np.ndarray:
    x = np.asarray(x, float)
    return x[:, None] if x.ndim == 1 else x


def _column(x: np.ndarray, i: int, n: int) -> np.ndarray:
    """Component i with n samples; NaN where a curve is shorter or lacks it."""
    columns, out = _columns(x), np.full(n, np.nan)
    if i < columns.shape[1]:
        out[: len(columns)] = columns[:n, i]
    return out


def _components(width: int) -> tuple[str, ...]:
    named = {1: ("",), len(VECTOR): VECTOR, len(POSE): POSE}
    return named.get(width) or tuple(str(i + 1) for i in range(width))
