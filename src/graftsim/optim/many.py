"""Levenberg-Marquardt from many starts in step: each evaluation computes all of them at once.

The method is that of `least_squares`: local unknowns of each group eliminated (Schur complement),
an active set of bounds, damping by Nielsen (1999). A start that has converged, or is hopeless,
stands still while the others go on. Arrays have a leading axis of starts n.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from graftsim.optim.least_squares import (
    Bounded,
    LevenbergMarquardt,
    Normal,
    diagonals,
    eased,
    inverse,
    normal_equations,
    pushed_outwards,
)

# theta [n, p], local [n, w, s] -> residuals [n, w, m], and Jacobians [n, w, m, p], [n, w, m, s].
ManyResiduals = Callable[[np.ndarray, np.ndarray], np.ndarray]
ManyJacobians = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]

# Tries of larger damping in an iteration; what fails then goes on from there in the next.
_TRIES = 6
# Hopeless: beyond so many times the best cost, falling by less than a share in so many iterations.
_BEHIND, _SHARE, _PATIENCE = 10.0, 0.1, 5


class Many(NamedTuple):
    """Where each start has come to. A cost of infinity: it could not be evaluated."""

    theta: np.ndarray
    local: np.ndarray
    cost: np.ndarray
    iterations: np.ndarray
    outcome: np.ndarray


def minimise_many(
    residuals: ManyResiduals,
    jacobians: ManyJacobians,
    theta: np.ndarray,
    local: np.ndarray,
    bounds: Bounded,
    options: LevenbergMarquardt,
) -> Many:
    """Local minima from starts theta [n, p], local [n, w, s].

    Outcomes: "converged", "stalled", "hopeless", "iteration limit", "non-finite".
    """
    n, p = theta.shape
    theta, local = np.clip(theta, bounds.lower, bounds.upper), local.copy()
    damping, growth = np.full(n, options.damping), np.full(n, 2.0)
    outcome = np.full(n, "", dtype=object)
    scale = np.zeros((n, p))
    done_at = np.zeros(n, int)
    cost = np.full(n, np.inf)
    trace: list[np.ndarray] = []
    for iteration in range(options.iterations + 1):
        r, J_t, J_l = jacobians(theta, local)
        cost = _cost(r, theta, local, bounds)
        usable = np.isfinite(J_t).all((1, 2, 3)) & np.isfinite(J_l).all((1, 2, 3))
        lost = (outcome == "") & ~(np.isfinite(cost) & usable)
        outcome[lost] = "non-finite"
        cost = np.where(usable, cost, np.inf)
        trace.append(cost)
        done_at[outcome == ""] = iteration
        outcome[(outcome == "") & _hopeless(trace)] = "hopeless"
        going = outcome == ""
        if iteration == options.iterations:
            outcome[going] = "iteration limit"
        if not going.any() or iteration == options.iterations:
            break
        r, J_t, J_l = (
            np.where(going[:, None, None, None], x, 0.0) for x in (r[..., None], J_t, J_l)
        )
        normal = normal_equations(r[..., 0], J_t, J_l, theta, local, bounds)
        diagonal = np.einsum("npp->np", normal.A)
        scale = np.maximum(scale, np.where(diagonal > 0, diagonal, 1.0))
        free = ~pushed_outwards(normal, theta, bounds)
        small = _gradient(normal, scale, free, cost) < options.gradient_tolerance
        outcome[going & small] = "converged"
        waiting = outcome == ""
        for _ in range(_TRIES):
            if not waiting.any():
                break
            step, local_step, predicted = _step(normal, damping, scale, free)
            new = np.clip(theta + step, bounds.lower, bounds.upper)
            new_local = local + local_step
            new_cost = _cost(residuals(new, new_local), new, new_local, bounds)
            better = waiting & (new_cost < cost)
            gain = np.where(better, cost - np.where(better, new_cost, 0.0), 0.0)
            ratio = gain / np.maximum(predicted, 1e-300)
            tiny = gain <= options.cost_tolerance * cost
            outcome[better & tiny & (ratio > 0.25)] = "converged"
            nothing = waiting & ~better & (predicted >= 0) & (predicted <= 1e-14 * cost)
            outcome[nothing] = "converged"
            theta = np.where(better[:, None], new, theta)
            local = np.where(better[:, None, None], new_local, local)
            damping = np.where(better, eased(damping, ratio), damping)
            growth = np.where(better, 2.0, growth)
            waiting = waiting & ~better & ~nothing
            damping = np.where(waiting, damping * growth, damping)
            growth = np.where(waiting, 2 * growth, growth)
            stuck = waiting & (damping > options.damping_limit)
            outcome[stuck] = "stalled"
            waiting &= ~stuck
    return Many(theta, local, cost, done_at, outcome)


def _cost(r: np.ndarray, theta: np.ndarray, local: np.ndarray, b: Bounded) -> np.ndarray:
    """Half the sum of squares and priors of each start; infinite where it is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        size = 0.5 * np.sum(r * r, (1, 2))
        size = size + 0.5 * np.sum(((theta - b.prior_mean) / b.prior_std) ** 2, -1)
        size = size + 0.5 * np.sum((local / b.local_std) ** 2, (1, 2))
    return np.where(np.isfinite(size), size, np.inf)


def _hopeless(trace: list[np.ndarray]) -> np.ndarray:
    """Far behind the best, and not catching up."""
    now = trace[-1]
    if len(trace) <= _PATIENCE:
        return np.zeros(len(now), bool)
    before = trace[-1 - _PATIENCE]
    behind = now > _BEHIND * now.min()
    return behind & np.isfinite(before) & (now > (1 - _SHARE) * before)


def _step(
    n: Normal, damping: np.ndarray, scale: np.ndarray, free: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Damped steps of theta [n, p] and local [n, w, s], and the decrease that each predicts."""
    p = n.A.shape[-1]
    S = n.A + damping[:, None, None] * scale[:, :, None] * np.eye(p)
    rhs = -n.g
    C_inv = np.zeros_like(n.C)
    if n.C.shape[-1]:
        C_inv = inverse(n.C + damping[:, None, None, None] * diagonals(n.C))
        BC = n.B @ C_inv
        S = S - np.sum(BC @ np.swapaxes(n.B, 2, 3), 1)
        rhs = rhs + np.einsum("nwps,nws->np", BC, n.g_local)
    # In units of the scale; parameters that are held keep their place.
    root = np.sqrt(scale)
    inside = free[:, :, None] & free[:, None, :]
    unit = np.where(inside, S / (root[:, :, None] * root[:, None, :]), 0.0)
    unit = unit + np.where(free, 1e-14, 1.0)[:, :, None] * np.eye(p)
    step = np.linalg.solve(unit, np.where(free, rhs / root, 0.0)[..., None])[..., 0] / root
    own = -n.g_local - np.einsum("nwps,np->nws", n.B, step)
    local = np.einsum("nwst,nwt->nws", C_inv, own)
    quadratic = np.einsum("np,npq,nq->n", step, n.A, step)
    quadratic += np.einsum("nws,nwst,nwt->n", local, n.C, local)
    quadratic += 2 * np.einsum("np,nwps,nws->n", step, n.B, local)
    linear = np.sum(n.g * step, -1) + np.sum(n.g_local * local, (1, 2))
    return step, local, -(linear + 0.5 * quadratic)


def _gradient(n: Normal, scale: np.ndarray, free: np.ndarray, cost: np.ndarray) -> np.ndarray:
    """Largest cosine between a start's residual and a column of its Jacobian."""
    size = np.sqrt(np.maximum(2 * cost, 1e-300))
    g = np.where(free, np.abs(n.g) / np.sqrt(scale), 0.0).max(-1, initial=0.0)
    d = np.sqrt(np.maximum(np.einsum("nwss->nws", n.C), 1e-300))
    local = (np.abs(n.g_local) / d).max((1, 2), initial=0.0)
    with np.errstate(invalid="ignore"):
        return np.maximum(g, local) / size
