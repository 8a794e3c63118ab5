"""Offset and drift of a clock by least squares, from a lag that is nearly right."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graftsim.errors import LogError
from graftsim.recordings.correlation import covered
from graftsim.recordings.recording import Channel

Floats = NDArray[np.float64]
ITERATIONS = 30


class ClockFit(NamedTuple):
    """Offset (s) at `middle` (s of the second clock), drift (s/s), and standard deviations."""

    offset: float
    offset_std: float
    drift: float
    drift_std: float
    middle: float


def fit_clock(pairs: Sequence[tuple[Channel, Channel]], lag: float, drift: bool) -> ClockFit:
    """Gauss-Newton on y(t) = g x(t + offset + drift (t - middle)) + c, a gain and bias each pair.

    pairs: (x, y). The standard deviations are those of the linearised problem times the square
    root of the residuals' integrated autocorrelation time, since neighbouring residuals are alike.

    Raises: LogError when too few samples of y lie over x.
    """
    start = max(max(x.time[0] - lag, y.time[0]) for x, y in pairs)
    end = min(min(x.time[-1] - lag, y.time[-1]) for x, y in pairs)
    middle = (start + end) / 2
    guess = np.array([lag, 0.0])
    covariance = np.zeros((2, 2))
    for _ in range(ITERATIONS):
        J, r, blocks = _linearised(pairs, guess, middle)
        if len(r) < 8:
            raise LogError(
                f"clocks: {len(r)} samples of {pairs[0][1].name} lie over {pairs[0][0].name}; at "
                "least 8 are needed."
            )
        J = J if drift else J[:, :1]
        step, *_ = np.linalg.lstsq(J, r, rcond=None)
        covariance[: len(step), : len(step)] = _covariance(J, r - J @ step, blocks)
        guess[: len(step)] += step
        if np.abs(step[0]) < 1e-12 + 1e-4 * np.sqrt(covariance[0, 0]):
            break
    deviations = np.sqrt(np.diag(covariance))
    return ClockFit(
        float(guess[0]), float(deviations[0]), float(guess[1]), float(deviations[1]), middle
    )


def _linearised(
    pairs: Sequence[tuple[Channel, Channel]], guess: Floats, middle: float
) -> tuple[Floats, Floats, list[int]]:
    """Derivatives by offset and drift [n, 2], residuals [n], both without gain and bias; lengths.

    Gain and bias of each pair are solved for and projected out (Golub and Pereyra 1973, in the
    form of Kaufman 1975). Pairs weigh as their residuals' spread tells.
    """
    rows, rests, lengths = [], [], []
    for x, y in pairs:
        mapped = y.time + guess[0] + guess[1] * (y.time - middle)
        inside = (mapped >= x.time[0]) & (mapped <= x.time[-1]) & covered(x, mapped)
        if inside.sum() < 4:
            continue
        at, values = mapped[inside], y.values[inside, 0]
        model = np.interp(at, x.time, x.values[:, 0])
        h = x.interval
        slope = (
            np.interp(at + h, x.time, x.values[:, 0]) - np.interp(at - h, x.time, x.values[:, 0])
        ) / (2 * h)
        basis, _ = np.linalg.qr(np.stack([model, np.ones_like(model)], axis=1))
        gain = float(np.dot(model - model.mean(), values) / max(np.var(model) * len(model), 1e-300))
        rest = values - basis @ (basis.T @ values)
        J = gain * np.stack([slope, slope * (y.time[inside] - middle)], axis=1)
        J -= basis @ (basis.T @ J)
        spread = float(np.std(rest)) or 1e-12
        rows.append(J / spread)
        rests.append(rest / spread)
        lengths.append(len(rest))
    if not rows:
        return np.zeros((0, 2)), np.zeros(0), []
    return np.concatenate(rows), np.concatenate(rests), lengths


def _covariance(J: Floats, r: Floats, lengths: list[int]) -> Floats:
    edges = np.cumsum([0, *lengths])
    stretch = max(reach(r[a:b]) for a, b in pairwise(edges))
    variance = float(r @ r) / max(len(r) - J.shape[1], 1)
    return variance * stretch * np.linalg.pinv(J.T @ J)


def reach(r: Floats) -> float:
    """Integrated autocorrelation time of residuals, in samples: 1 where they are white."""
    r = r - r.mean()
    size = 1 << (2 * len(r) - 1).bit_length()
    power = np.abs(np.fft.rfft(r, size)) ** 2
    c = np.fft.irfft(power, size)[: len(r)]
    if c[0] <= 0:
        return 1.0
    rho = c / c[0]
    negative = np.flatnonzero(rho <= 0)
    end = int(negative[0]) if negative.size else len(rho)
    return max(1.0, 1.0 + 2.0 * float(rho[1:end].sum()))
