"""Sparse-group lasso: a penalty on groups of unknowns whose minimum has exact zeros.

    P(z) = sum over groups g of  l1 |z_g|_1 + l2 sqrt(n_g) |z_g|_2

(Simon, Friedman, Hastie, Tibshirani 2013). A group, here the weights of one input of a network, is
zero as a whole or not. The penalised Gauss-Newton step is found by block coordinate descent, which
sets a group to zero exactly where that is the minimum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

SWEEPS = 500
INNER = 10
TOLERANCE = 1e-8


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

    The descent ends when a sweep changes no unknown by more than `tolerance` of the largest.
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
    """z that minimises  z^T Q z / 2 - c^T z + P(z)."""
    groups = penalty.members()
    blocks = [Q[np.ix_(i, i)] for i in groups]
    rows = [Q[i] for i in groups]
    curvature = [max(float(np.linalg.eigvalsh(b)[-1]), 1e-300) for b in blocks]
    for _ in range(SWEEPS):
        before = z.copy()
        for i, block, row, L in zip(groups, blocks, rows, curvature, strict=True):
            x = z[i]
            pull = c[i] - row @ z + block @ x
            threshold = penalty.l2 * np.sqrt(len(i))
            if _norm(_soft(pull, penalty.l1)) <= threshold:
                z[i] = 0.0
                continue
            for _ in range(INNER):
                moved = _soft(x - (block @ x - pull) / L, penalty.l1 / L)
                size = _norm(moved)
                new = moved * max(1 - threshold / L / size, 0.0) if size > 0 else moved
                change, x = _norm(new - x), new
                if change <= tolerance * _norm(x):
                    break
            z[i] = x
        if _norm(z - before) <= tolerance * _norm(z):
            break
    return z


def _norm(x: np.ndarray) -> float:
    return math.sqrt(x @ x)


def _soft(x: np.ndarray, by: float) -> np.ndarray:
    return np.sign(x) * np.maximum(np.abs(x) - by, 0.0)
