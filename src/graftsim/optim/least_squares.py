"""Levenberg-Marquardt for residuals in independent groups, each with unknowns of its own.

The groups are windows of recordings, their own unknowns the initial states. The Jacobian is then
an arrowhead, [J_theta,w | 0 .. J_local,w .. 0], and eliminating each window's unknowns (Schur
complement, as in bundle adjustment) leaves a system in theta alone, however many windows there are:

    S = sum_w (A_w - B_w C_w^-1 B_w^T),   A = J_t^T J_t, B = J_t^T J_l, C = J_l^T J_l.

Bounds are kept by an active set: a parameter on its bound is held only while the gradient pushes it
outwards. Damping follows Nielsen (1999), scaled by the largest diagonal seen (More 1978), but falls
up to tenfold (Marquardt 1963) where he has a third: after a step that gained what was predicted,
what is left of the damping only delays the weakly determined directions. NumPy, float64: these
systems are small and outside the compiled step.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from graftsim.optim.sparsity import Penalty, penalised_step

# A penalised step is on its way only: it need not be found to the last digit.
STEP_TOLERANCE = 1e-5
# A step that gained all that was predicted leaves this share of the damping.
EASE = 0.1

# Residuals this far below their unit are rounding: there is nothing left to fit.
EXACT = 1e-10

Residual = Callable[[np.ndarray, np.ndarray], np.ndarray]
Jacobian = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class LevenbergMarquardt:
    """Options. Tolerances are relative: of the cost, of the step, of the scaled gradient."""

    iterations: int = 50
    cost_tolerance: float = 1e-7
    step_tolerance: float = 1e-8
    gradient_tolerance: float = 1e-8
    damping: float = 1e-3
    damping_limit: float = 1e12


@dataclass(frozen=True)
class Point:
    """State of the solver: all that a resumed run needs."""

    theta: np.ndarray
    local: np.ndarray
    cost: float
    damping: float
    growth: float = 2.0
    iteration: int = 0
    scale: np.ndarray | None = None
    outcome: str = ""


class Normal(NamedTuple):
    """Gradient and Gauss-Newton blocks at a point."""

    g: np.ndarray
    g_local: np.ndarray
    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    columns: np.ndarray


@dataclass(frozen=True)
class Bounded:
    """Bounds and Gaussian priors of theta [p], the weak prior of local unknowns [s], and a penalty
    that makes groups of theta exactly zero, or None.
    """

    lower: np.ndarray
    upper: np.ndarray
    prior_mean: np.ndarray
    prior_std: np.ndarray
    local_std: np.ndarray
    penalty: Penalty | None = None

    def only(self, active: np.ndarray) -> Bounded:
        """The same for some entries of theta alone."""
        penalty = self.penalty
        if penalty is not None:
            penalty = penalty._replace(group=penalty.group[active])
        return Bounded(
            self.lower[active],
            self.upper[active],
            self.prior_mean[active],
            self.prior_std[active],
            self.local_std,
            penalty,
        )

    def prior_cost(self, theta: np.ndarray, local: np.ndarray) -> float:
        """Half the squared, whitened distances from the priors, and the penalty."""
        d = (theta - self.prior_mean) / self.prior_std
        size = 0.0 if self.penalty is None else self.penalty.value(theta)
        return 0.5 * float(d @ d) + 0.5 * float(np.sum((local / self.local_std) ** 2)) + size


def normal_equations(
    r: np.ndarray,
    J_t: np.ndarray,
    J_l: np.ndarray,
    theta: np.ndarray,
    local: np.ndarray,
    b: Bounded,
) -> Normal:
    """Gauss-Newton blocks of residuals [w, m], Jacobians [w, m, p], [w, m, s] and the priors.

    With further axes in front of all of them: many problems side by side.
    """
    w_prior, w_local = b.prior_std**-2, b.local_std**-2
    # Products of matrices rather than einsum: these go through BLAS.
    lead, (w, m, p) = J_t.shape[:-3], J_t.shape[-3:]
    flat = J_t.reshape(*lead, w * m, p)
    flatT, J_lT = np.swapaxes(flat, -1, -2), np.swapaxes(J_l, -1, -2)
    A = flatT @ flat
    g = (flatT @ r.reshape(*lead, w * m, 1))[..., 0]
    return Normal(
        g=g + w_prior * (theta - b.prior_mean),
        g_local=(J_lT @ r[..., None])[..., 0] + w_local * local,
        A=A + np.diag(w_prior),
        B=np.swapaxes(J_lT @ J_t, -1, -2),
        C=J_lT @ J_l + np.diag(w_local),
        columns=np.einsum("...pp->...p", A).copy(),
    )


def inverse(C: np.ndarray) -> np.ndarray:
    """Inverses of symmetric matrices [..., s, s] with positive diagonals.

    In units of the diagonal, and lifted by rounding: of a window that runs away, all columns of the
    Jacobian point the same way.
    """
    d = 1 / np.sqrt(np.maximum(np.einsum("...ss->...s", C), 1e-300))
    unit = C * d[..., :, None] * d[..., None, :] + 1e-14 * np.eye(C.shape[-1])
    return np.linalg.inv(unit) * d[..., :, None] * d[..., None, :]


def reduced(n: Normal) -> tuple[np.ndarray, np.ndarray]:
    """Curvature S [p, p] and gradient [p] of theta alone, the local unknowns adjusting (Schur)."""
    if not n.C.shape[-1]:
        return n.A, n.g
    BC = n.B @ inverse(n.C)
    S = n.A - np.tensordot(BC, n.B, ((0, 2), (0, 2)))
    return S, n.g - np.einsum("wps,ws->p", BC, n.g_local)


def solve_step(
    n: Normal,
    damping: float,
    scale: np.ndarray,
    free: np.ndarray,
    theta: np.ndarray | None = None,
    penalty: Penalty | None = None,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Damped step (theta, local) over the free parameters, and the decrease it predicts.

    With a penalty, `theta` is where the step starts.
    """
    p, s = n.A.shape[0], n.C.shape[-1]
    C = n.C + damping * diagonals(n.C)
    if s:
        C_inv = inverse(C)
        BC = n.B @ C_inv
        S = n.A + damping * np.diag(scale) - np.tensordot(BC, n.B, ((0, 2), (0, 2)))
        rhs = -n.g + np.einsum("wps,ws->p", BC, n.g_local)
    else:
        S, rhs = n.A + damping * np.diag(scale), -n.g
    step = np.zeros(p)
    penalised = penalty is not None and theta is not None and bool((penalty.group[free] >= 0).any())
    if penalised:
        assert penalty is not None and theta is not None
        own = penalty._replace(group=penalty.group[free])
        inside = S[np.ix_(free, free)]
        step[free] = penalised_step(inside, rhs[free], theta[free], own, STEP_TOLERANCE)
    elif free.any():
        root = np.sqrt(scale[free])
        scaled = S[np.ix_(free, free)] / np.outer(root, root)
        step[free] = np.linalg.lstsq(scaled, rhs[free] / root, rcond=1e-15)[0] / root
    if s:
        inner = -n.g_local - np.einsum("wps,p->ws", n.B, step)
        local = np.einsum("wst,wt->ws", C_inv, inner)
    else:
        local = np.zeros_like(n.g_local)
    quadratic = step @ n.A @ step + np.einsum("ws,wst,wt->", local, n.C, local)
    cross = 2 * np.einsum("p,wps,ws->", step, n.B, local)
    linear = n.g @ step + np.sum(n.g_local * local)
    decrease = -float(linear + 0.5 * (quadratic + cross))
    if penalised:
        assert penalty is not None and theta is not None
        decrease += penalty.value(theta) - penalty.value(theta + step)
    return step, local, decrease


def levenberg_marquardt(
    residual: Residual,
    jacobian: Jacobian,
    start: Point,
    bounds: Bounded,
    options: LevenbergMarquardt,
    callback: Callable[[Point, float], None] | None = None,
) -> Point:
    """Minimise half the sum of squares of residuals [w, m] over theta [p] and local [w, s].

    `jacobian` returns (r, J_theta, J_local). `callback(point, gradient)` runs after each iteration.
    The returned point's outcome is "converged", "stalled" (no step decreases the cost),
    "iteration limit" or "non-finite" (the start itself cannot be evaluated).
    """
    point = start
    while True:
        r, J_t, J_l = jacobian(point.theta, point.local)
        cost = 0.5 * float(np.sum(r * r)) + bounds.prior_cost(point.theta, point.local)
        with np.errstate(over="ignore", invalid="ignore"):
            usable = np.isfinite(cost + J_t.sum() + J_l.sum())
        if not usable:
            return replace(point, cost=cost, outcome="non-finite")
        point = replace(point, cost=cost)
        n = normal_equations(r, J_t, J_l, point.theta, point.local, bounds)
        scale = np.diag(n.A).copy()
        scale = scale if point.scale is None else np.maximum(scale, point.scale)
        scale = np.where(scale > 0, scale, 1.0)
        free = ~pushed_outwards(n, point.theta, bounds)
        gradient = _gradient_size(n, scale, free, cost)
        if callback is not None:
            callback(point, gradient)
        exact = cost <= 0.5 * EXACT**2 * r.size
        if (gradient < options.gradient_tolerance or exact) and bounds.penalty is None:
            return replace(point, outcome="converged")
        if point.iteration >= options.iterations:
            return replace(point, outcome="iteration limit")
        point = _search(residual, n, replace(point, scale=scale), bounds, options, free)
        if point.outcome:
            return point


def _search(
    residual: Residual,
    n: Normal,
    point: Point,
    bounds: Bounded,
    options: LevenbergMarquardt,
    free: np.ndarray,
) -> Point:
    """Raise the damping until a step lowers the cost."""
    damping, growth = point.damping, point.growth
    assert point.scale is not None
    while damping < options.damping_limit:
        step, local_step, predicted = solve_step(
            n, damping, point.scale, free, point.theta, bounds.penalty
        )
        theta = np.clip(point.theta + step, bounds.lower, bounds.upper)
        local = point.local + local_step
        r = residual(theta, local)
        cost = 0.5 * float(np.sum(r * r)) + bounds.prior_cost(theta, local)
        if np.isfinite(cost) and cost < point.cost:
            ratio = (point.cost - cost) / max(predicted, 1e-300)
            damping = float(eased(damping, ratio))
            small_step = np.all(
                np.abs(theta - point.theta) <= options.step_tolerance * (np.abs(theta) + 1e-12)
            )
            small_gain = point.cost - cost <= options.cost_tolerance * point.cost
            done = small_gain and (ratio > 0.25 or small_step)
            return replace(
                point,
                theta=theta,
                local=local,
                cost=cost,
                damping=damping,
                growth=2.0,
                iteration=point.iteration + 1,
                outcome="converged" if done else "",
            )
        if 0 <= predicted <= 1e-14 * point.cost:
            return replace(point, outcome="converged")
        damping, growth = damping * growth, growth * 2
    return replace(point, outcome="stalled")


def eased(damping: ArrayLike, ratio: ArrayLike) -> np.ndarray:
    """Damping after a step that gained `ratio` times what was predicted."""
    factor = np.maximum(EASE, 1 - (2 * np.minimum(ratio, 1.0) - 1) ** 3)
    return np.maximum(damping * factor, 1e-15)


def diagonals(C: np.ndarray) -> np.ndarray:
    """Diagonal parts of matrices [..., s, s], ones where they are zero."""
    d = np.einsum("...ss->...s", C)
    return np.eye(C.shape[-1]) * np.where(d > 0, d, 1.0)[..., None, :]


def pushed_outwards(n: Normal, theta: np.ndarray, b: Bounded) -> np.ndarray:
    """Parameters on a bound that the gradient pushes against."""
    return ((theta <= b.lower) & (n.g > 0)) | ((theta >= b.upper) & (n.g < 0))


def _gradient_size(n: Normal, scale: np.ndarray, free: np.ndarray, cost: float) -> float:
    """Largest cosine between the residual and a column of the Jacobian (More's test)."""
    size = np.sqrt(max(2 * cost, 1e-300))
    g = np.abs(n.g[free]) / np.sqrt(scale[free]) / size
    d = np.sqrt(np.maximum(np.einsum("wss->ws", n.C), 1e-300))
    local = np.abs(n.g_local) / d / size
    return float(max(g.max(initial=0.0), local.max(initial=0.0)))
