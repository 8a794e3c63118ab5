"""What the length of the integrator's step does to the parameters, from half steps.

To the middle of each window the program runs as many steps of half the length. The change d of the
residuals there moves the parameters by -S^-1 P^T d, by the linear algebra of a fit; an integrator
of order p is 2^p / (2^p - 1) times as far from the limit of short steps.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from graftsim.engine.simulator import Simulator
from graftsim.identify.doubt.retimed import half_steps
from graftsim.identify.problem.residuals import residual_width
from graftsim.identify.results.information import positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.optim.arrowhead import reduced

# Integrators of this order or more are not tested: their error is far below any sensor's.
SMOOTH = 4


def steps_matter(simulator: Simulator) -> bool:
    """Can the step be halved: a low order, and no networks for which a step is a unit of time?"""
    remembers = simulator.grafts is not None and simulator.grafts.memory()
    return simulator.integrator.order < SMOOTH and not remembers


def change_of_residuals(
    program: ResidualProgram, simulator: Simulator, theta: np.ndarray, local: np.ndarray
) -> tuple[Float[np.ndarray, "w m"], Float[np.ndarray, "w m"]]:
    """What half the step does to whitened residuals, and which of them it reaches (1 or 0).

    simulator: the problem's at theta.
    """
    data = program.data
    timing, halved = half_steps(simulator, data)
    finer = program.on(halved)
    assert finer is not None
    pairs = zip(
        program.readings(theta, local)[2], finer.readings(theta, local, timing)[2], strict=True
    )
    middle = float(simulator.dt) * (data.controls.shape[1] // 2)
    widths = residual_width(program.reader.sensors)
    changes, reached = [], []
    for (error, fine), weight, time, width in zip(
        pairs, data.weight, data.time, widths, strict=True
    ):
        early = np.repeat((np.asarray(time) <= middle)[..., None], width, -1)
        changes.append((((fine - error) * np.asarray(weight)) * early).reshape(len(error), -1))
        reached.append(early.reshape(len(error), -1))
    return np.concatenate(changes, 1), np.concatenate(reached, 1).astype(float)


def shift_of_parameters(
    at: Linearisation, change: np.ndarray, reached: np.ndarray, order: int
) -> Float[np.ndarray, " p"] | None:
    """How far the parameters [p] are from those of very short steps; None if it cannot be said."""
    rows = reached[..., None]
    half = at._replace(r=change, J_t=at.J_t * rows, J_l=at.J_l * rows, local=0 * at.local)
    S, g = reduced(half.without_prior().normal())
    # Windows of one step have no middle, and what their first halves do not tell has no shift.
    if not (np.isfinite(S).all() and np.isfinite(g).all() and (np.diag(S) > 0).all()):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        shift = -positive_inverse(S) @ g * 2**order / (2**order - 1)
    return shift if np.isfinite(shift).all() else None
