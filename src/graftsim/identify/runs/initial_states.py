"""Initial states of windows for given parameters, each window for itself."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt, Points, minimise_many


def best_initial_states(
    program: ResidualProgram,
    theta: Float[np.ndarray, " p"],
    guess: Float[np.ndarray, "w s"],
    local_std: Float[np.ndarray, " s"],
    options: LevenbergMarquardt,
) -> Float[np.ndarray, "w s"]:
    """Displacements of the initial states that fit each window of a program best at theta.

    Windows are problems of their own, side by side; one that diverges keeps its guess.
    """
    if not guess.shape[1]:
        return guess
    none = np.zeros(0, int)

    def many(_: np.ndarray, local: np.ndarray) -> np.ndarray:
        return program.residual(theta, local[:, 0])[:, None]

    def slopes(_: np.ndarray, local: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r, _, J = program.jacobian(theta, local[:, 0], none)
        return r[:, None], np.zeros((*r[:, None].shape, 0)), J[:, None]

    start = Points.at(np.zeros((len(guess), 0)), guess[:, None], options.damping)
    return minimise_many(many, slopes, start, Bounded.of_local(local_std), options).local[:, 0]
