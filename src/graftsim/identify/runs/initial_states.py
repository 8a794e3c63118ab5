"""Initial states of windows for given parameters, each window for itself."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt, Points, minimise_many

# Displacements [w, s] of the initial states -> residuals [w, m], and their Jacobians [w, m, s].
Residuals = Callable[[np.ndarray], np.ndarray]
Jacobians = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]


def best_initial_states(
    residuals: Residuals,
    jacobians: Jacobians,
    guess: Float[np.ndarray, "w s"],
    local_std: Float[np.ndarray, " s"],
    options: LevenbergMarquardt,
) -> Float[np.ndarray, "w s"]:
    """Displacements of the initial states that fit each window best.

    Windows are problems of their own, side by side; one that diverges keeps its guess.
    """
    if not guess.shape[1]:
        return guess

    def many(_: np.ndarray, local: np.ndarray) -> np.ndarray:
        return residuals(local[:, 0])[:, None]

    def slopes(_: np.ndarray, local: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r, J = jacobians(local[:, 0])
        return r[:, None], np.zeros((*r[:, None].shape, 0)), J[:, None]

    start = Points.at(np.zeros((len(guess), 0)), guess[:, None], options.damping)
    return minimise_many(many, slopes, start, Bounded.of_local(local_std), options).local[:, 0]
