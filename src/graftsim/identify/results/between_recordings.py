"""Do recordings agree? What each would say alone, and how far parameters spread between them.

Each recording's estimate is one Gauss-Newton step from the joint solution, with its own windows
alone. The spread tau beyond what noise explains is the moment estimate of a random effect
(DerSimonian & Laird 1986): with weights w_r = 1 / s_r^2 and Q = sum_r w_r (theta_r - mean)^2,

    tau^2 = max(0, (Q - (R - 1)) / (sum w - sum w^2 / sum w)).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import chdtrc

from graftsim.identify.results.information import positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.whiteness import LEVEL
from graftsim.optim.arrowhead import reduced


class Spread(NamedTuple):
    """Between recordings, of p parameters: standard deviation `tau` [p] beyond the noise, `p`
    [p] of as much disagreement by chance, `mean_std` [p] of the mean of all machines that such
    recordings are drawn from. NaN where recordings alone do not determine a parameter.

    `alone` [R, p], `alone_std` [R, p]: what each recording says by itself.
    """

    parameters: tuple[str, ...]
    recordings: tuple[str, ...]
    tau: np.ndarray
    p: np.ndarray
    mean_std: np.ndarray
    alone: np.ndarray
    alone_std: np.ndarray


def between_recordings(
    parameters: Sequence[str],
    names: Sequence[str],
    at: Linearisation,
    std: Float[np.ndarray, " p"],
    variance_ratio: float,
) -> Spread | None:
    """Spread of `parameters` [p] between the recordings `names` [w] of the windows of a minimum,
    linearised by these parameters alone; None of fewer than two recordings.

    std: of the parameters in the joint fit; what one recording's estimate has more than independent
    noise gives is taken from it.
    """
    recordings = tuple(dict.fromkeys(names))
    theta = at.theta
    if len(recordings) < 2 or not theta.size:
        return None
    which = np.array([recordings.index(name) for name in names])
    # Curvature and gradient of each recording's windows, without priors.
    own = [reduced(at.of(which == i).without_prior().normal()) for i in range(len(recordings))]
    joint = np.sum([S for S, _ in own], 0) + np.diag(at.bounds.prior_std**-2.0)
    wider = std / np.sqrt(np.diag(positive_inverse(joint)))
    wider = np.maximum(wider, np.sqrt(max(variance_ratio, 1)))
    inverses = [positive_inverse(S) for S, _ in own]
    alone = np.array([theta - C @ g for C, (_, g) in zip(inverses, own, strict=True)])
    alone_std = np.array([np.sqrt(np.diag(C)) * wider for C in inverses])
    return Spread(tuple(parameters), recordings, *random_effect(alone, alone_std, theta))


def random_effect(
    alone: np.ndarray, std: np.ndarray, theta: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """tau, p, standard deviation of the mean, and the estimates themselves."""
    with np.errstate(all="ignore"):
        # Weight 0 for recordings whose standard error exceeds the parameter's size.
        w = np.where(std < np.maximum(np.abs(theta), 1e-300), std**-2.0, 0.0)
        count = np.count_nonzero(w, 0)
        total = w.sum(0)
        mean = np.sum(w * alone, 0) / total
        Q = np.sum(w * (alone - mean) ** 2, 0)
        tau2 = np.maximum(0.0, (Q - (count - 1)) / (total - np.sum(w * w, 0) / total))
        p = chdtrc(count - 1, Q)
        own = np.where(w > 0, 1 / (std**2 + tau2), 0.0)
        mean_std = 1 / np.sqrt(own.sum(0))
    known = count >= 2
    tau, p, mean_std = (np.where(known, x, np.nan) for x in (np.sqrt(tau2), p, mean_std))
    return tau, p, mean_std, alone, std


def disagree(spread: Spread) -> np.ndarray:
    """[p] Do recordings differ by more than chance, and by how much it matters?"""
    with np.errstate(invalid="ignore"):
        return spread.p < LEVEL / max(len(spread.p), 1)
