"""Closed formulas: the few simple terms that say what a network learned.

Starts from the library of the screening, with the kept inputs free; takes the subset of terms with
the least Bayesian information criterion (Schwarz 1978) in the quadratic model of the fit there, and
fits their coefficients to the recordings themselves, not to the network. Of a row's terms, those
that are not three standard deviations from zero are then left out, one by one.
"""

from __future__ import annotations

from itertools import combinations
from typing import NamedTuple

import numpy as np

from graftsim.graft.bound import BoundGraft, BoundGrafts
from graftsim.graft.library import Terms
from graftsim.graft.pointwise import STRIBECK_WIDTH, TERMS
from graftsim.identify.discover.score_test import Screened
from graftsim.identify.problem.parameters import Group
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results import information
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.arrowhead import normal_equations, reduced
from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point

MOST = 3
# So many standard deviations from zero a term is worth saying.
CERTAIN = 3.0
# How the unit of a coefficient follows from those of output and input.
_POWER = {"linear": 1, "quadratic": 2, "cubic": 3}


class Term(NamedTuple):
    """One term: coefficient and its standard deviation in physical units, and how it is written.

    `scale` of the input, in which widths of signs are counted.
    """

    group: Group
    kind: str
    value: float
    std: float
    unit: str
    text: str
    scale: float = 1.0

    def evaluate(self, x: np.ndarray) -> np.ndarray:
        """The term at raw inputs."""
        power = self.scale ** _POWER.get(self.kind, 0)
        return self.value * power * np.asarray(TERMS[self.kind](x / self.scale))


class Formula(NamedTuple):
    """Terms kept, and the parameters [p] of the library problem with them."""

    terms: tuple[Term, ...]
    theta: np.ndarray


class Quadratic(NamedTuple):
    """The quadratic model of a fit's cost about a point, in theta [p]: gradient g, curvature S."""

    point: Point
    bounds: Bounded
    g: np.ndarray
    S: np.ndarray

    @classmethod
    def about(cls, problem: Problem, compiled: ResidualProgram, point: Point) -> Quadratic:
        """The local unknowns adjust to what theta does."""
        bounds = problem.bounds_of(point.theta)
        linear = compiled.jacobian(point.theta, point.local)
        S, g = reduced(normal_equations(*linear, point.theta, point.local, bounds))
        return cls(point, bounds, g, S)

    def without(self, out: list[int], free: np.ndarray) -> tuple[np.ndarray, float]:
        """Where the cost is least with the weights in `out` zero and all others that are free [p]
        adjusting, and how much it is there.
        """
        gone = np.array(out, int)
        keep = np.setdiff1d(np.flatnonzero(free), gone)
        d = np.zeros(len(self.g))
        d[gone] = -self.point.theta[gone]
        pull = self.g[keep] + self.S[np.ix_(keep, gone)] @ d[gone]
        d[keep] = np.linalg.lstsq(self.S[np.ix_(keep, keep)], -pull, rcond=1e-12)[0]
        cost = self.point.cost + self.g @ d + 0.5 * d @ self.S @ d
        return np.clip(self.point.theta + d, self.bounds.lower, self.bounds.upper), float(cost)


def find_formula(problem: Problem, groups: tuple[Group, ...], found: Screened) -> Formula:
    """Terms of the kept groups of a library problem, and their coefficients, fitted.

    At most three terms for each group's row are looked for.
    """
    p, compiled = problem.parameters, found.compiled
    inside = np.array([i for i, g in enumerate(p.group) if g >= 0 and p.groups[g] in groups], int)
    free = (p.group < 0) | np.isin(np.arange(len(p)), inside)
    point = _fitted(problem, found, found.theta, ~free)
    model = Quadratic.about(problem, compiled, point)
    chosen: list[int] = []
    for row in dict.fromkeys((g.graft, g.row) for g in groups):
        mine = [i for i in inside if (p.groups[p.group[i]][:2]) == row]
        chosen += _subset(model, mine, free, found.samples)
    while True:
        # Terms that are nearly alike have large weights that cancel: what one leaves behind
        # the others take over before anything is simulated.
        start, _ = model.without([i for i in inside if i not in chosen], free)
        zero = (p.group >= 0) & ~np.isin(np.arange(len(p)), chosen)
        point = _fitted(problem, found, start, zero)
        r, J_t, J_l = compiled.jacobian(point.theta, point.local)
        bounds = problem.bounds_of(point.theta)
        at = Linearisation(r, J_t, J_l, point.theta, point.local, bounds)
        info = information.information(at, zero)
        variance = np.diag(info.covariance)
        # Terms that the data do not tell apart have none; neither is known.
        std = np.sqrt(np.where(variance > 0, variance, np.inf))
        doubtful = _doubtful(problem, chosen, point.theta, std)
        if doubtful is None:
            break
        chosen.remove(doubtful)
        model = Quadratic.about(problem, compiled, point)
    terms = [_term(problem, i, point.theta[i], std[i]) for i in chosen]
    return Formula(tuple(terms), point.theta)


def _fitted(problem: Problem, found: Screened, start: np.ndarray, zero: np.ndarray) -> Point:
    """Fit from start [p], or without any effect where that cannot be simulated; zero: [p] which
    weights stay zero.
    """
    p, rest = problem.parameters, np.zeros_like(found.local)
    start = np.where(zero, 0.0, start)
    if not np.isfinite(found.compiled.residual(start, rest)).all():
        start = np.where(p.group >= 0, 0.0, found.bare)
    return LevenbergMarquardt(iterations=20, cost_tolerance=1e-6).minimise(
        WindowCost(problem, found.compiled),
        Point(start, rest),
        problem.bounds_of(start, zero=zero),
    )


def _doubtful(
    problem: Problem, chosen: list[int], theta: np.ndarray, std: np.ndarray
) -> int | None:
    """The least certain of the terms that may as well be zero; a row keeps its last one."""
    p = problem.parameters
    rows = [p.groups[p.group[i]][:2] for i in chosen]
    ratio = {
        i: abs(theta[i]) / std[i] for i, r in zip(chosen, rows, strict=True) if rows.count(r) > 1
    }
    weak = [i for i, x in ratio.items() if x < CERTAIN]
    # Of terms that are known equally badly the first is kept: libraries begin with the simplest.
    return min(reversed(weak), key=lambda i: ratio[i]) if weak else None


def _subset(model: Quadratic, mine: list[int], free: np.ndarray, samples: float) -> list[int]:
    """Of the weights of one row, the few with the least BIC; all others of the fit stay free."""
    best: tuple[float, list[int]] = (np.inf, [])
    scale = max(model.point.cost / max(samples / 2, 1.0), 1e-300)
    for size in range(1, MOST + 1):
        for subset in combinations(mine, size):
            _, cost = model.without([i for i in mine if i not in subset], free)
            score = cost / scale + 0.5 * size * np.log(samples)
            if score < best[0]:
                best = (score, list(subset))
    return best[1]


def _term(problem: Problem, i: int, weight: float, std: float) -> Term:
    p = problem.parameters
    group = p.groups[p.group[i]]
    graft, kind, column, output = _locate(problem, i)
    w = graft.wiring
    scale = float(graft.input_scale[column])
    factor = float(graft.output_scale[output]) / scale ** _POWER.get(kind, 0)
    units = [u for t in w.targets for u in t.units]
    unit = _unit(units[output], w.units[column], _POWER.get(kind, 0))
    text = TERMS[kind].text.format(x=group.input).replace("/v)", f"/{STRIBECK_WIDTH * scale:.3g})")
    return Term(group, kind, weight * factor, std * factor, unit, text, scale)


def _locate(problem: Problem, i: int) -> tuple[BoundGraft, str, int, int]:
    """Graft, kind of term, input column and output of weight i."""
    p, grafts = problem.parameters, problem.setup.simulator.grafts
    assert isinstance(grafts, BoundGrafts)
    graft = grafts[p.groups[p.group[i]].graft]
    network = graft.form
    assert isinstance(network, Terms)
    first = p.names.index(f"graft.{graft.label}.0")
    shape = graft.weights.weight.shape
    *_, output, column, term = np.unravel_index(i - first, shape)
    return graft, network.terms[int(term)], int(column), int(output)


def _unit(output: str, x: str, power: int) -> str:
    if power == 0 or x == "1":
        return output
    below = x if power == 1 else f"({x})^{power}"
    return f"{output}/({x})" if power == 1 and "/" in x else f"{output}/{below}"
