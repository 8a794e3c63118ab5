"""Likely, not certain: what one or two recordings say of an effect, judged by their parts.

What is held out of one or two recordings is little, and hangs together: an improvement there is
lost among differences between windows, or no more than a habit of one log. So each term of the
library is judged by itself, over windows as long as the recordings allow, which know most of it:

1. over all recordings it is no chance: its coefficient over its deviation, which allows for
   residuals with memory, at the level of the score test over all terms;
2. each part alone, a recording or half of a single one, has it, with the same sign;
3. the parts agree: it does not vary between them by more than half its size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from graftsim.errors import GraftsimError
from graftsim.identify.discover.parts import VARIES, Fits, Part, parts_of, spread
from graftsim.identify.discover.score_test import TRIES, Criteria, Screened
from graftsim.identify.problem.parameters import Group
from graftsim.identify.problem.problem import Problem
from graftsim.recordings.recording import Recording

# With more recordings, what is held out decides.
FEW = 2
# Windows are up to so many times as long as those of the screening.
LONGER = 4
# A part has an effect from so many deviations on.
SEEN = 2.0


class Evidence(NamedTuple):
    """For an effect: its group, the probability of as much by chance, and what each part says, in
    shares of what all say.
    """

    group: Group
    chance: float
    parts: tuple[Part, ...]


def with_likely(
    problem: Problem,
    found: Screened,
    criteria: Criteria,
    say: Callable[[Group, str], None],
) -> tuple[Screened, tuple[Evidence, ...]]:
    """What was screened with effects that are likely beside; none where recordings are many.

    problem: with library grafts. With such effects formulas are fitted over the long windows of all
    recordings, on which the evidence stands: they would extrapolate else.
    """
    pieces = parts_of(problem)
    if len(pieces) != FEW:
        return found, ()
    evidence: list[Evidence] = []
    groups = list(found.groups)
    length = _length(problem, pieces)
    try:
        every = Fits(problem, [piece for _, piece in pieces], length)
        alone = [(name, Fits(problem, [piece], length)) for name, piece in pieces]
        while len(groups) < criteria.most:
            new = _next(every, alone, groups, found.theta, criteria)
            if new is None:
                break
            say(new.group, "likely")
            evidence.append(new)
            groups.append(new.group)
    except GraftsimError:
        return found, ()
    if not evidence:
        return found, ()
    samples = float(sum(m.sum() for m in every.windows.mask))
    local = np.zeros((len(every.windows), problem.nlocal))
    screened = replace(
        found, groups=tuple(groups), local=local, compiled=every.compiled, samples=samples
    )
    return screened, tuple(evidence)


def _length(problem: Problem, pieces: Sequence[tuple[str, Recording]]) -> float:
    """Of the windows (s): the shortest part's, or LONGER times that of the screening."""
    shortest = min(r.overlap[1] - r.overlap[0] for _, r in pieces)
    longest = min(shortest, LONGER * problem.horizons[-1])
    return max(np.floor(longest / problem.dt + 1e-6), 1) * problem.dt


def _next(
    every: Fits,
    alone: Sequence[tuple[str, Fits]],
    groups: Sequence[Group],
    theta: np.ndarray,
    criteria: Criteria,
) -> Evidence | None:
    """The best term of a group that is not yet among `groups`, if it is likely."""
    p = every.problem.parameters
    inside = [p.groups.index(g) for g in groups]
    base = every.at(theta, inside)
    scores = every.scores(base, inside)
    best = {p.group[i]: i for i in sorted(scores, key=lambda i: scores[i])}
    order = sorted(best.values(), key=lambda i: -scores[i])
    for i in order[:TRIES]:
        value, std, freedom = every.term(base.theta, inside, i)
        chance = min(1.0, len(scores) * _tail(value / std, freedom))
        if not chance <= criteria.level:
            return None
        said = [(name, *fit.term(base.theta, inside, i)[:2]) for name, fit in alone]
        parts = [Part(name, own / value, error / abs(value)) for name, own, error in said]
        if agree(parts):
            return Evidence(p.groups[p.group[i]], chance, tuple(parts))
    return None


def agree(parts: Sequence[Part]) -> bool:
    """Does each part have the effect, with one sign, and about as large?"""
    value, std = (np.array([getattr(x, k) for x in parts]) for k in ("value", "std"))
    if not (np.abs(value) > SEEN * std).all() or len(set(np.sign(value))) > 1:
        return False
    return spread(parts)[0] <= VARIES


def _tail(t: float, freedom: float) -> float:
    """Probability of a coefficient that many deviations from zero by chance."""
    from scipy.stats import t as student

    return float(2 * student.sf(abs(t), max(freedom, 1.0)))
