"""How well a fit's numbers are known: covariance, recordings compared, bootstrap, profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graftsim.errors import GraftsimError, ProblemError, suggest
from graftsim.identify.doubt import analysis, verdicts
from graftsim.identify.evidence.bootstrap import Bootstrap, Resampled, bootstrap
from graftsim.identify.evidence.profile_likelihood import Profile, profile
from graftsim.identify.pool.pool import Pool
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results import information
from graftsim.identify.results.between_recordings import Spread, between_recordings
from graftsim.identify.results.common_factor import CommonFactor, common_factor
from graftsim.identify.results.linearisation import Linearisation
from graftsim.identify.results.result import ParameterRow, WeakDirection, Withheld
from graftsim.identify.results.verdicts import parameter_rows
from graftsim.identify.runs.failures import WindowSubset
from graftsim.identify.runs.residual_program import ResidualProgram
from graftsim.identify.words import UNCERTAIN
from graftsim.optim.local_solver import Point

# Instead of a name: every parameter that is weak, or not identifiable.
WEAK = "weak"
# Errors of a bootstrap or profile that no check before the fit can foresee: our own, singular
# matrices and empty samples (ValueError), overflows, a sample too large for memory.
FAILURES = (GraftsimError, ValueError, ArithmeticError, MemoryError)


class Certainty(NamedTuple):
    """All that is known about the numbers of a fit."""

    info: information.Information
    rows: tuple[ParameterRow, ...]
    weak: tuple[WeakDirection, ...]
    spread: Spread | None
    resampled: Resampled | None
    profiles: tuple[Profile, ...]
    forces: CommonFactor | None = None
    failed: tuple[str, ...] = ()
    withheld: tuple[Withheld, ...] = ()


def certainty(
    problem: Problem,
    part: WindowSubset,
    point: Point,
    resample: Bootstrap | None = None,
    profiled: Sequence[str] = (),
    pool: Pool | None = None,
    *,
    doubt: bool = True,
) -> Certainty:
    """What the windows say about theta at the end of a fit; replicas run on a pool.

    doubt: try what was not free and may be wrong.

    A bootstrap or a profile that fails is a sentence in `failed`: the fit before it took longer.
    """
    p, theta, windows, compiled = problem.parameters, point.theta, part.windows, part.compiled
    r, J_t, J_l = compiled.jacobian(theta, point.local)
    bounds = problem.bounds_of(theta)
    gradient = np.einsum("wmp,wm->p", J_t, r)
    held = ((theta <= p.lower) & (gradient >= 0)) | ((theta >= p.upper) & (gradient <= 0))
    held |= ~J_t.any((0, 1))
    at = Linearisation(r, J_t, J_l, theta, point.local, bounds)
    info = information.information(at, held, problem.layouts(windows))
    size = np.maximum(np.abs(theta), np.abs(p.start))
    size = np.where(size > 0, size, 1.0)
    weak = information.weak_directions(p.names, theta, size, info, held | ~p.physical)
    own = np.flatnonzero(p.physical & ~held)
    spread = between_recordings(
        [p.names[i] for i in own],
        windows.recording,
        at.by(own),
        np.sqrt(np.diag(info.covariance)[own]),
        info.variance_ratio,
    )
    rows = parameter_rows(problem, theta, info, held, spread)
    resampled, failed = None, []
    if resample is not None:
        try:
            drawn = bootstrap(problem, part, point, resample, pool or Pool())
            rows, resampled = _from_replicas(problem, rows, drawn), drawn
        except FAILURES as error:
            failed.append(f"The bootstrap failed, intervals are from the covariance: {error}")
    profiles = _profiles(problem, compiled, point, info, _chosen(problem, rows, profiled), failed)
    tried = analysis.doubt(problem, part, point, at, info) if doubt else None
    forces = common_factor(problem, at, held, info.variance_ratio)
    return Certainty(
        info,
        verdicts.with_file(rows, tried),
        weak,
        spread,
        resampled,
        tuple(profiles),
        forces,
        tuple(failed),
        verdicts.withheld(rows, tried),
    )


def _profiles(
    problem: Problem,
    compiled: ResidualProgram,
    point: Point,
    info: information.Information,
    chosen: Sequence[int],
    failed: list[str],
) -> list[Profile]:
    """Profiles of chosen parameters; why one failed is added to `failed`."""
    found, widened = [], max(info.lack.widened, 1.0)
    for i in chosen:
        try:
            found.append(profile(problem, compiled, point, info.covariance, i, widened))
        except FAILURES as error:
            failed.append(f"The profile of {problem.parameters.names[i]} failed: {error}")
    return found


def check_names(problem: Problem, names: Sequence[str], what: str = "profile") -> None:
    """Raises ProblemError: a profile (or `what`) of what is not a parameter of the fit."""
    known = np.array(problem.parameters.names)[problem.parameters.physical].tolist()
    for name in names:
        if name != WEAK and name not in known:
            raise ProblemError(f"{what} of '{name}'. {suggest(name, (WEAK, *known))}")


def _chosen(problem: Problem, rows: Sequence[ParameterRow], profiled: Sequence[str]) -> list[int]:
    names = list(problem.parameters.names)
    wanted = [n for n in profiled if n != WEAK]
    if WEAK in profiled:
        wanted += [r.name for r in rows if r.status in UNCERTAIN]
    return [names.index(n) for n in dict.fromkeys(wanted)]


def _from_replicas(
    problem: Problem, rows: Sequence[ParameterRow], resampled: Resampled
) -> tuple[ParameterRow, ...]:
    """Rows with the intervals of the replicas, which tell something of parameters on bounds too.

    A refit does not move along what the data do not know, so there its interval only adds. Raises
    ProblemError: fewer than two replicas have ended.
    """
    if len(resampled.theta) < 2:
        raise ProblemError(
            f"{len(resampled.theta)} of {len(resampled.theta) + resampled.lost} replicas ended."
        )
    std = resampled.std()
    found = []
    physical = np.flatnonzero(problem.parameters.physical).tolist()
    for i, row in zip(physical, rows, strict=True):
        low, high = resampled.interval(i)
        spread = float(std[i])
        if row.status in UNCERTAIN:
            low, high = min(low, row.low), max(high, row.high)
            spread = max(spread, row.std)
        found.append(replace(row, std=spread, low=low, high=high))
    return tuple(found)
