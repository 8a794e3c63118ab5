"""What the numbers of a fit are called: verdicts as enumerations, and a sentence for each finding.

Who computes decides which of them holds; the command line, `fit.json` and the report print them as
they stand here. Functions of numbers and names alone, so every folder of `identify` may use them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from jaxtyping import Float


class Status(StrEnum):
    """Is a parameter known by the data?"""

    IDENTIFIED = "identified"
    CONDITIONAL = "conditional"
    WEAK = "weak"
    NOT_IDENTIFIABLE = "not identifiable"
    FROM_PRIOR = "from its prior"
    ON_BOUND = "on its bound"
    WITHOUT_EFFECT = "without effect"


# Of parameters that are free, and of which the data say little.
UNCERTAIN = (Status.WEAK, Status.NOT_IDENTIFIABLE, Status.FROM_PRIOR)


class Sureness(StrEnum):
    """How sure is an effect that a discovery names?"""

    FOUND = "found"
    LIKELY = "likely, not certain"
    THESE_RUNS = "known on these runs only"


class Misfit(StrEnum):
    """Do the residuals speak against the model?"""

    NONE = "none"
    SLIGHT = "slight"
    CLEAR = "clear"


OVERFLOW = (
    "Derivatives overflow at these numbers, so there are no intervals: shorten the windows or the "
    "step."
)


def lack_of_fit(
    misfit: Misfit, over_noise: float, memory: tuple[str, float] | None, widened: float
) -> str:
    """What the residuals, so many times the noise, say of the model.

    memory: the channel whose residuals hang together most and the correlation of its neighbours;
    widened: by how much intervals grew.
    """
    size = f"What the model leaves is {over_noise:.3g} times the sensor noise"
    if misfit == Misfit.NONE:
        return f"{size} and has no memory: nothing in these data speaks against the model."
    if memory is not None:
        channel, correlation = memory
        size += (
            f" and has a memory (correlation {correlation:.2f} from one sample of {channel} to the "
            "next)"
        )
    wide = f" Intervals are {widened:.2g} times wider for it." if widened > 1.05 else ""
    if misfit == Misfit.SLIGHT:
        return f"{size}: significant, but small.{wide}"
    return (
        f"{size}: it lacks an effect, or the noise is underestimated.{wide} No interval covers "
        "what a wrong model leaves out."
    )


def weak_direction(
    names: Sequence[str], step: Float[np.ndarray, " k"], largest: float, relative_std: float
) -> str:
    """Parameters that can be changed together by `step`, of which the first has the share `largest`
    of the direction; it is known to `relative_std` of their size.
    """
    percent = (
        f"{100 * relative_std:.0f} %"
        if relative_std < 10
        else f"{relative_std:.2g} times their size"
    )
    if len(names) == 1:
        return (
            f"{names[0]} hardly matters to these recordings: it is known only to about {percent}."
        )
    moves = [f"{n} by {s / np.abs(largest):+.3g}" for n, s in zip(names, step, strict=True)]
    return (
        f"{', '.join(names)} cannot be told apart: changing {', '.join(moves)} together leaves the "
        f"fit nearly as good (known to about {percent})."
    )


def known_combination(
    names: tuple[str, str], factor: float | None, amount: float, std: float
) -> str:
    """Of two parameters a, b that can be changed together: a + factor b stays, or their ratio."""
    a, b = names
    if factor is None:
        what = f"ratio {a} / {b}"
    else:
        size = "" if abs(abs(factor) - 1) < 0.05 else f"{abs(factor):.3g} "
        kind = "combination" if size else "sum" if factor > 0 else "difference"
        what = f"{kind} {a} {'+' if factor > 0 else '-'} {size}{b}"
    return f" Only their {what} = {amount:.4g} is known, to ±{std:.2g}."


ONLY_RATIOS = "Forces are known only up to a common factor: no channel measures one."


def only_ratios(relative_std: float, names: Sequence[str]) -> str:
    """Of a factor that all forces and masses share, which nothing fixes."""
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")
    size = f"know it to ±{100 * relative_std:.0f} %" if relative_std < 10 else "do not tell it"
    return (
        f"{ONLY_RATIOS} Multiplying {shown} by one number leaves the motion as it is, and the data "
        f"{size}: their ratios are what was found."
    )


def scale_held(held: Sequence[str], on_bound: Sequence[str] = ()) -> str:
    """Of a factor that is fixed by numbers that were held, or that ended on a bound."""
    ended = ""
    if on_bound:
        ended = (
            f", and of {', '.join(on_bound)} on {'its bound' if len(on_bound) == 1 else 'theirs'}"
        )
    return (
        f"{ONLY_RATIOS} It is that of the numbers that were held, {', '.join(held) or 'priors'}"
        f"{ended}: if those are wrong, all are by the same factor."
    )


def replicas_lost(count: int) -> str:
    """Of a bootstrap."""
    return f"{count} replicas of the bootstrap could not be simulated."


def few_blocks(count: int) -> str:
    """Of a bootstrap."""
    return f"The bootstrap drew from {count} blocks only: its intervals are rough."


def coarse_step(error: float, impulsive: bool) -> str:
    """Half the step changes readings by `error` times the noise."""
    return (
        f"Halving the integrator's step changes the readings by {error:.1f} times the sensor "
        "noise, and the parameters absorb that. Use more substeps"
        f"{'' if impulsive else ', or rk4'}."
    )


def on_bound(name: str, value: float, unit: str) -> str:
    """Of a parameter."""
    return f"{name} ended on its bound, {value:.6g} {unit}."


def ran_away(name: str, value: float, better: float, unit: str, times: float) -> str:
    """Of a parameter that a local fit took far away, at so many times the cost of another start."""
    return (
        f"From its start {name} ran to {value:.4g} {unit}, a wrong minimum: {times:.3g} times the "
        f"cost; a search found {better:.4g}."
    )


def negative(names: Sequence[str], largest: str) -> str:
    """Of numbers that forces put below zero, where none can be; `largest`: one with its value."""
    others = f" and {len(names) - 1} more" if len(names) > 1 else ""
    advice = (
        " Sensors behind the gears feel no rotor: leave the armature out of the terms then."
        if any(name.startswith("joint.armature") for name in names)
        else " Something that the terms lack takes its place."
    )
    return f"{largest}{others}: measured below zero, which cannot be; zero in the model.{advice}"


def without_effect(name: str) -> str:
    """Of a parameter."""
    return f"{name} has no effect at the solution."


def heldout_rose(channel: str, before: float, after: float, unit: str) -> str:
    """The error of windows that took no part."""
    return f"{channel}: the held-out error rose ({before:.3g} to {after:.3g} {unit})."


def heldout_larger(channel: str, ratio: float) -> str:
    """The error of windows that took no part over that of those fitted."""
    return (
        f"{channel}: the held-out error is {ratio:.1f} times the fitted one; the model may not "
        "carry over."
    )


def recordings_differ(name: str, between: float, unit: str, p: float) -> str:
    """A parameter of which recordings tell different things, by chance with probability p."""
    return (
        f"{name} differs between recordings, by ±{between:.2g} {unit} (one standard deviation; "
        f"chance alone: p = {p:.1g}). Its interval is that of their mean."
    )


def step_moves(name: str, deviations: float, substeps: int, order: int) -> str:
    """The integrator's step moves a parameter by so many of its deviations; `finer` mends it."""
    return (
        f"{name} is {deviations:.2g} deviations from where very short steps would have it: "
        f"substeps={finer(deviations, substeps, order)} make that a tenth, or RungeKutta4()."
    )


def finer(deviations: float, substeps: int, order: int) -> int:
    """Sub-steps with which the step moves no parameter by more than a tenth of its deviation."""
    return math.ceil(substeps * (deviations / 0.1) ** (1 / order))


def halves(
    name: str,
    values: tuple[float, float],
    unit: str,
    apart: float,
    agree: bool,
    overlap: bool,
) -> str:
    """What two disjoint halves of the data say of one number."""
    first, second = (f"{x:.4g}" for x in values)
    said = f"{name}: halves of the data say {first} and {second} {unit}: they"
    if agree:
        return f"{said} agree."
    if overlap:
        file = "; with what the file may have wrong they agree"
    else:
        file = ", and what the file may have wrong does not explain it"
    return f"{said} differ by {apart:.2g} deviations{file}."


ROUGH = (
    "With contact the cost may have minima side by side, of which no covariance knows: ten "
    "recordings a half give intervals that do, of refits to recordings drawn again."
)


def impossible_body(why: object, inertial: str, inertia: str) -> str:
    """Which parameters to free where a link's inertia is one that no body has."""
    return (
        f"{why} Free {inertial}, which stays possible, or tie components: '{inertia}.xx,yy' shared."
    )


def likely(parts: Sequence[tuple[str, float, float]], inputs: Sequence[str]) -> str:
    """Of an effect on which parts of few data agree: name, size and deviation of each alone."""
    count = "Both parts of the data" if len(parts) == 2 else f"All {len(parts)} parts of the data"
    shown = ", ".join(f"{name} {value:.2g} ± {1.96 * std:.1g}" for name, value, std in parts)
    return (
        f"{count} have it, in shares of its size: {shown}; what is held out is too little to show "
        f"it. A third recording, held out, with a wider range of {' and '.join(inputs)} would "
        "decide. What is said of its form is fitted to all of the data."
    )


def these_runs(target: str, parts: Sequence[tuple[str, float, float]]) -> str:
    """Of an effect on whose size recordings disagree: name, size and deviation of each alone."""
    shown = ", ".join(f"{name} {value:.2g} ± {1.96 * std:.1g}" for name, value, std in parts)
    return (
        f"That is known on these runs only: recordings disagree about the size of the effect on "
        f"{target} (in shares of the formula: {shown}). Expect it to carry over to no other run "
        "before the cause of that is found."
    )
