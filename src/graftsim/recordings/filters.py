"""Smoothing and differentiation of samples on any clock. Strategies are data; functions work.

References: Savitzky and Golay, Analytical Chemistry 36 (1964) 1627, in the form that fits a
polynomial to the samples at their own times, so that a jittered clock does no harm; Butterworth,
forward and backward (Gustafsson, IEEE Trans. Signal Processing 44 (1996) 988).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from graftsim.errors import LogError

Floats = NDArray[np.float64]
_CHUNK = 4096


@dataclass(frozen=True)
class SavitzkyGolay:
    """A polynomial of `order` fitted to the samples within `window_s` (s) around each sample.

    Near an end the window is one-sided. Raises: LogError for a window or order that cannot be.
    """

    window_s: float
    order: int = 3

    def __post_init__(self) -> None:
        if not self.window_s > 0 or self.order < 1:
            raise LogError(f"{self}: window_s must be positive and order at least 1.")


@dataclass(frozen=True)
class Butterworth:
    """Low pass with -6 dB at `cutoff_hz` after both passes, without phase shift.

    Needs an even clock: a jittered one is interpolated to its mean rate first.
    Raises: LogError for a cut-off or order that cannot be.
    """

    cutoff_hz: float
    order: int = 2

    def __post_init__(self) -> None:
        if not self.cutoff_hz > 0 or self.order < 1:
            raise LogError(f"{self}: cutoff_hz must be positive and order at least 1.")


Filter: TypeAlias = SavitzkyGolay | Butterworth


def filtered(time: Floats, values: Floats, method: Filter, derivative: int) -> Floats | None:
    """Values [n, d] smoothed (`derivative` 0) or their time derivative (1), at the same times.

    time: [n] s, increasing, without gaps. None: too few samples for this filter.

    Raises: LogError when the filter does not suit the sample rate.
    """
    if isinstance(method, SavitzkyGolay):
        return _local_polynomial(time, values, method, derivative)
    return _butterworth(time, values, method, derivative)


def local_fits(time: Floats, values: Floats, at: Floats, method: SavitzkyGolay) -> Floats | None:
    """Polynomials through the samples within half a window of each instant `at` [m].

    time: [n] s, increasing, without gaps; values: [n, d]. Where samples are sparse (an end, a lost
    sample) as many neighbours are taken as are needed.

    Returns: coefficients [m, order + 1, d] of powers of seconds from the instant: value, rate, half
    the second derivative ...; None for too few samples.

    Raises: LogError when the window holds too few samples.
    """
    n, terms = len(time), method.order + 1
    if n < terms:
        return None
    half = method.window_s / 2
    # A hair wider, so that rounding does not decide whether the outermost samples count.
    reach = half * (1 + 1e-9)
    first = np.searchsorted(time, at - reach)
    last = np.searchsorted(time, at + reach, side="right")
    if np.median(last - first) < min(terms + 1, n):
        raise LogError(
            f"{method}: the window holds {int(np.median(last - first))} samples at a rate of "
            f"{1 / np.median(np.diff(time)):.4g} Hz; a polynomial of order {method.order} needs "
            f"{terms + 1}. Use a longer window or a lower order."
        )
    first = np.clip(np.minimum(first, last - terms - 1), 0, max(n - terms - 1, 0))
    last = np.clip(np.maximum(last, first + terms + 1), 0, n)
    result = np.empty((len(at), terms, values.shape[1]))
    for start in range(0, len(at), _CHUNK):
        rows = slice(start, start + _CHUNK)
        centre, lo, hi = at[rows], first[rows], last[rows]
        k = lo[:, None] + np.arange((hi - lo).max())
        weight = (k < hi[:, None]).astype(float)
        k = np.minimum(k, n - 1)
        # In units of the half window the normal equations are well conditioned at these orders.
        s = (time[k] - centre[:, None]) / half
        basis = s[..., None] ** np.arange(terms) * weight[..., None]
        moments = np.einsum("nki,nkj->nij", basis, basis)
        # Relative to a sample nearby, so that a large constant costs no digits.
        near = values[np.minimum(np.searchsorted(time, centre), n - 1)]
        local = values[k] - near[:, None, :]
        fit = np.linalg.solve(moments, np.einsum("nki,nkd->nid", basis, local))
        fit[:, 0] += near
        result[rows] = fit / half ** np.arange(terms)[:, None]
    return result


def _local_polynomial(
    time: Floats, values: Floats, method: SavitzkyGolay, derivative: int
) -> Floats | None:
    fits = local_fits(time, values, time, method)
    return None if fits is None else fits[:, derivative]


def _butterworth(
    time: Floats, values: Floats, method: Butterworth, derivative: int
) -> Floats | None:
    from scipy.signal import butter, sosfiltfilt  # slow to import, needed only here

    rate = 1 / float(np.median(np.diff(time))) if len(time) > 1 else 0.0
    if len(time) < 3 * (2 * method.order + 1) + 1:
        return None
    if method.cutoff_hz >= rate / 2:
        raise LogError(
            f"{method}: the cut-off must be below half the sample rate, {rate / 2:.4g} Hz."
        )
    n = max(len(time), round((time[-1] - time[0]) * rate) + 1)
    even = np.linspace(time[0], time[-1], n)
    on_even = np.stack([np.interp(even, time, column) for column in values.T], axis=1)
    sections = butter(
        method.order, method.cutoff_hz, fs=(n - 1) / (even[-1] - even[0]), output="sos"
    )
    smooth = sosfiltfilt(sections, on_even, axis=0)
    if derivative:
        smooth = np.gradient(smooth, even, axis=0, edge_order=2)
    return np.stack([np.interp(time, even, column) for column in smooth.T], axis=1)
