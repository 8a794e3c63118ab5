"""Columns of a Jacobian that touch different sensors share a tangent [Curtis, Powell, Reid 1974].

The legs of a robot on a stand do not feel each other, nor do the arms of a machine with two: what
belongs to one has no effect on what is read of the other. Which columns touch which sensors is seen
in one whole Jacobian, for any model. Later ones are computed from as few tangents as that allows,
and one more checks them every time: the sum of all columns with weights drawn at random. Where it
disagrees, the whole Jacobian is computed and looked at again.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

# Sharing is worth it from so much fewer tangents on.
WORTH = 0.6


class Shared(NamedTuple):
    """Tangents that columns [c] share: tangent [c] of each, and weights [c] of the check."""

    tangent: Int[np.ndarray, " c"]
    weight: Float[np.ndarray, " c"]

    @property
    def seeds(self) -> Float[np.ndarray, "k c"]:
        """What each tangent moves; the last is the check."""
        count = int(self.tangent.max(initial=-1)) + 1
        seeds = np.zeros((count + 1, len(self.tangent)))
        seeds[self.tangent, np.arange(len(self.tangent))] = 1.0
        seeds[-1] = self.weight
        return seeds


class Touch:
    """Which columns of a Jacobian touch which sensors, as far as it has been seen."""

    def __init__(
        self, sensors: int, columns: int, dtype: Any = float, agrees: float | None = None
    ) -> None:
        """dtype: what Jacobians are computed in; agrees: to what share sums of their columns do."""
        self._agrees = float(np.sqrt(np.finfo(dtype).eps)) if agrees is None else agrees
        self._touches = np.zeros((sensors, columns), bool)
        self._norm = np.zeros(columns)
        self._seen = np.zeros(columns, bool)
        self._rng = np.random.default_rng(0)

    def learn(
        self, columns: Int[np.ndarray, " c"], J: Float[np.ndarray, "w m c"], width: list[int]
    ) -> None:
        """From the whole J of some columns; width: rows of each sensor."""
        first = np.cumsum([0, *width[:-1]])
        self._touches[:, columns] |= np.logical_or.reduceat((J != 0).any(0), first, 0)
        norm = np.abs(np.where(np.isfinite(J), J, 0.0)).max((0, 1), initial=0.0)
        self._norm[columns] = np.where(norm > 0, norm, 1.0)
        self._seen[columns] = True

    def suppose(
        self,
        columns: Int[np.ndarray, " c"],
        touches: Bool[np.ndarray, "s c"],
        size: Float[np.ndarray, " c"],
    ) -> None:
        """What columns should touch, and what they should be multiplied by to be comparable.

        Where it is wrong the check says so.
        """
        self._touches[:, columns] |= touches
        self._norm[columns] = 1 / np.where(size > 0, size, 1.0)
        self._seen[columns] = True

    def touched(self, column: int) -> Bool[np.ndarray, " s"] | None:
        """Which sensors a column touches; None where that has not been seen."""
        return self._touches[:, column] if self._seen[column] else None

    def shared(self, columns: Int[np.ndarray, " c"]) -> Shared | None:
        """Tangents for some columns; None if there would be hardly fewer, or they are not known."""
        if len(columns) < 2 or not self._seen[columns].all():
            return None
        tangent = colours(self._touches[:, columns])
        if tangent.max() + 2 > WORTH * len(columns):
            return None
        weight = self._rng.uniform(0.5, 1.5, len(columns)) / self._norm[columns]
        return Shared(tangent, weight)

    def whole(
        self,
        columns: Int[np.ndarray, " c"],
        shared: Shared,
        J: Float[np.ndarray, "w m k"],
        width: list[int],
    ) -> Float[np.ndarray, "w m c"] | None:
        """The Jacobian by columns, from one along `shared.seeds`; None if the check disagrees.

        width: rows of each sensor.
        """
        found = np.zeros((*J.shape[:2], len(columns)))
        with np.errstate(invalid="ignore", over="ignore"):
            # Rounding is far below this, and windows that diverged are dealt with by others.
            most = self._agrees * np.maximum(np.abs(J[..., -1]).max(1, keepdims=True), 1.0)
        ends = np.cumsum(width)
        for own, first, end in zip(self._touches[:, columns], ends - width, ends, strict=True):
            (which,) = np.nonzero(own)
            rows, check = J[:, first:end, shared.tangent[which]], J[:, first:end, -1]
            with np.errstate(invalid="ignore", over="ignore"):
                if (np.abs(rows @ shared.weight[which] - check) > most).any():
                    return None
            found[:, first:end, which] = rows
        return found


def colours(touches: Bool[np.ndarray, "s c"]) -> Int[np.ndarray, " c"]:
    """A tangent for each column; those of one tangent touch no sensor twice. Greedy."""
    taken: list[np.ndarray] = []
    out = np.zeros(touches.shape[1], int)
    for c in np.argsort(-touches.sum(0), kind="stable"):
        free = (k for k, used in enumerate(taken) if not (used & touches[:, c]).any())
        out[c] = next(free, len(taken))
        if out[c] == len(taken):
            taken.append(np.zeros(len(touches), bool))
        taken[out[c]] |= touches[:, c]
    return out
