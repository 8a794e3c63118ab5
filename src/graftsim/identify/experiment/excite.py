"""The next experiment: a trajectory within the machine's limits that teaches most.

What a fit of the recording would know is the information S = sum_w J_w^T J_w of its windows, their
initial states unknown and what the file may have wrong known to its size alone, added to what is
known already, P. Coefficients of a Fourier series of each
joint maximise log det(S + P): D-optimality, the smallest ellipsoid of what is left unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError
from graftsim.identify.experiment.motions import SAFE, Motions
from graftsim.identify.experiment.planner import Excitation, Expected, Planner
from graftsim.identify.problem.domains import Domain
from graftsim.identify.problem.parameters import Custom
from graftsim.identify.problem.problem import Problem

__all__ = ["Excitation", "Expected", "FourierSearch", "excite"]

# Before any data a parameter is known to so many times its size (of one that starts at zero: 1).
UNKNOWN = 10.0
POPULATION = 16


@dataclass(frozen=True)
class FourierSearch:
    """Motions of so many `harmonics` a joint, improved for so many `generations` (CMA-ES).

    middle: by joint, what the series is about (rad, m); else the middle of the joint's travel.
    """

    harmonics: int = 5
    generations: int = 40
    seed: int = 0
    middle: Mapping[str, float] = field(default_factory=dict)


FOURIER = FourierSearch()


@one_blas_thread
def excite(
    simulator: Simulator,
    free: Mapping[str, Domain | Custom] | Sequence[str],
    *,
    seconds: float = 10.0,
    noise: float = 1e-3,
    velocity: float | Mapping[str, float] | None = None,
    known: Mapping[str, float] | np.ndarray | None = None,
    nuisances: Mapping[str, float] | None = None,
    horizon: float = 0.5,
    search: FourierSearch = FOURIER,
) -> Excitation:
    """Propose commands that make the free parameters best known.

    Positions stay within the model's joint limits, forces within its actuators', speeds below
    `velocity` (rad/s, m/s; one number, or by joint). noise: of the joint sensors (rad, m). known:
    standard deviations by name, or the covariance [p, p] of an earlier fit of the same parameters;
    what is not known is taken as unknown.
    nuisances: of numbers that are not free, how wrong they may be, as for `Problem`; the motion is
    one that tells parameters apart from those that matter most. horizon: of the windows of the fit
    to come (s).

    Raises ProblemError: a joint that nothing drives or that is no hinge or slide; the package
    `cmaes` is missing; the middle of the motion already asks for more force than there is.
    """
    try:
        from cmaes import CMA
    except ImportError as error:
        raise ProblemError("excite needs cmaes: pip install graftsim[search]") from error
    planner = Planner(simulator, free, seconds, noise, horizon, nuisances)
    motions = Motions(simulator.model, planner.time, search.harmonics, search.middle, velocity)
    prior = _prior(planner.problem, known)
    walk = CMA(
        mean=np.zeros(motions.size), sigma=0.5, seed=search.seed, population_size=POPULATION
    )  # fmt: skip
    planner.doubted(motions, motions.sines(), prior)
    best, least = motions.sines(), float(planner.cost(motions, motions.sines()[None], prior)[0])
    first = -least
    for _ in range(search.generations):
        asked = np.array([walk.ask() for _ in range(POPULATION)])
        cost = planner.cost(motions, asked, prior)
        k = int(np.argmin(cost))
        if cost[k] < least:
            best, least = asked[k].copy(), float(cost[k])
        if walk.should_stop():
            break
        walk.tell(list(zip(asked, cost.tolist(), strict=True)))
    best = _feasible(motions, best)
    return planner.plan(motions, best, prior, first)


def _feasible(motions: Motions, x: np.ndarray) -> np.ndarray:
    """The motion, made smaller until no force is beyond its limit."""

    def inside(size: float) -> bool:
        return float(motions.command(*motions.motion(size * x[None]))[1].max()) <= SAFE

    if inside(1.0):
        return x
    if not inside(0.0):
        raise ProblemError(
            f"Holding still at the middle of the motion already takes more than {SAFE:.0%} of an "
            "actuator's force: give another FourierSearch(middle=...)."
        )
    low, high = 0.0, 1.0
    for _ in range(20):
        half = (low + high) / 2
        low, high = (half, high) if inside(half) else (low, half)
    return low * x


def _prior(problem: Problem, known: Mapping[str, float] | np.ndarray | None) -> np.ndarray:
    """What is known before [p, p], as information in the parameters' units."""
    by_name, covariance = (known, None) if isinstance(known, Mapping) else ({}, known)
    p = problem.parameters
    size = np.where(p.start != 0, np.abs(p.start), 1.0)
    std = np.minimum(UNKNOWN * size, p.prior_std)
    for name, value in by_name.items():
        if name in p.names and np.isfinite(value):
            std[p.names.index(name)] = value
    prior = np.diag(std**-2.0)
    if covariance is None:
        return prior
    if np.shape(covariance) != prior.shape:
        raise ProblemError(
            f"known, a covariance, has the shape {np.shape(covariance)}, but {len(p)} parameters "
            "are free: "
            f"{', '.join(p.names)}."
        )
    free = np.isfinite(np.diag(covariance))
    inside = np.asarray(covariance, float)[np.ix_(free, free)]
    prior[np.ix_(free, free)] = np.linalg.pinv(inside, hermitian=True)
    return prior
