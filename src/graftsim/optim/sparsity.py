"""Sparse-group lasso: a penalty on groups of unknowns whose minimum has exact zeros.

    P(z) = sum over groups g of  l1 |z_g|_1 + l2 sqrt(n_g) |z_g|_2

(Simon, Friedman, Hastie, Tibshirani 2013). A group, here the weights of one input of a network, is
zero as a whole or not. The penalised Gauss-Newton step is found by block coordinate descent, which
sets a group to zero exactly where that is the minimum, with Newton steps on what is not zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

ROUNDS = 60
SWEEPS = 4
INNER = 8
NEWTON = 30
TOLERANCE = 1e-9


@dataclass(frozen=True)
class SparseGroupLasso:
    """Strengths, in units of the cost (half the whitened sum of squares) by unit of weight.

    `l1` on single weights (the papers' penalty), `group` on groups as wholes.
    """

    l1: float = 0.0
    group: float = 0.0


class Penalty(NamedTuple):
    """The penalty on a vector: `group` [p] numbers the groups, -1 where nothing is penalised."""

    group: np.ndarray
    l1: float
    l2: float

    def members(self) -> list[np.ndarray]:
        """Places of each group."""
        return [np.flatnonzero(self.group == g) for g in np.unique(self.group[self.group >= 0])]

    def value(self, z: np.ndarray) -> float:
        """P(z)."""
        size = sum(np.sqrt(len(i)) * np.linalg.norm(z[i]) for i in self.members())
        return float(self.l1 * np.abs(z[self.group >= 0]).sum() + self.l2 * size)


def penalised_step(
    S: np.ndarray,
    rhs: np.ndarray,
    theta: np.ndarray,
    penalty: Penalty,
    tolerance: float = TOLERANCE,
) -> np.ndarray:
    """d that minimises  d^T S d / 2 - rhs^T d + P(theta + d),  S [p, p] positive definite.

    It ends where the conditions of the minimum hold to `tolerance` of the largest pull.
    """
    inside = np.flatnonzero(penalty.group >= 0)
    rest = np.flatnonzero(penalty.group < 0)
    # What is not penalised is eliminated, and follows the rest exactly.
    K = np.linalg.solve(S[np.ix_(rest, rest)], S[np.ix_(rest, inside)])
    k = np.linalg.solve(S[np.ix_(rest, rest)], rhs[rest])
    Q = S[np.ix_(inside, inside)] - S[np.ix_(inside, rest)] @ K
    c = rhs[inside] - S[np.ix_(inside, rest)] @ k
    own = penalty._replace(group=penalty.group[inside])
    z = _descend(Q, c + Q @ theta[inside], theta[inside].copy(), own, tolerance)
    d = np.zeros(len(rhs))
    d[inside] = z - theta[inside]
    d[rest] = k - K @ d[inside]
    return d


def _descend(
    Q: np.ndarray, c: np.ndarray, z: np.ndarray, penalty: Penalty, tolerance: float
) -> np.ndarray:
    """z that minimises  z^T Q z / 2 - c^T z + P(z).

    Descent by groups finds what is zero, Newton's method the rest, in turns until the conditions of
    the minimum hold.
    """
    groups = penalty.members()
    curvature = [max(float(np.linalg.eigvalsh(Q[np.ix_(i, i)])[-1]), 1e-300) for i in groups]
    near = tolerance * float(np.abs(c).max(initial=0.0))
    for _ in range(ROUNDS):
        for _ in range(SWEEPS):
            z = _sweep(Q, c, z, penalty, groups, curvature)
        z = _newton(Q, c, z, penalty, groups, near)
        if _distance(Q, c, z, penalty, groups) <= near:
            break
    return z


def _sweep(
    Q: np.ndarray,
    c: np.ndarray,
    z: np.ndarray,
    penalty: Penalty,
    groups: list[np.ndarray],
    curvature: list[float],
) -> np.ndarray:
    """One descent along each group: exactly zero where that is the minimum, else some steps."""
    z = z.copy()
    for i, L in zip(groups, curvature, strict=True):
        block = Q[np.ix_(i, i)]
        pull = c[i] - Q[i] @ z + block @ z[i]
        threshold = penalty.l2 * np.sqrt(len(i))
        if np.linalg.norm(_soft(pull, penalty.l1)) <= threshold:
            z[i] = 0.0
            continue
        for _ in range(INNER):
            moved = _soft(z[i] - (block @ z[i] - pull) / L, penalty.l1 / L)
            size = np.linalg.norm(moved)
            z[i] = max(1 - threshold / L / size, 0.0) * moved if size > 0 else moved
    return z


def _newton(
    Q: np.ndarray,
    c: np.ndarray,
    z: np.ndarray,
    penalty: Penalty,
    groups: list[np.ndarray],
    near: float,
) -> np.ndarray:
    """Minimum over what is not zero, where the objective is smooth; what would cross zero stops."""

    def objective(z: np.ndarray) -> float:
        return float(0.5 * z @ Q @ z - c @ z) + penalty.value(z)

    value = objective(z)
    for _ in range(NEWTON):
        slope, H = Q @ z - c + penalty.l1 * np.sign(z), Q.copy()
        for i in groups:
            size, edge = float(np.linalg.norm(z[i])), penalty.l2 * np.sqrt(len(i))
            if size > 0 and edge > 0:
                unit = z[i] / size
                slope[i] += edge * unit
                H[np.ix_(i, i)] += edge / size * (np.eye(len(i)) - np.outer(unit, unit))
        on = np.flatnonzero(z)
        if not len(on) or np.abs(slope[on]).max() <= 0.1 * near:
            break
        step = np.zeros_like(z)
        part = H[np.ix_(on, on)]
        # A trace of a ridge, so that rounding cannot make it singular.
        part[np.diag_indices(len(on))] += 1e-14 * np.trace(part)
        step[on] = np.linalg.solve(part, -slope[on])
        for share in 0.5 ** np.arange(12):
            trial = z + share * step
            if penalty.l1 > 0:
                trial[trial * z < 0] = 0.0
            lower = objective(trial)
            if lower < value:
                break
        else:
            # At the precision of the objective the full step is still the better point.
            return z + step if np.abs(step).max() <= 1e-6 * np.abs(z).max() else z
        z, value = trial, lower
    return z


def _distance(
    Q: np.ndarray, c: np.ndarray, z: np.ndarray, penalty: Penalty, groups: list[np.ndarray]
) -> float:
    """How far z is from the conditions of the minimum: zero in the subdifferential."""
    pull, worst = c - Q @ z, 0.0
    for i in groups:
        size, edge = np.linalg.norm(z[i]), penalty.l2 * np.sqrt(len(i))
        if size == 0:
            off = max(float(np.linalg.norm(_soft(pull[i], penalty.l1))) - edge, 0.0)
        else:
            rest = pull[i] - edge * z[i] / size
            off = np.where(z[i] == 0, _soft(rest, penalty.l1), rest - penalty.l1 * np.sign(z[i]))
        worst = max(worst, float(np.abs(off).max()))
    return worst


def _soft(x: np.ndarray, by: float) -> np.ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - by, 0.0)
