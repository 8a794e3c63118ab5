"""The cost over a grid of two parameters: how many wells there are, how wide the right one is."""

from __future__ import annotations

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.errors import ProblemError, suggest
from graftsim.identify.problem.parameters import search_box
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Landscape
from graftsim.identify.runs.residual_program import ResidualProgram, compiled
from graftsim.optim.least_squares import LevenbergMarquardt, Points, minimise_many

# Iterations for the initial states of each cell, and cells that are solved together.
ITERATIONS, CHUNK = 6, 64


@one_blas_thread
def landscape(
    problem: Problem,
    x: str,
    y: str,
    *,
    points: int = 25,
    horizon: float | None = None,
    theta: np.ndarray | None = None,
) -> Landscape:
    """Cost of a problem over two parameters named x and y, each at `points` values within bounds.

    The others are held at theta [p] of a fit (`result.theta`), by default at the start; initial
    states of windows adjust. Parameters without bounds go from a fifth to five times their start.

    Raises ProblemError: an unknown name, or a parameter without bounds that starts at zero.
    """
    p = problem.parameters
    i, j, lower, upper = landscape_box(problem, x, y)
    xs, ys = (np.linspace(lower[k], upper[k], points) for k in (i, j))
    cells = np.tile(p.start if theta is None else theta, (points * points, 1))
    cells[:, i], cells[:, j] = (g.ravel() for g in np.meshgrid(xs, ys))
    programs = compiled(problem, problem.horizons[-1] if horizon is None else horizon)
    cost = np.concatenate([_costs(problem, programs, part) for part in _chunks(cells)])
    return Landscape(
        (x, y),
        (p.units[i], p.units[j]),
        xs,
        ys,
        cost[: len(cells)].reshape(points, points),
        (float(p.start[i]), float(p.start[j])),
        None if theta is None else (float(theta[i]), float(theta[j])),
    )


def landscape_box(problem: Problem, x: str, y: str) -> tuple[int, int, np.ndarray, np.ndarray]:
    """Which parameters a landscape is over, and the ends [p] of their ranges; costs no simulation.

    Raises ProblemError as `landscape`.
    """
    names = list(problem.parameters.names)
    for name in (x, y):
        if name not in names:
            raise ProblemError(f"landscape over '{name}'. {suggest(name, names)}")
    i, j = names.index(x), names.index(y)
    if i == j:
        raise ProblemError(f"landscape over {x} twice: it takes two parameters.")
    lower, upper = search_box(problem.parameters)
    for k in (i, j):
        if not lower[k] < upper[k]:
            raise ProblemError(
                f"A landscape needs bounds for {names[k]}: it starts at zero. Give them, such as "
                f"--free '{names[k]}=0:1'."
            )
    return i, j, lower, upper


def _chunks(cells: np.ndarray) -> list[np.ndarray]:
    """Equal portions; the last one is filled up, so that one program serves all."""
    rows = np.minimum(np.arange(-(-len(cells) // CHUNK) * CHUNK), len(cells) - 1)
    return list(cells[rows].reshape(-1, CHUNK, cells.shape[1]))


def _costs(problem: Problem, programs: ResidualProgram, cells: np.ndarray) -> np.ndarray:
    """Costs [n] of theta [n, p], initial states adjusting."""
    none = np.zeros(0, int)
    windows = len(programs.data.controls)
    local = np.zeros((len(cells), windows, problem.nlocal))
    if not problem.nlocal:
        with np.errstate(over="ignore", invalid="ignore"):
            cost = 0.5 * np.sum(programs.many_residuals(cells, local) ** 2, (1, 2))
        return np.where(np.isfinite(cost), cost, np.inf)
    options = LevenbergMarquardt(ITERATIONS)
    found = minimise_many(
        lambda _, l: programs.many_residuals(cells, l),
        lambda _, l: programs.many_jacobians(cells, l, none),
        Points.at(np.zeros((len(cells), 0)), local, options.damping),
        problem.bounds_of(problem.parameters.start).only(none),
        options,
    )
    return found.cost
