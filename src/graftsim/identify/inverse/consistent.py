"""From base parameters to links that can exist: the bodies nearest to the file's that keep the fit.

A link's ten numbers are those of a body if its pseudo-inertia J = [[S, m c], [m c^T, m]] is
positive definite, S the second moments about the link's origin (Wensing, Kim & Slotine 2018). The
base parameters leave some numbers open, and with noise they may be of no body at all. We minimise

    (B phi - beta)^T C^-1 (B phi - beta) / 2 + w sum_links D(J, J_0) + the like for damping ...
    D(J, J_0) = tr(J J_0^-1) - log det(J J_0^-1) - 4,

C the covariance of beta, J_0 the file's link. D is the Bregman divergence of log det, in which the
distance of two bodies does not depend on units or frames (Lee, Wensing & Park 2020); the plain
metric |phi - phi_0| has kilograms beside kg m^2 and lets a small link turn inside out. All of it is
convex in phi, so there is one minimum and Newton's method finds it from anywhere. In log-Cholesky
coordinates it would not be convex; but since D keeps J away from the border, the result has such
coordinates, and a fit by simulation goes on from it in `link.inertial`.

With w = 1 a number of which the data say nothing stays the file's, and one that they know to a per
cent moves by some hundredth of its standard deviation.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

# Of numbers that cannot be negative and are zero in the file: -SLIGHT log(x) keeps them positive.
SLIGHT = 1e-3
# A link of the file that is a point or a rod is taken to be so thick (m), as a prior.
THICKNESS = 0.01
NEWTON_STEPS, DECREMENT = 200, 1e-9


class Prior(NamedTuple):
    """The file's numbers: start [p]; columns [l, 10] of each link's ten; positive [p] of the others
    that cannot be negative.
    """

    start: Float[np.ndarray, " p"]
    links: np.ndarray
    positive: Bool[np.ndarray, " p"]


def pseudo_inertia(ten: Float[np.ndarray, "*b 10"]) -> Float[np.ndarray, "*b 4 4"]:
    """J of mass, first moments and inertia about the origin (xx yy zz xy xz yz)."""
    m, x, y, z, xx, yy, zz, xy, xz, yz = np.moveaxis(np.asarray(ten), -1, 0)
    half = (xx + yy + zz) / 2
    rows = [
        [half - xx, -xy, -xz, x],
        [-xy, half - yy, -yz, y],
        [-xz, -yz, half - zz, z],
        [x, y, z, m],
    ]
    return np.stack([np.stack(row, -1) for row in rows], -2)


# J is linear in the ten numbers: the matrices of a unit of each, [10, 4, 4].
UNIT = pseudo_inertia(np.eye(10))


def ten_of(J: Float[np.ndarray, "*b 4 4"]) -> Float[np.ndarray, "*b 10"]:
    """The ten numbers of a pseudo-inertia: the inverse of `pseudo_inertia`."""
    S = J[..., :3, :3]
    I = np.trace(S, axis1=-2, axis2=-1)[..., None, None] * np.eye(3) - S
    six = [I[..., i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    return np.stack([J[..., 3, 3], *np.moveaxis(J[..., :3, 3], -1, 0), *six], -1)


def body_like(ten: Float[np.ndarray, " 10"], thickness: float = THICKNESS) -> np.ndarray:
    """A body with these ten numbers, or the nearest at least so thick (m) in every direction."""
    J = pseudo_inertia(ten)
    m, h = J[3, 3], J[:3, 3]
    about_com = J[:3, :3] - np.outer(h, h) / m
    size, axes = np.linalg.eigh(about_com)
    thick = axes @ np.diag(np.maximum(size, m * thickness**2)) @ axes.T
    J = J.copy()
    J[:3, :3] = thick + np.outer(h, h) / m
    return ten_of(J)


def consistent(
    B: Float[np.ndarray, "b p"],
    beta: Float[np.ndarray, " b"],
    covariance: Float[np.ndarray, "b b"],
    prior: Prior,
    weight: float = 1.0,
) -> Float[np.ndarray, " p"]:
    """All numbers [p]: possible bodies, nothing negative that must not be, and the fit kept.

    A base parameter whose variance is NaN is one without effect.
    """
    start = prior.start.copy()
    for own in prior.links:
        start[own] = body_like(start[own])
    told = np.isfinite(np.diag(covariance))
    root = _precision_root(covariance[np.ix_(told, told)])
    A, b = root @ B[told], root @ beta[told]
    known = _Known(start, prior, weight)
    z = start.copy()
    z[known.open] = np.maximum(z[known.open], 1e-3)
    for _ in range(NEWTON_STEPS):
        r = A @ z - b
        g_D, H_D = known.slope(z)
        g, H = A.T @ r + g_D, A.T @ A + H_D
        d = 1 / np.sqrt(np.maximum(np.diag(H), 1e-300))
        step = -d * np.linalg.solve(H * np.outer(d, d) + 1e-13 * np.eye(len(d)), d * g)
        decrement = float(-g @ step)
        if decrement < DECREMENT * max(1.0, float(r @ r)):
            break
        z = _along(z, step, decrement, lambda x: _cost(A, b, known, x))
    return z


def _cost(A: np.ndarray, b: np.ndarray, known: _Known, z: np.ndarray) -> float:
    r = A @ z - b
    return float(r @ r) / 2 + known.value(z)


def _along(z: np.ndarray, step: np.ndarray, decrement: float, cost) -> np.ndarray:
    """The farthest point along a step, halving it, that has become better."""
    before, t = cost(z), 1.0
    while t > 1e-12:
        if cost(z + t * step) <= before - 1e-4 * t * decrement:
            return z + t * step
        t /= 2
    return z


def _precision_root(C: np.ndarray) -> np.ndarray:
    """R with R^T R = C^-1, in units of each standard deviation."""
    d = np.sqrt(np.maximum(np.diag(C), 1e-300))
    values, axes = np.linalg.eigh(C / np.outer(d, d))
    values = np.maximum(values, 1e-12 * values.max(initial=0.0))
    return (axes / np.sqrt(values)).T / d


class _Known:
    """What is known beside the data: distance from the file's numbers, and its derivatives."""

    def __init__(self, start: np.ndarray, prior: Prior, weight: float) -> None:
        self.start, self.links, self.weight = start, prior.links, weight
        of_link = np.zeros(len(start), bool)
        of_link[self.links.reshape(-1)] = True
        self.given = np.flatnonzero(prior.positive & (start > 0))
        self.open = np.flatnonzero(prior.positive & (start <= 0))
        self.inverse = np.linalg.inv(pseudo_inertia(start[self.links]))

    def value(self, z: np.ndarray) -> float:
        """Infinite outside of what is possible."""
        J = pseudo_inertia(z[self.links])
        sign, log = np.linalg.slogdet(J)
        positive = np.concatenate([z[self.given], z[self.open]])
        # A positive determinant with two negative eigenvalues is none either.
        if (positive <= 0).any() or (sign <= 0).any() or (np.linalg.eigvalsh(J) <= 0).any():
            return np.inf
        total = float(np.einsum("lij,lji->", J, self.inverse) - log.sum())
        ratio = z[self.given] / self.start[self.given]
        total += float(np.sum(ratio - np.log(ratio)))
        return self.weight * total - SLIGHT * float(np.log(z[self.open]).sum())

    def slope(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian."""
        g, H = np.zeros(len(z)), np.zeros((len(z), len(z)))
        for own, inverse in zip(self.links, self.inverse, strict=True):
            P = np.linalg.inv(pseudo_inertia(z[own]))
            g[own] = np.einsum("ij,kji->k", inverse - P, UNIT)
            PE = P @ UNIT
            H[np.ix_(own, own)] = np.einsum("aij,bji->ab", PE, PE)
        x, x0 = z[self.given], self.start[self.given]
        g[self.given] += 1 / x0 - 1 / x
        H[self.given, self.given] += 1 / x**2
        g, H = self.weight * g, self.weight * H
        g[self.open] -= SLIGHT / z[self.open]
        H[self.open, self.open] += SLIGHT / z[self.open] ** 2
        return g, H
