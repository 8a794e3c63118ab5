"""How well the data determine the parameters: covariance, intervals, weak directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from scipy.signal import lfilter

from graftsim.identify import words
from graftsim.identify.problem.layout import Layout, layout_of
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.result import QUANTILE, WeakDirection
from graftsim.identify.results.whiteness import (
    LackOfFit,
    Memory,
    judge_residuals,
)
from graftsim.identify.words import Misfit
from graftsim.optim.arrowhead import NormalEquations, inverse, reduced

# A direction known to no better than this share of the parameters' size is called weak.
WEAK = 0.5
# The test of the residuals allows for what the parameters take out of them, as it always does for
# initial states, if there are at most FEW parameters, since its cost grows with their number, and
# less than MANY residuals for each, since beyond that the correction is too small to matter.
FEW, MANY = 64, 200
# Upper limit of a window's leverage: its share of what is known about a direction.
LEVERAGE = 0.9


class Information(NamedTuple):
    """Reduced normal matrix S [p, p] after eliminating initial states, and what follows from it."""

    S: np.ndarray
    covariance: np.ndarray
    variance_ratio: float
    method: str
    lack: LackOfFit


def information(
    at: Linearisation, held: Bool[np.ndarray, " p"], layouts: Sequence[Layout] = ()
) -> Information:
    """Covariance of theta at a minimum.

    Where nothing speaks against the model, s^2 S^-1. Where residuals have a memory, or are larger
    than the noise, the widest of three: s^2 S^-1; that of residuals correlated as they were found
    to be within each channel; and, with enough windows, the sandwich S^-1 (sum_w g_w g_w^T) S^-1
    clustered by window (White 1980), corrected for the leverage of each (Bell & McCaffrey 2002).
    `held` marks parameters on their bounds, which have no interval; `layouts` tells the channels of
    a row apart.
    """
    r, J_t, J_l = at.r, at.J_t, at.J_l
    n, p = at.normal(), len(at.theta)
    used = int(np.count_nonzero(np.abs(r) > 0))
    freedom = max(used - int(np.count_nonzero(~held)) - at.local.size, 1)
    ratio = float(np.sum(r * r)) / freedom
    S, _ = reduced(n)
    # A parameter without any effect has no variance, like one that is held.
    free = ~held & (np.diag(n.A) > 0)
    covariance = np.full((p, p), np.nan)
    if not np.isfinite(S).all() or not free.any():
        why = "no parameter is free"
        if not np.isfinite(S).all():
            why = "derivatives overflow at the solution"
        unknown = LackOfFit(Misfit.NONE, float(np.sqrt(ratio)), 1.0, ())
        return Information(S, covariance, ratio, f"none: {why}", unknown)
    # In units of each parameter's own curvature, so that rounding respects the small ones.
    # Where initial states can do the same, what is left of a curvature is rounding.
    d = 1 / np.sqrt(np.maximum(np.diag(S), 1e-14 * np.diag(n.A))[free])
    inside = _unit_inverse(S[np.ix_(free, free)] * np.outer(d, d))
    C_inv = inverse(n.C) if n.C.shape[-1] else n.C
    # A root of the hat matrix: what initial states take out of the residuals of their window.
    hat = J_l @ _root(C_inv)
    if len(d) <= FEW and used < MANY * len(d):
        P = _eliminated(J_t, J_l, n, C_inv)[..., free] * d
        hat = np.concatenate([hat, P @ _root(inside)], -1)
    lack, memories = judge_residuals(
        r, hat, layouts or layout_of([("", r.shape[1], 1, True)]), freedom
    )
    cov, method = inside * max(ratio, 1.0), "Gauss-Newton"
    if lack.verdict != Misfit.NONE:
        P = _eliminated(J_t, J_l, n, C_inv)[..., free] * d
        cov, wide, method = _widest(cov, inside, P, r, memories)
        lack = replace(lack, widened=float(np.median(np.sqrt(wide / np.diag(inside)))))
    covariance[np.ix_(free, free)] = cov * np.outer(d, d)
    return Information(S, covariance, ratio, method, lack)


def _widest(
    cov: np.ndarray, inside: np.ndarray, P: np.ndarray, r: np.ndarray, memories: Sequence[Memory]
) -> tuple[np.ndarray, np.ndarray, str]:
    """The widest covariance of three, its variances, and its name; see `information`."""
    wide = np.diag(cov)
    wide = np.maximum(wide, _correlated(P @ inside, memories))
    method = "Gauss-Newton, of residuals with memory"
    if len(r) >= max(2 * len(cov), 10):
        cov = _sandwich(P, r, _root(inside))
        wide = np.maximum(wide, np.diag(cov))
        method = "sandwich, clustered by window"
    own = np.diag(cov)
    # What this way gives no variance at all keeps that of the others, tied to nothing.
    some = own > 1e-14 * wide
    grow = np.sqrt(np.where(some, wide / np.where(some, own, 1.0), 0.0))
    return cov * np.outer(grow, grow) + np.diag(np.where(some, 0.0, wide)), wide, method


def _eliminated(
    J_t: np.ndarray, J_l: np.ndarray, n: NormalEquations, C_inv: np.ndarray
) -> np.ndarray:
    """J_t - J_l C^-1 B^T [w, m, p]: of the Jacobian, what initial states cannot do as well."""
    return J_t - J_l @ (C_inv @ np.swapaxes(n.B, 1, 2)) if J_l.shape[-1] else J_t


def _root(C: np.ndarray) -> np.ndarray:
    """A matrix R with R R^T = C, of symmetric positive C [..., s, s]."""
    values, vectors = np.linalg.eigh(C)
    return vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]


def _sandwich(P: np.ndarray, r: np.ndarray, root: np.ndarray) -> np.ndarray:
    """S^-1 (sum_w g_w g_w^T) S^-1 (w - 1) / w, each g_w = P_w^T r_w as if its window had no part in
    the fit, (1 - S_w S^-1)^-1 g_w: the jackknife, linearised. root root^T = S^-1.
    """
    h = np.einsum("wmp,wm->wp", P, r) @ root
    part = P @ root
    share, axes = np.linalg.eigh(np.swapaxes(part, 1, 2) @ part)
    left = 1 - np.minimum(share, LEVERAGE)
    h = (axes @ ((np.swapaxes(axes, 1, 2) @ h[..., None])[..., 0] / left)[..., None])[..., 0]
    return root @ (h.T @ h) @ root.T * (1 - 1 / len(r))


def _correlated(Q: np.ndarray, memories: Sequence[Memory]) -> np.ndarray:
    """Diagonal of sum_w Q_w^T R Q_w, R the covariance of the residuals of each channel as found.

    R of a channel, rho^|t - u|, is two passes of a filter that forgets by rho a sample, one from
    either end.
    """
    total = np.zeros(Q.shape[-1])
    for memory in memories:
        layout = memory.layout
        part = Q[:, layout.first : layout.first + layout.samples * layout.width]
        part = part.reshape(len(Q), layout.samples, layout.width, -1)
        # Each pair of samples t < u once by the filter, and once more as u > t.
        square = np.einsum("wtcp,wtcp->p", part, part)
        pairs = np.zeros_like(square)
        if memory.rho:
            past = lfilter([0.0, memory.rho], [1.0, -memory.rho], part, axis=1)
            pairs = np.einsum("wtcp,wtcp->p", part, past)
        total += memory.variance * (square + 2 * pairs)
    return total


def positive_inverse(S: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric matrix in units of its diagonal; tiny eigenvalues are lifted. NaN of
    one that is not finite.
    """
    d = 1 / np.sqrt(np.maximum(np.diag(S), 1e-300))
    unit = S * np.outer(d, d)
    if not np.isfinite(unit).all():
        return np.full_like(S, np.nan)
    return _unit_inverse(unit) * np.outer(d, d)


def _unit_inverse(S: np.ndarray) -> np.ndarray:
    """Inverse of a symmetric matrix with a unit diagonal; tiny eigenvalues are lifted."""
    values, vectors = np.linalg.eigh((S + S.T) / 2)
    values = np.maximum(values, 1e-14 * values.max(initial=1.0))
    return (vectors / values) @ vectors.T


def weak_directions(
    names: tuple[str, ...],
    theta: np.ndarray,
    size: np.ndarray,
    info: Information,
    held: np.ndarray,
) -> tuple[WeakDirection, ...]:
    """Combinations of parameters that the data hardly determine, each in a sentence.

    Parameters are measured in units of `size` [p] (their magnitude), so a direction's spread is a
    share of what it changes.
    """
    free = np.flatnonzero(~held)
    if not len(free):
        return ()
    C = info.covariance[np.ix_(free, free)] / np.outer(size[free], size[free])
    if not np.isfinite(C).all():
        return ()
    values, vectors = np.linalg.eigh((C + C.T) / 2)
    found = []
    for value, vector in sorted(zip(values, vectors.T, strict=True), key=lambda x: -x[0]):
        spread = float(np.sqrt(max(value, 0.0)))
        if spread < WEAK:
            continue
        vector = vector * np.sign(vector[np.argmax(np.abs(vector))])
        main = [int(i) for i in np.argsort(-np.abs(vector)) if abs(vector[i]) > 0.25][:4]
        weights = {names[free[i]]: float(vector[i]) for i in main}
        shown, step = [names[free[i]] for i in main], vector[main] * size[free[main]]
        text = words.weak_direction(shown, step, vector[main[0]], spread)
        if len(main) == 2:
            C = info.covariance[np.ix_(free[main], free[main])]
            kept = _kept(theta[free[main]], step, C)
            text += words.known_combination((shown[0], shown[1]), *kept)
        found.append(WeakDirection(text, spread, weights))
    return tuple(found)


def _kept(
    value: Float[np.ndarray, 2], step: Float[np.ndarray, 2], C: Float[np.ndarray, "2 2"]
) -> tuple[float | None, float, float]:
    """Of parameters x, y that can be changed by `step` together, what stays: the factor c of
    x + c y, None of x / y; its value and standard deviation. C is the covariance of the two.
    """
    (x, y), (dx, dy) = value, step
    if x * y > 0 and abs(dx / x - dy / y) < 0.1 * max(abs(dx / x), abs(dy / y)):
        n = np.array([1 / x, -1 / y])
        return None, float(x / y), float(np.sqrt(max(n @ C @ n, 0.0)) * abs(x / y))
    c = -dx / dy
    n = np.array([1.0, c])
    return float(c), float(x + c * y), float(np.sqrt(max(n @ C @ n, 0.0)))


def interval(value: float, std: float) -> tuple[float, float]:
    """95 % interval of a Gaussian; NaN when the spread is unknown."""
    return float(value - QUANTILE * std), float(value + QUANTILE * std)
