"""Normal equations of residuals in independent groups, each with unknowns of its own.

The groups are windows of recordings, their own (local) unknowns the initial states. The Jacobian is
an arrowhead, [J_theta,w | 0 .. J_local,w .. 0], and eliminating each window's unknowns (Schur
complement, as in bundle adjustment) leaves a system in theta alone, however many windows there are:

    S = sum_w (A_w - B_w C_w^-1 B_w^T),   A = J_t^T J_t, B = J_t^T J_l, C = J_l^T J_l.

All arrays may have a leading axis n: as many problems side by side. NumPy, float64: these systems
are small and outside the compiled step.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from graftsim.optim.bounded import Bounded
from graftsim.optim.sparsity import penalised_step

# A penalised step is on its way only: it need not be found to the last digit.
STEP_TOLERANCE = 1e-5
# Added to a diagonal of ones: rounding must not make a system singular.
ROUNDING = 1e-14


class NormalEquations(NamedTuple):
    """Gradients and Gauss-Newton blocks at a point; `columns` is the diagonal of J_t^T J_t."""

    g: Float[np.ndarray, "*n p"]
    g_local: Float[np.ndarray, "*n w s"]
    A: Float[np.ndarray, "*n p p"]
    B: Float[np.ndarray, "*n w p s"]
    C: Float[np.ndarray, "*n w s s"]
    columns: Float[np.ndarray, "*n p"]


def normal_equations(
    r: Float[np.ndarray, "*n w m"],
    J_t: Float[np.ndarray, "*n w m p"],
    J_l: Float[np.ndarray, "*n w m s"],
    theta: Float[np.ndarray, "*n p"],
    local: Float[np.ndarray, "*n w s"],
    bounds: Bounded,
) -> NormalEquations:
    """Gauss-Newton blocks of residuals, Jacobians and the priors."""
    w_prior, w_local = bounds.prior_std**-2, bounds.local_std**-2
    # Products of matrices rather than einsum: these go through BLAS.
    lead, (w, m, p) = J_t.shape[:-3], J_t.shape[-3:]
    flat = J_t.reshape(*lead, w * m, p)
    flatT, J_lT = np.swapaxes(flat, -1, -2), np.swapaxes(J_l, -1, -2)
    A = flatT @ flat
    g = (flatT @ r.reshape(*lead, w * m, 1))[..., 0]
    return NormalEquations(
        g=g + w_prior * (theta - bounds.prior_mean),
        g_local=(J_lT @ r[..., None])[..., 0] + w_local * local,
        A=A + np.diag(w_prior),
        B=np.swapaxes(J_lT @ J_t, -1, -2),
        C=J_lT @ J_l + np.diag(w_local),
        columns=_diagonal(A).copy(),
    )


def inverse(C: Float[np.ndarray, "*n s s"]) -> Float[np.ndarray, "*n s s"]:
    """Inverses of symmetric matrices with positive diagonals.

    In units of the diagonal, and lifted by rounding: of a window that runs away, all columns of the
    Jacobian point the same way.
    """
    d = 1 / np.sqrt(np.maximum(_diagonal(C), 1e-300))
    unit = C * d[..., :, None] * d[..., None, :] + ROUNDING * np.eye(C.shape[-1])
    return np.linalg.inv(unit) * d[..., :, None] * d[..., None, :]


def reduced(n: NormalEquations) -> tuple[np.ndarray, np.ndarray]:
    """Curvature S [.., p, p] and gradient [.., p] of theta alone, the local unknowns adjusting."""
    return _eliminated(n, n.A, inverse(n.C) if n.C.shape[-1] else n.C)


def damped_step(
    n: NormalEquations,
    damping: Float[np.ndarray, "*n"],
    scale: Float[np.ndarray, "*n p"],
    free: Bool[np.ndarray, "*n p"],
) -> tuple[np.ndarray, np.ndarray]:
    """Step of theta [.., p] over the free entries, and of the local unknowns [.., w, s]:

    (J^T J + damping diag(scale)) step = -g.
    """
    S, g, C_inv = _damped(n, damping, scale)
    # In units of the scale; entries that are held keep their place.
    root = np.sqrt(scale)
    inside = free[..., :, None] & free[..., None, :]
    unit = np.where(inside, S / (root[..., :, None] * root[..., None, :]), 0.0)
    unit = unit + np.where(free, ROUNDING, 1.0)[..., None] * np.eye(scale.shape[-1])
    step = np.linalg.solve(unit, np.where(free, -g / root, 0.0)[..., None])[..., 0] / root
    return step, _adjusted(n, C_inv, step)


def penalised_damped_step(
    n: NormalEquations,
    damping: float,
    scale: Float[np.ndarray, " p"],
    free: Bool[np.ndarray, " p"],
    theta: Float[np.ndarray, " p"],
    bounds: Bounded,
) -> tuple[np.ndarray, np.ndarray]:
    """`damped_step` of one problem from theta, with the penalty of its bounds in the objective."""
    assert bounds.penalty is not None
    S, g, C_inv = _damped(n, np.asarray(damping), scale)
    own = bounds.only(free).penalty
    assert own is not None
    step = np.zeros_like(theta)
    inside = S[np.ix_(free, free)]
    step[free] = penalised_step(inside, -g[free], theta[free], own, STEP_TOLERANCE)
    return step, _adjusted(n, C_inv, step)


def predicted_decrease(
    n: NormalEquations, step: Float[np.ndarray, "*n p"], local: Float[np.ndarray, "*n w s"]
) -> Float[np.ndarray, "*n"]:
    """What a step of theta and the local unknowns gains in the linear model of the residuals."""
    along = (n.A @ step[..., None])[..., 0]
    own = (n.C @ local[..., None])[..., 0] + 2 * np.einsum("...wps,...p->...ws", n.B, step)
    quadratic = np.sum(step * along, -1) + np.sum(local * own, (-1, -2))
    linear = np.sum(n.g * step, -1) + np.sum(n.g_local * local, (-1, -2))
    return -(linear + 0.5 * quadratic)


def pushed_outwards(
    n: NormalEquations, theta: Float[np.ndarray, "*n p"], bounds: Bounded
) -> Bool[np.ndarray, "*n p"]:
    """Entries of theta on a bound that the gradient pushes against."""
    low, high = theta <= bounds.lower, theta >= bounds.upper
    return (low & (n.g > 0)) | (high & (n.g < 0))


def gradient_size(
    n: NormalEquations,
    scale: Float[np.ndarray, "*n p"],
    free: Bool[np.ndarray, "*n p"],
    cost: Float[np.ndarray, "*n"],
) -> Float[np.ndarray, "*n"]:
    """Largest cosine between the residual and a column of the Jacobian (More's test)."""
    g = np.where(free, np.abs(n.g) / np.sqrt(scale), 0.0).max(-1, initial=0.0)
    d = np.sqrt(np.maximum(_diagonal(n.C), 1e-300))
    local = (np.abs(n.g_local) / d).max((-1, -2), initial=0.0)
    with np.errstate(invalid="ignore"):
        return np.maximum(g, local) / np.sqrt(np.maximum(2 * cost, 1e-300))


def _damped(
    n: NormalEquations, damping: np.ndarray, scale: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """S and g of theta alone with damping, and the inverse of the damped C."""
    A = n.A + damping[..., None, None] * scale[..., None] * np.eye(scale.shape[-1])
    C_inv = n.C
    if n.C.shape[-1]:
        d = _diagonal(n.C)
        d = damping[..., None, None] * np.where(d > 0, d, 1.0)
        C_inv = inverse(n.C + d[..., None] * np.eye(d.shape[-1]))
    return *_eliminated(n, A, C_inv), C_inv


def _eliminated(
    n: NormalEquations, A: np.ndarray, C_inv: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Schur complement of C in A, and the gradient that goes with it."""
    *lead, w, p, s = n.B.shape
    if not s:
        return A, n.g
    BC = np.moveaxis(n.B @ C_inv, -3, -2).reshape(*lead, p, w * s)
    B = np.moveaxis(n.B, -3, -2).reshape(*lead, p, w * s)
    g_local = n.g_local.reshape(*lead, w * s, 1)
    return A - BC @ np.swapaxes(B, -1, -2), n.g - (BC @ g_local)[..., 0]


def _adjusted(n: NormalEquations, C_inv: np.ndarray, step: np.ndarray) -> np.ndarray:
    """Step of the local unknowns that goes with a step of theta."""
    rest = -n.g_local - np.einsum("...wps,...p->...ws", n.B, step)
    return (C_inv @ rest[..., None])[..., 0]


def _diagonal(A: np.ndarray) -> np.ndarray:
    return np.einsum("...pp->...p", A)
