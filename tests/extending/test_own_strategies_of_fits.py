"""A local solver, a global search and a loss from outside the package: one class each."""

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import jax.numpy as jnp
import numpy as np
import pytest

import graftsim as gs
import swing
from graftsim.optim.global_search import Found
from graftsim.optim.outcome import Outcome
from graftsim.optim.strategies import GLOBAL_SEARCHES, LOCAL_SOLVERS


@dataclass(frozen=True)
class GaussNewton(gs.LocalSolver):
    """Undamped steps on theta alone: for known initial states, near the minimum."""

    name: ClassVar[str] = "gauss_newton"
    help: ClassVar[str] = "undamped"

    iterations: int = 20

    def minimise(self, problem, start, bounds, after=None):
        """Until a step no longer moves anything."""
        point = start
        for i in range(self.iterations):
            every = np.arange(len(point.theta))
            r, J, _ = problem.jacobian(point.theta, point.local, every)
            step = np.linalg.lstsq(J.reshape(-1, len(every)), -r.ravel(), rcond=None)[0]
            theta = np.clip(point.theta + step, bounds.lower, bounds.upper)
            cost = 0.5 * float(np.sum(problem.residual(theta, point.local) ** 2))
            still = np.abs(theta - point.theta).max() < 1e-10
            point = replace(point, theta=theta, cost=cost, iteration=i + 1)
            if after is not None:
                after(point, float(np.abs(step).max()))
            if still:
                return replace(point, outcome=Outcome.CONVERGED)
        return replace(point, outcome=Outcome.ITERATION_LIMIT)


@dataclass(frozen=True)
class Grid(gs.GlobalSearch):
    """Local solves from a grid over the first free number, the others where they start."""

    name: ClassVar[str] = "grid"
    help: ClassVar[str] = "an even grid"

    points: int = 12
    iterations: int = 8
    seed: int = 0

    def with_points(self, points: int) -> Self:
        """So many."""
        return replace(self, points=points)

    def minimise(self, solve, starts, lower, upper, good=-np.inf):
        """All at once."""
        found = []
        for start in starts:
            points = np.tile(start, (self.points, 1))
            points[:, 0] = np.linspace(lower[0], upper[0], self.points)
            theta, cost = solve(points)
            best = int(np.argmin(cost))
            found.append((theta[best], cost[best], 1, theta, cost))
        return Found(*(np.array(x) for x in zip(*found, strict=True)))


@dataclass(frozen=True)
class Cauchy(gs.Loss):
    """ln(1 + r^2) / 2: outliers lose nearly all of their pull."""

    name: ClassVar[str] = "cauchy"
    help: ClassVar[str] = "forgets outliers"

    def weighed(self, r):
        """The root of ln(1 + r^2), smooth at zero."""
        square = r * r
        safe = jnp.where(square > 1e-8, square, 1.0)
        ratio = jnp.where(square > 1e-8, jnp.sqrt(jnp.log1p(safe) / safe), 1.0)
        return r * ratio


def test_a_local_solver():
    """It ends where ours does, and its name is in the settings."""
    problem = swing.problem(38.0)
    ours, found = gs.fit(problem), gs.fit(problem, local=GaussNewton())
    np.testing.assert_allclose(found.theta, ours.theta, rtol=1e-4)
    assert found.outcome == "converged" and "GaussNewton" in found.settings["solver"]
    with pytest.raises(gs.ProblemError, match="Exact zeros need local='levenberg_marquardt'"):
        gs.fit(problem, local=GaussNewton(), sparsity=gs.SparseGroupLasso(l1=1.0))


def test_a_global_search():
    """It runs before the fit, from so many points, and the fit ends at the truth."""
    one_start = gs.fit(swing.problem(), search=Grid(points=1, iterations=0))
    found = gs.fit(swing.problem(), search=Grid())
    assert "Grid: 1 local solves" in one_start.settings["search"]
    assert found.value("joint.stiffness[link0]") == pytest.approx(40.0, abs=1.0)
    assert "Grid: 12 local solves" in found.settings["search"]


def test_a_loss():
    """Late samples far off: squares are pulled away, it is not."""
    clean = swing.problem(38.0)
    channel = clean.given[0]["joint.q[link0]"]
    spoiled = channel.values.copy()
    spoiled[-12:] += 0.6
    recording = clean.given[0].with_channel(channel.replace(values=spoiled))
    errors = {}
    for loss in (gs.Squared(), Cauchy()):
        result = gs.fit(replace(clean, recordings=recording, loss=loss))
        errors[loss.name] = abs(result.value("joint.stiffness[link0]") - 40.0)
    assert errors["cauchy"] < 0.2 * errors["squared"]


def test_named_strategies_say_what_they_are():
    """Tables hold classes by their own names, each with a help text for the command line."""
    for table in (LOCAL_SOLVERS, GLOBAL_SEARCHES):
        assert {name: kind.name for name, kind in table.items()} == {n: n for n in table}
        assert all(kind.help for kind in table.values())
