"""Fits of a library problem to parts of its recordings: what each part says of an effect."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graftsim.errors import GraftsimError
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results import information
from graftsim.identify.results.between_recordings import random_effect
from graftsim.identify.results.information import positive_inverse
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.runs.residual_program import compile_windows
from graftsim.identify.runs.window_cost import WindowCost
from graftsim.optim.arrowhead import reduced
from graftsim.optim.bounded import Bounded
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.optim.local_solver import Point
from graftsim.recordings.recording import Recording

ITERATIONS = 30
# Parts disagree about an effect if it varies by this share of it, with this probability by chance.
VARIES, CHANCE = 0.5, 0.01


class Part(NamedTuple):
    """What a part of the data says alone: its name, coefficient and standard deviation."""

    name: str
    value: float
    std: float


def spread(parts: Sequence[Part]) -> tuple[float, float]:
    """How much an effect varies between parts beyond noise, and the probability of it by chance."""
    value, std = (np.array([[getattr(x, k)] for x in parts]) for k in ("value", "std"))
    tau, chance = random_effect(value, std, value.mean(0))[:2]
    return float(tau[0]), float(chance[0])


def differ(parts: Sequence[Part]) -> bool:
    """Do parts disagree about an effect of size one, by more than chance and half of it?"""
    if len(parts) < 2:
        return False
    tau, chance = spread(parts)
    return chance < CHANCE and tau > VARIES


def shares(problem: Problem, theta: np.ndarray, terms: Sequence[int]) -> tuple[Part, ...]:
    """What each part alone says of an effect, in shares of the weights `terms` of theta [p]."""
    found = []
    for name, piece in parts_of(problem):
        try:
            fits = Fits(problem, [piece], problem.horizons[-1])
            found.append(Part(name, *fits.amplitude(theta, terms)))
        except GraftsimError:
            continue
    return tuple(part for part in found if np.isfinite(part[1:]).all())


def parts_of(problem: Problem) -> list[tuple[str, Recording]]:
    """Recordings with their names; of a single one what is fitted and what is held out."""
    if isinstance(problem.holdout, int | float):
        if len(problem.given) > 1:
            return [(r.name, r) for r in problem.given]
        halves = zip(("beginning", "end"), (*problem.train, *problem.heldout), strict=False)
        return [(f"{r.name}, {which}", r) for which, r in halves]
    return [(r.name, r) for r in (*problem.given, *problem.heldout)]


class Fits:
    """Fits to some recordings, with windows of a length."""

    def __init__(self, problem: Problem, recordings: Sequence[Recording], length: float) -> None:
        self.problem = problem
        self.windows = replace(problem, stride=None).windows_of(recordings, length)
        self.compiled = compile_windows(problem, self.windows)

    def at(self, theta: np.ndarray, inside: Sequence[int], term: int = -1) -> Point:
        """The fit with some groups, and one weight more; others are zero."""
        zero = self._zero(inside, term)
        return self._minimum(np.where(zero, 0.0, theta), self.problem.bounds_of(theta, zero=zero))

    def _minimum(self, theta: np.ndarray, bounds: Bounded) -> Point:
        options = LevenbergMarquardt(iterations=ITERATIONS, cost_tolerance=1e-6)
        start = Point(theta, np.zeros((len(self.windows), self.problem.nlocal)))
        return options.minimise(WindowCost(self.problem, self.compiled), start, bounds)

    def scores(self, point: Point, inside: Sequence[int]) -> dict[int, float]:
        """By weight that is not in: the decrease of cost that it promises, all else adjusting."""
        p = self.problem.parameters
        S, g = reduced(self._linear(point).without_prior().normal())
        active = np.flatnonzero(~self._zero(inside, -1))
        K = S[:, active] @ np.linalg.pinv(S[np.ix_(active, active)], hermitian=True)
        curvature = np.diag(S) - np.einsum("ij,ij->i", K, S[:, active])
        pull = g - K @ g[active]
        use = (p.group >= 0) & ~np.isin(p.group, inside) & (curvature > 1e-12 * np.diag(S))
        return {int(i): float(pull[i] ** 2 / curvature[i]) for i in np.flatnonzero(use)}

    def term(self, theta: np.ndarray, inside: Sequence[int], i: int) -> tuple[float, float, float]:
        """A weight fitted with all else: value, deviation, and degrees of freedom of that."""
        point = self.at(theta, inside, i)
        zero = self._zero(inside, i)
        at = self._linear(point)
        info = information.information(at, zero, self.problem.layouts(self.windows))
        used = np.count_nonzero(at.r) - at.local.size
        freedom = used / max(info.lack.widened, 1.0) ** 2 - np.count_nonzero(~zero)
        return float(point.theta[i]), float(np.sqrt(info.covariance[i, i])), float(freedom)

    def amplitude(self, theta: np.ndarray, terms: Sequence[int]) -> tuple[float, float]:
        """How large these recordings alone have an effect, one being what theta [p] says of it.

        terms: the effect's weights. With its standard deviation, physical parameters adjusting.
        """
        p = self.problem.parameters
        point = self._minimum(theta, self.problem.bounds_of(theta, physics=True))
        r, J_t, J_l = self.compiled.jacobian(point.theta, point.local)
        own = np.flatnonzero(p.physical)
        along = J_t[..., list(terms)] @ theta[list(terms)]
        J = np.concatenate([J_t[..., own], along[..., None]], -1)
        bounds = self.problem.bounds_of(point.theta).only(own).beside(1)
        size = np.append(point.theta[own], 1.0)
        at = Linearisation(r, J, J_l, size, point.local, bounds)
        layouts = self.problem.layouts(self.windows)
        info = information.information(at, np.zeros(len(size), bool), layouts)
        S, g = reduced(at.normal())
        step = -(positive_inverse(S) @ g)[-1]
        return float(1 + step), float(np.sqrt(info.covariance[-1, -1]))

    def _zero(self, inside: Sequence[int], term: int) -> np.ndarray:
        p = self.problem.parameters
        zero = (p.group >= 0) & ~np.isin(p.group, inside)
        if term >= 0:
            zero[term] = False
        return zero

    def _linear(self, point: Point) -> Linearisation:
        J = self.compiled.jacobian(point.theta, point.local)
        return Linearisation(*J, point.theta, point.local, self.problem.bounds_of(point.theta))
