"""The cost over a grid of two parameters: how many wells there are, how wide the right one is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graftsim.errors import ProblemError, suggest
from graftsim.identify.problem import Problem
from graftsim.identify.programs import compiled
from graftsim.identify.residuals import Compiled
from graftsim.identify.search import interval
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.many import minimise_many

# Iterations for the initial states of each cell, and cells that are solved together.
ITERATIONS, CHUNK = 6, 64


@dataclass(frozen=True)
class Landscape:
    """Cost [len(y), len(x)] over two parameters, the others held; infinite where it is not finite.

    `names` and `units` of x and y, `start` and `found` (x, y) of a fit, found None without one.
    """

    names: tuple[str, str]
    units: tuple[str, str]
    x: np.ndarray
    y: np.ndarray
    cost: np.ndarray
    start: tuple[float, float]
    found: tuple[float, float] | None = None

    @property
    def wells(self) -> int:
        """Cells that are lower than their eight neighbours."""
        c = np.pad(self.cost, 1, constant_values=np.inf)
        ny, nx = self.cost.shape
        around = [
            c[1 + i : 1 + i + ny, 1 + j : 1 + j + nx]
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        ]
        return int(np.count_nonzero(self.cost < np.min(around, 0)))

    def save(self, path: str | Path) -> None:
        """Write the map as an SVG picture."""
        from graftsim.report.landscape import standalone

        Path(path).write_text(standalone(self), encoding="utf-8")


def landscape(
    problem: Problem,
    x: str,
    y: str,
    *,
    points: int = 41,
    horizon: float | None = None,
    theta: np.ndarray | None = None,
) -> Landscape:
    """Cost of a problem over two parameters named x and y, each at `points` values within bounds.

    The others are held at theta [p] of a fit (`result.theta`), by default at the start; initial
    states of windows adjust. Parameters without bounds go from a fifth to five times their start.

    Raises ProblemError: an unknown name, or a parameter without bounds that starts at zero.
    """
    p = problem.parameters
    names = list(p.names)
    for name in (x, y):
        if name not in names:
            raise ProblemError(f"landscape over '{name}'. {suggest(name, names)}")
    i, j = names.index(x), names.index(y)
    if i == j:
        raise ProblemError(f"landscape over {x} twice: it takes two parameters.")
    lower, upper = interval(problem)
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


def _chunks(cells: np.ndarray) -> list[np.ndarray]:
    """Equal portions; the last one is filled up, so that one program serves all."""
    rows = np.minimum(np.arange(-(-len(cells) // CHUNK) * CHUNK), len(cells) - 1)
    return list(cells[rows].reshape(-1, CHUNK, cells.shape[1]))


def _costs(problem: Problem, programs: Compiled, cells: np.ndarray) -> np.ndarray:
    """Costs [n] of theta [n, p], initial states adjusting."""
    none = np.zeros(0, int)
    windows = len(programs.data.controls)
    local = np.zeros((len(cells), windows, problem.nlocal))
    if not problem.nlocal:
        with np.errstate(over="ignore", invalid="ignore"):
            cost = 0.5 * np.sum(programs.many_residuals(cells, local) ** 2, (1, 2))
        return np.where(np.isfinite(cost), cost, np.inf)
    found = minimise_many(
        lambda _, l: programs.many_residuals(cells, l),
        lambda _, l: programs.many_jacobians(cells, l, none),
        np.zeros((len(cells), 0)),
        local,
        problem.bounds_of(problem.parameters.start).only(none),
        LevenbergMarquardt(ITERATIONS),
    )
    return found.cost
