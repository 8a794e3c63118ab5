"""Does the model explain the data? Chi-square and whiteness of the residuals, with a verdict.

What a right model leaves is noise: as large as the sensors' and without memory. The tests allow for
what the fit itself takes out of the residuals: with H = L L^T the hat matrix of all unknowns, they
are (1 - H) times the noise, so their lag products have the expectation -s^2 sum_t H_t,t+k instead
of zero, and a few samples after which each window has an initial state of its own do not look like
a missing effect.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc, ndtr

from graftsim.identify import words
from graftsim.identify.problem.layout import Layout
from graftsim.identify.words import Misfit

# False alarms: one in so many fits of a right model.
LEVEL = 1e-3
# A significant misfit is called slight up to this residual over noise and this autocorrelation.
SLIGHT_SIZE, SLIGHT_MEMORY = 1.1, 0.2
# Residuals below this share of the noise may be correlated: that is too small to measure.
BELOW = 0.5
LAGS = 10
# Windows that are enough to see how long a memory is.
ENOUGH = 20
# Variance of a noise estimated from third differences, in units of s^4 / n: the median of their
# absolute values has 1.36 / n of s^2 (1.36 against 0.5 of a standard deviation), and their
# correlations (20, -15, 6, -1) leave one independent value in 2.31.
ESTIMATED = 4 * 1.36 * 2.31


@dataclass(frozen=True)
class ChannelFit:
    """Residuals of a channel: their size over the noise, correlation of neighbours, p of white."""

    channel: str
    over_noise: float
    autocorrelation: float
    p_white: float

    def hangs(self, channels: int) -> bool:
        """Are residuals correlated that are of the noise's size? Channels share the LEVEL."""
        return self.p_white < LEVEL / channels and self.over_noise > BELOW


@dataclass(frozen=True)
class LackOfFit:
    """What the residuals say of the model.

    `over_noise`: square root of chi-square per degree of freedom, `p_size` of a larger one by
    chance; `widened`: by how much the median interval grew for it.
    """

    verdict: Misfit
    over_noise: float
    p_size: float
    channels: tuple[ChannelFit, ...]
    widened: float = 1.0

    @property
    def clear(self) -> bool:
        """Do they speak against it, and not only by a little?"""
        return self.verdict == Misfit.CLEAR

    @property
    def text(self) -> str:
        """The verdict in words."""
        hangs = [c for c in self.channels if c.hangs(len(self.channels))]
        worst = max(hangs, key=lambda c: abs(c.autocorrelation), default=None)
        memory = None if worst is None else (worst.channel, worst.autocorrelation)
        return words.lack_of_fit(self.verdict, self.over_noise, memory, self.widened)


def lag_products(x: np.ndarray, y: np.ndarray, lag: int) -> np.ndarray:
    """Sum over windows and samples t of x_t y_t+lag, of [w, n, ...] and [w, n, ...]."""
    n = x.shape[1]
    return np.sum(x[:, : n - lag] * y[:, lag:], (0, 1))


class Memory(NamedTuple):
    """Residuals of one channel as noise of this size (squared, in units of the sensor's) whose
    neighbours correlate by `rho`, and samples k apart by rho^k.
    """

    layout: Layout
    variance: float
    rho: float


def memory_of(layout: Layout, x: np.ndarray, L: np.ndarray, mask: np.ndarray) -> Memory:
    """Size and rho of noise that leaves residuals x [w, n, r] after a fit of hat matrix L L^T.

    A fit takes more out of noise with memory than out of white noise, so both come from what it
    would leave, (1 - H) R (1 - H) with R_tu = rho^|t - u|: rho from the ratio of the products of
    neighbours to the squares, the size from the squares.
    """
    few = np.unique(np.linspace(0, len(x) - 1, ENOUGH).round().astype(int))
    x, L, mask = x[few], L[few], mask[few]
    squares = float(np.sum(x * x))
    seen = float(lag_products(x, x, 1).sum()) / max(squares, 1e-300)
    grid = np.concatenate([np.linspace(0.0, 0.9, 10), [0.95, 0.98, 0.99]])
    expected = np.array([_left(rho, L, mask) for rho in grid])
    ratio = np.maximum.accumulate(expected[:, 1] / np.maximum(expected[:, 0], 1e-300))
    rho = float(np.interp(seen, ratio, grid))
    left = float(np.interp(rho, grid, expected[:, 0]))
    return Memory(layout, squares / max(left, 1.0), rho)


def _left(rho: float, L: np.ndarray, mask: np.ndarray) -> tuple[float, float]:
    """Expected sums of squares and of products of neighbours of (1 - H) e, e of unit size."""
    from scipy.signal import lfilter  # slow to import, needed only here

    # R L as a filter that runs forwards and one that runs backwards: windows may be long.
    forwards = np.asarray(lfilter([1.0], [1.0, -rho], L, axis=1))
    backwards = np.asarray(lfilter([1.0], [1.0, -rho], L[:, ::-1], axis=1))[:, ::-1]
    RL = (forwards + backwards - L) * mask[..., None]
    inner = np.einsum("wnrq,wnrp->wqp", L, RL)
    HRH = np.einsum("wnrq,wqp->wnrp", L, inner)
    squares = mask.sum() + float(np.sum(HRH * L) - 2 * np.sum(L * RL))
    products = rho * lag_products(mask, mask, 1).sum() + float(lag_products(HRH, L, 1).sum())
    products -= float(lag_products(L, RL, 1).sum() + lag_products(RL, L, 1).sum())
    return float(squares), float(products)


def judge_residuals(
    r: np.ndarray, L: np.ndarray, layouts: Sequence[Layout], freedom: int
) -> tuple[LackOfFit, list[Memory]]:
    """Verdict on residuals r [w, m] whose hat matrix is L L^T, L [w, m, q], window by window.

    `freedom`: residuals less unknowns. Also the memory of each channel, for intervals.
    """
    ratio = float(np.sum(r * r)) / freedom
    fits, memories = [], []
    loose = 0.0
    for layout in layouts:
        part = slice(layout.first, layout.first + layout.samples * layout.width)
        shape = (len(r), layout.samples, layout.width)
        x, own = r[:, part].reshape(shape), L[:, part].reshape(*shape, -1)
        mask = (x != 0).astype(float)
        count = float(mask.sum())
        if not layout.given:
            loose += count
        if count < 3:
            continue
        taken = np.sum(own * own, -1) * mask
        left = np.clip(mask - taken, 0.0, 1.0)
        variance = float(np.sum(x * x)) / max(float(left.sum()), 1.0)
        if variance == 0:
            continue
        z, first = [], 0.0
        for k in range(1, min(LAGS, layout.samples - 1) + 1):
            shared = float(lag_products(own, own, k).sum())
            spread = float(lag_products(left, left, k).sum())
            if spread < 1:
                break
            product = float(lag_products(x, x, k).sum()) / variance + shared
            z.append(product / np.sqrt(spread))
            if k == 1:
                first = product / float(lag_products(mask, mask, k).sum())
        p = float(chdtrc(len(z), np.sum(np.square(z)))) if z else 1.0
        memory = Memory(layout, variance, 0.0)
        if p < LEVEL / len(layouts):
            memory = memory_of(layout, x, own, mask)
            first = memory.rho or first
        memories.append(memory)
        fits.append(ChannelFit(layout.channel, float(np.sqrt(variance)), first, p))
    total = max(float(np.count_nonzero(r)), 1.0)
    if loose:
        spread = np.sqrt(2 / freedom + ESTIMATED * loose / total**2)
        p_size = float(ndtr((1 - ratio) / spread))
    else:
        p_size = float(chdtrc(freedom, ratio * freedom))
    verdict = _verdict(ratio, p_size, fits)
    return LackOfFit(verdict, float(np.sqrt(ratio)), p_size, tuple(fits)), memories


def _verdict(ratio: float, p_size: float, fits: Sequence[ChannelFit]) -> Misfit:
    hangs = [f for f in fits if f.hangs(len(fits))]
    if p_size >= LEVEL and not hangs:
        return Misfit.NONE
    large = p_size < LEVEL and np.sqrt(ratio) > SLIGHT_SIZE
    memory = any(abs(f.autocorrelation) > SLIGHT_MEMORY for f in hangs)
    return Misfit.CLEAR if large or memory else Misfit.SLIGHT
