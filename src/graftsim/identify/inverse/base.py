"""Base parameters: the combinations of numbers that a motion can tell, each by its name.

Of the columns of a regressor some are combinations of others. Going through them in an order of
preference, a column is kept if it is no combination of those kept before it: a QR decomposition
whose pivots are chosen by that order (Gautier 1991). A dependent column d = sum_i K_id (column i)
adds its number to theirs: beta_i = phi_i + sum_d K_id phi_d.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from graftsim.identify.inverse.forces.term import ForceTerm, Motion
from graftsim.identify.inverse.forces.terms import Regressor, regressor
from graftsim.identify.inverse.forces.transmission import LinearTransmission
from graftsim.model.model import Model

# A column is a combination of others if less than this share of it is left. Random motions leave
# some 1e-3 of what is independent and 1e-14 of what is not.
RANK_TOLERANCE = 1e-8
# Coefficients below this are rounding.
SMALLEST = 1e-9
# Moves joints over their whole range, fast enough that every force is of the size of gravity's.
SAMPLES, SPEED, ACCELERATION = 60, 3.0, 20.0
# Kept first within a link: inertia, then first moments, then mass, so that masses join them.
_WITHIN = (4, 5, 6, 7, 8, 9, 1, 2, 3, 0)


class BaseParameters(NamedTuple):
    """beta = B phi, the numbers phi [p] as a regression can tell them [b].

    independent: [b] which numbers lead a combination. B: [b, p]. names: of phi. units: of beta.
    """

    independent: np.ndarray
    B: np.ndarray
    names: tuple[str, ...]
    units: tuple[str, ...]

    def expressions(self, digits: int = 4, above: float = SMALLEST) -> tuple[str, ...]:
        """Each as a sum, `link.moment[a].x + 0.3 link.mass[b]`, without terms up to `above`."""
        found = []
        for row, lead in zip(self.B, self.independent, strict=True):
            text = self.names[lead]
            for k in np.flatnonzero(np.abs(row) > above).tolist():
                if k == lead:
                    continue
                size = abs(row[k])
                factor = "" if abs(size - 1) < 1e-9 else f"{size:.{digits}g} "
                text += f" {'-' if row[k] < 0 else '+'} {factor}{self.names[k]}"
            found.append(text)
        return tuple(found)

    def spread(self, beta: Float[np.ndarray, " b"]) -> Float[np.ndarray, " p"]:
        """Numbers phi [p] with these base parameters: those that lead, the others zero."""
        phi = np.zeros(len(self.names))
        phi[self.independent] = beta
        return phi

    def columns(self, X: Float[np.ndarray, "*n p"]) -> Float[np.ndarray, "*n b"]:
        """Columns of the base parameters, of a regressor."""
        return X[..., self.independent]


def random_motion(
    model: Model, transmission: LinearTransmission | None = None, seed: int = 0
) -> Motion:
    """States that excite all that a mechanism can show: every joint over its whole turn."""
    rng = np.random.default_rng(seed)
    q = []
    for kind in model.tree.joint_types:
        if kind.one_by_one:
            q.append(rng.uniform(-1, 1, (SAMPLES, kind.nq)) * [_reach(u) for u in kind.units])
            continue
        turn = rng.normal(size=(SAMPLES, 4))
        turn /= np.linalg.norm(turn, axis=1, keepdims=True)
        q.append(np.concatenate([rng.uniform(-1, 1, (SAMPLES, kind.nq - 4)), turn], 1))
    qd = rng.uniform(-SPEED, SPEED, (SAMPLES, model.nv))
    qdd = rng.uniform(-ACCELERATION, ACCELERATION, (SAMPLES, model.nv))
    return Motion(model, np.concatenate(q, 1), qd, qdd, transmission)


def _reach(unit: str) -> float:
    return np.pi if unit == "rad" else 1.0


def base_parameters(
    model: Model,
    terms: Sequence[ForceTerm],
    transmission: LinearTransmission | None = None,
    motion: Regressor | None = None,
    tolerance: float = RANK_TOLERANCE,
) -> BaseParameters:
    """The base parameters of a model: on random motions what it can show at all, or of a motion
    given by its regressor, what that shows to more than `tolerance` of a column.
    """
    at = motion or regressor(random_motion(model, transmission), tuple(terms))
    A = at.X.reshape(-1, at.X.shape[-1])
    scale = np.linalg.norm(A, axis=0)
    felt = scale > tolerance * scale.max(initial=0.0)
    A = A / np.where(felt, scale, 1.0)
    order = [k for k in _preference(at.names) if felt[k]]
    kept, Q = [], np.zeros((len(A), 0))
    for k in order:
        left = A[:, k]
        # Twice is enough (Giraud, Langou & Rozloznik 2005).
        for _ in range(2):
            left = left - Q @ (Q.T @ left)
        size = float(np.linalg.norm(left))
        if size > tolerance:
            kept.append(k)
            Q = np.concatenate([Q, (left / size)[:, None]], 1)
    kept = np.array(kept, int)
    B = np.zeros((len(kept), len(at.names)))
    B[:, felt] = np.linalg.lstsq(A[:, kept], A[:, felt], rcond=None)[0]
    B = B / scale[kept, None] * np.where(felt, scale, 0.0)
    B[np.abs(B) < SMALLEST] = 0.0
    B[:, kept] = np.eye(len(kept))
    return BaseParameters(kept, B, at.names, tuple(at.units[k] for k in kept))


def _preference(names: Sequence[str]) -> list[int]:
    """The order of columns: as terms give them, but within a link its mass last."""
    order, k = [], 0
    while k < len(names):
        if names[k].startswith("link.mass"):
            order += [k + i for i in _WITHIN]
            k += 10
        else:
            order.append(k)
            k += 1
    return order
