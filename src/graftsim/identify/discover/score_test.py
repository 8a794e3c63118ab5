"""Which inputs of which variables lack an effect: forward selection over a library of terms.

A library graft adds to every candidate variable a sum of simple terms of every candidate input, all
with weight zero. One Gauss-Newton linearisation of the fit then says, for every group of terms
(variable, input), how much of the remaining misfit it would take away, initial states and free
parameters adjusting: a score test (Rao 1948). The best group is fitted in earnest, and kept if it
is significant on the fitted windows and lowers the held-out cost; then the rest is asked again.
Short windows come first: over long ones a model that lacks something leaves the track, and a
linearisation there says little.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graftsim.identify.problem.parameters import Group
from graftsim.identify.problem.problem import Problem
from graftsim.identify.runs.holdout import Heldout, compare, typical
from graftsim.identify.runs.residual_program import ResidualProgram, compile_windows
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.arrowhead import normal_equations, reduced
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point

ITERATIONS = 15
TRIES = 3


@dataclass(frozen=True)
class Criteria:
    """When an effect counts: `level` of the score test (over all groups together), `errors`
    standard errors of the held-out improvement, and the least `share` of the held-out cost that it
    takes away; at `most` so many.
    """

    level: float = 1e-3
    errors: float = 1.0
    share: float = 0.01
    most: int = 12


class Step(NamedTuple):
    """One group that was tried: its score (decrease of cost that linearisation promises), whether
    it was kept, the typical held-out cost of a window before and after, and the standard error of
    the logarithm of their ratio. `horizon` (s) of the windows, `noise`: what the costs would be
    with noise alone; `cost` of the fitted windows, which the score is a part of.
    """

    group: Group
    score: float
    probability: float
    before: float
    after: float
    error: float
    kept: bool
    horizon: float
    noise: float
    cost: float


@dataclass(frozen=True)
class Screened:
    """Groups kept, parameters with them, all steps; held-out costs by window of the last horizon,
    without any group and with those kept.
    """

    groups: tuple[Group, ...]
    theta: np.ndarray
    local: np.ndarray
    steps: tuple[Step, ...]
    # The fit of the parameters alone, and its held-out costs.
    bare: np.ndarray
    cost_before: np.ndarray
    cost_after: np.ndarray
    # Scores of all groups before anything was kept, and the cost that they are shares of.
    first_scores: dict[Group, float]
    first_cost: float
    # Of the last horizon: programs over the fitted windows, how many samples they have, and the
    # held-out windows.
    compiled: ResidualProgram
    samples: float
    held: Heldout


def screen(
    problem: Problem,
    criteria: Criteria,
    say: Callable[[Group, str], None] = lambda group, text: None,
) -> Screened:
    """Groups of the library grafts of a problem that the data ask for.

    say: called with what became of each group that is tried.
    Raises ProblemError: nothing is held out, or the start cannot be simulated.
    """
    p = problem.parameters
    theta, kept = p.start, []
    steps: list[Step] = []
    scores: dict[Group, float] = {}
    first_cost: float | None = None
    look: _Look | None = None
    for horizon in problem.horizons:
        look = _Look(problem, horizon, kept, theta)
        if first_cost is None:
            first_cost = look.point.cost
            scores = {p.groups[g]: gain for g, (gain, _) in _gains(problem, look).items()}
        _grow(problem, look, criteria, steps, lambda g, text: say(p.groups[g], text))
        _prune(look, criteria)
        theta, kept = look.point.theta, look.kept
    assert look is not None and first_cost is not None
    bare = look.fit([]).theta if look.kept else look.point.theta
    before = look.held.cost(bare) if look.kept else look.cost
    names = tuple(p.groups[g] for g in look.kept)
    return Screened(
        names,
        look.point.theta,
        look.point.local,
        tuple(steps),
        bare,
        before,
        look.cost,
        scores,
        first_cost,
        look.compiled,
        look.samples,
        look.held,
    )


class _Look:
    """The fit at one horizon: groups kept, point, and held-out cost by window."""

    def __init__(
        self, problem: Problem, horizon: float, kept: list[int], theta: np.ndarray
    ) -> None:
        self.problem, self.horizon = problem, horizon
        windows = problem.train_windows(horizon)
        self.compiled = compile_windows(problem, windows)
        held = problem.heldout_windows(horizon)
        self.held = Heldout(problem, held, self.compiled)
        self.samples = float(sum(m.sum() for m in windows.mask))
        self.freedom = max(self.samples - len(windows) * problem.nlocal, 1.0)
        self.kept = list(kept)
        resting = np.zeros((len(windows), problem.nlocal))
        self.point = Point(theta, resting)
        self.point = self.fit(self.kept)
        self.cost = self.held.cost(self.point.theta)

    def fit(self, kept: list[int]) -> Point:
        """From the present point, with these groups and no others."""
        p = self.problem.parameters
        off = (p.group >= 0) & ~np.isin(p.group, kept)
        start = Point(np.where(off, 0.0, self.point.theta), self.point.local)
        options = LevenbergMarquardt(iterations=ITERATIONS, cost_tolerance=1e-5)
        bounds = self.problem.bounds_of(self.point.theta, zero=off)
        return options.minimise(WindowCost(self.problem, self.compiled), start, bounds)


def _grow(
    problem: Problem,
    look: _Look,
    criteria: Criteria,
    steps: list[Step],
    say: Callable[[int, str], None],
) -> None:
    """Keep the best group, again and again, while it is worth it."""
    p = problem.parameters
    refused: set[int] = set()
    while len(look.kept) < criteria.most:
        gains = {g: x for g, x in _gains(problem, look).items() if g not in refused}
        if not gains:
            return
        best = max(gains, key=lambda g: gains[g][0])
        gain, rank = gains[best]
        chance = min(1.0, len(p.groups) * _tail(gain, rank, look.point.cost, look.freedom))
        if chance > criteria.level:
            steps.append(_step(look, p.groups[best], gain, chance, None, False))
            return
        trial = look.fit([*look.kept, best])
        after = look.held.cost(trial.theta)
        mean, error = compare(look.cost, after)
        good = mean > max(criteria.errors * error, criteria.share)
        steps.append(_step(look, p.groups[best], gain, chance, after, good))
        say(best, "kept" if good else "not kept")
        if good:
            look.kept, look.point, look.cost = [*look.kept, best], trial, after
            refused = set()
        else:
            refused.add(best)
            # The best score did not lower the held-out cost: TRIES groups in a row, then stop.
            if len(refused) >= TRIES:
                return


def _prune(look: _Look, criteria: Criteria) -> None:
    """Take out again what others have made unnecessary, the latest first.

    Of two groups that stand for each other, the one that was found first explained more by itself.
    """
    for group in reversed(list(look.kept)):
        rest = [g for g in look.kept if g != group]
        trial = look.fit(rest)
        without = look.held.cost(trial.theta)
        mean, error = compare(without, look.cost)
        if mean <= max(criteria.errors * error, criteria.share):
            look.kept, look.point, look.cost = rest, trial, without


def _gains(problem: Problem, look: _Look) -> dict[int, tuple[float, float]]:
    """For each group not kept: decrease of cost if it were freed, and its effective rank."""
    p, point, kept = problem.parameters, look.point, look.kept
    linear = look.compiled.jacobian(point.theta, point.local)
    bounds = problem.bounds_of(point.theta)
    n = normal_equations(*linear, point.theta, point.local, bounds)
    S, g = reduced(n)
    active = np.flatnonzero((p.group < 0) | np.isin(p.group, kept))
    solve = np.linalg.pinv(S[np.ix_(active, active)], hermitian=True)
    out = {}
    for group in range(len(p.groups)):
        if group in kept:
            continue
        i = np.flatnonzero(p.group == group)
        K = S[np.ix_(i, active)] @ solve
        inside = S[np.ix_(i, i)] - K @ S[np.ix_(active, i)]
        pull = g[i] - K @ g[active]
        prior = bounds.prior_std[i] ** -2
        values, vectors = np.linalg.eigh((inside + inside.T) / 2)
        values = np.maximum(values, prior.min())
        gain = 0.5 * float(np.sum((vectors.T @ pull) ** 2 / values))
        # Directions that the prior holds count only in part.
        rank = float(np.sum(np.maximum(values - prior.mean(), 0.0) / values))
        out[group] = (gain, max(rank, 1.0))
    return out


def _tail(gain: float, rank: float, cost: float, freedom: float) -> float:
    """Probability of such a gain by chance: the tail of F with (rank, freedom) degrees."""
    from scipy.stats import f

    left = max(cost - gain, 1e-300)
    return float(f.sf(gain / rank / (left / freedom), rank, freedom))


def _step(
    look: _Look, group: Group, gain: float, chance: float, after: np.ndarray | None, kept: bool
) -> Step:
    """What is to be remembered of a group that was tried on what is looked at, or was not."""
    held = look.held
    facts = (look.horizon, typical(np.maximum(held.samples, 1) / 2), look.point.cost)
    before, nan = typical(look.cost), float("nan")
    if after is None:
        return Step(group, gain, chance, before, nan, nan, kept, *facts)
    error = compare(look.cost, after)[1]
    return Step(group, gain, chance, before, typical(after), error, kept, *facts)
