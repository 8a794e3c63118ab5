"""Weighted least squares of joint forces, robust if wanted, with intervals that residuals allow.

Rows are weighted by the size of what is left at each joint, which is found with the solution
(Swevers et al. 1997: weighted least squares by the noise of each joint's force); a robust loss is
solved by iterated weights rho'(r) / r (Huber 1964). Residuals of real robots have a memory, so the
covariance is that of `results.information`: judged for whiteness, and widened where they have one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.errors import ProblemError
from graftsim.identify.problem.layout import layout_of
from graftsim.identify.results.information import Information, information
from graftsim.identify.results.linearisation import Linearisation
from graftsim.optim.bounded import Bounded
from graftsim.optim.loss import Loss

ITERATIONS, TOLERANCE = 50, 1e-6
# Windows in which the residuals' memory is judged (s), as those of a fit by simulation.
WINDOW = 0.5
# What is left at a joint deserves a scale: at least this share of its force.
LEAST = 1e-9


class Piece(NamedTuple):
    """Rows of one stretch of time: X [n, nv, b], forces y [n, nv], sample interval (s), and the
    share of the samples that a filter has left independent.
    """

    X: np.ndarray
    y: np.ndarray
    interval: float
    share: float = 1.0


class Regression(NamedTuple):
    """beta [b] with its information, size [nv] of what is left at each joint, and the share of
    rows that the loss has given less than half their weight.
    """

    beta: np.ndarray
    info: Information
    sigma: np.ndarray
    set_aside: float


def regress(pieces: Sequence[Piece], loss: Loss, channels: Sequence[str]) -> Regression:
    """Least squares of all pieces together.

    Raises ProblemError: fewer rows than unknowns.
    """
    X = np.concatenate([p.X for p in pieces])
    y = np.concatenate([p.y for p in pieces])
    n, nv, b = X.shape
    if n * nv <= b:
        raise ProblemError(
            f"{n} independent samples of {nv} joints cannot tell {b} numbers; record a longer "
            "motion, raise the cut-off, or leave out terms."
        )
    scale = np.maximum(np.sqrt(np.mean(X * X, (0, 1))), 1e-300)
    sigma = np.maximum(np.std(y, 0), 1e-300)
    weight, beta = np.ones((n, nv)), np.zeros(b)
    least = np.maximum(LEAST * np.sqrt(np.mean(y * y, 0)), 1e-300)
    for _ in range(ITERATIONS):
        root = np.sqrt(weight) / sigma
        A = (X / scale * root[..., None]).reshape(-1, b)
        new = np.linalg.lstsq(A, (y * root).reshape(-1), rcond=None)[0] / scale
        r = y - X @ new
        freedom = max(1 - b / (n * nv), 0.05)
        sigma = np.maximum(np.sqrt(np.sum(weight * r * r, 0) / weight.sum(0) / freedom), least)
        weight = _weights(loss, r / sigma)
        done = np.abs((new - beta) * scale).max() <= TOLERANCE * np.abs(new * scale).max()
        beta = new
        if done:
            break
    return Regression(
        beta,
        _information(pieces, beta, sigma, loss, channels),
        sigma,
        float(np.mean(weight < 0.5)),
    )


def _weights(loss: Loss, r: Float[np.ndarray, "n nv"]) -> Float[np.ndarray, "n nv"]:
    """rho'(r) / r of a loss, 1 where r is small."""
    if loss.gaussian:
        return np.ones_like(r)
    small = np.abs(r) < 1e-6
    x = np.where(small, 1.0, r)
    return np.where(small, 1.0, np.clip(np.asarray(_slope(loss, x)) / x, 1e-12, 1.0))


@functools.partial(jax.jit, static_argnums=0)
def _slope(loss: Loss, r: Float[Array, "n nv"]) -> Float[Array, "n nv"]:
    return jax.grad(lambda z: jnp.sum(loss.weighed(z) ** 2) / 2)(r)


def _information(
    pieces: Sequence[Piece],
    beta: np.ndarray,
    sigma: np.ndarray,
    loss: Loss,
    channels: Sequence[str],
) -> Information:
    """Covariance and verdict of residuals, window by window."""
    m = max(round(WINDOW / max(p.interval for p in pieces)), 4)
    rows, slopes = [], []
    for piece in pieces:
        r = (piece.y - piece.X @ beta) / sigma
        root = np.sqrt(_weights(loss, r))
        r, J = r * root, -piece.X * (root / sigma)[..., None]
        short = -len(r) % m
        # Rows of zeros fill the last window: they count as no residual.
        r = np.concatenate([r, np.zeros((short, *r.shape[1:]))])
        J = np.concatenate([J, np.zeros((short, *J.shape[1:]))])
        nv, b = J.shape[1:]
        rows.append(np.swapaxes(r.reshape(-1, m, nv), 1, 2).reshape(-1, nv * m))
        slopes.append(np.swapaxes(J.reshape(-1, m, nv, b), 1, 2).reshape(-1, nv * m, b))
    r, J = np.concatenate(rows), np.concatenate(slopes)
    open_ = np.full(len(beta), np.inf)
    bounds = Bounded(-open_, open_, 0 * beta, open_, np.zeros(0))
    none = np.zeros((len(r), nv * m, 0))
    at = Linearisation(r, J, none, beta, np.zeros((len(r), 0)), bounds)
    layouts = layout_of([(name, m, 1, True) for name in channels])
    info = information(at, np.zeros(len(beta), bool), layouts)
    return info._replace(covariance=info.covariance / min(p.share for p in pieces))
