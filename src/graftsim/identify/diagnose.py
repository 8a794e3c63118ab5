"""How well the data determine the parameters: covariance, intervals, weak directions in words."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from graftsim.identify.result import QUANTILE, WeakDirection
from graftsim.optim.least_squares import Bounded, inverse, normal_equations

# A direction known to no better than this share of the parameters' size is called weak.
WEAK = 0.5


class Information(NamedTuple):
    """Reduced normal matrix S [p, p] after eliminating initial states, and what follows from it."""

    S: np.ndarray
    covariance: np.ndarray
    variance_ratio: float
    method: str


def information(
    r: np.ndarray,
    J_t: np.ndarray,
    J_l: np.ndarray,
    theta: np.ndarray,
    local: np.ndarray,
    bounds: Bounded,
    held: np.ndarray,
) -> Information:
    """Covariance of theta at a minimum, from residuals [w, m] and Jacobians [w, m, p], [w, m, s].

    With enough windows, the sandwich S^-1 (sum_w g_w g_w^T) S^-1 clustered by window (White 1980;
    residuals within a window are far from independent, and the model is not exactly right); with
    few, s^2 S^-1. `held` marks parameters on their bounds, which have no interval.
    """
    n = normal_equations(r, J_t, J_l, theta, local, bounds)
    p, s, w = len(theta), local.shape[-1], len(r)
    used = int(np.count_nonzero(np.abs(r) > 0))
    freedom = max(used - int(np.count_nonzero(~held)) - s * w, 1)
    ratio = float(np.sum(r * r)) / freedom
    if s:
        BC = n.B @ inverse(n.C)
        S = n.A - np.tensordot(BC, n.B, ((0, 2), (0, 2)))
        own = np.swapaxes(J_l, 1, 2) @ r[..., None]
        projected = (np.swapaxes(J_t, 1, 2) @ r[..., None] - BC @ own)[..., 0]
    else:
        S, projected = n.A, (np.swapaxes(J_t, 1, 2) @ r[..., None])[..., 0]
    # What has no effect at all is as unknown as what is held.
    free = ~held & (np.diag(n.A) > 0)
    covariance = np.full((p, p), np.nan)
    if not np.isfinite(S).all():
        return Information(S, covariance, ratio, "none: derivatives overflow at the solution")
    if free.any():
        # In units of each parameter's own curvature, so that rounding respects the small ones.
        # Where initial states can do the same, what is left of a curvature is rounding.
        d = 1 / np.sqrt(np.maximum(np.diag(S), 1e-14 * np.diag(n.A))[free])
        inside = _inverse(S[np.ix_(free, free)] * np.outer(d, d))
        k = int(free.sum())
        if w >= max(2 * k, 10):
            g = projected[:, free] * d
            meat = g.T @ g * (w / (w - k))
            cov, method = inside @ meat @ inside, "sandwich, clustered by window"
            # Never below what independent residuals would give.
            floor = np.sqrt(np.maximum(np.diag(inside) * max(ratio, 1.0), 1e-300))
            widen = np.maximum(floor / np.sqrt(np.maximum(np.diag(cov), 1e-300)), 1.0)
            cov = cov * np.outer(widen, widen)
        else:
            cov, method = inside * max(ratio, 1.0), "Gauss-Newton"
        covariance[np.ix_(free, free)] = cov * np.outer(d, d)
        return Information(S, covariance, ratio, method)
    return Information(S, covariance, ratio, "none: no parameter is free")


def _inverse(S: np.ndarray) -> np.ndarray:
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
        found.append(
            WeakDirection(_sentence(names, free, vector, main, spread, size), spread, weights)
        )
    return tuple(found)


def _sentence(
    names: tuple[str, ...],
    free: np.ndarray,
    vector: np.ndarray,
    main: list[int],
    spread: float,
    size: np.ndarray,
) -> str:
    percent = f"{100 * spread:.0f} %" if spread < 100 else "more than 100 times its size"
    if len(main) == 1:
        return (
            f"{names[free[main[0]]]} hardly matters to these recordings: it is known only to "
            f"about {percent}."
        )
    moves = [
        f"{names[free[i]]} by {vector[i] * size[free[i]] / np.abs(vector[main[0]]):+.3g}"
        for i in main
    ]
    return (
        f"{', '.join(names[free[i]] for i in main)} cannot be told apart: changing "
        f"{', '.join(moves)} together leaves the fit nearly as good (known to about {percent})."
    )


def interval(value: float, std: float) -> tuple[float, float]:
    """95 % interval of a Gaussian; NaN when the spread is unknown."""
    return float(value - QUANTILE * std), float(value + QUANTILE * std)
