"""What a discovery found: effects, numbers, and the words for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.identify import words
from graftsim.identify.discover.formula import Term
from graftsim.identify.discover.parts import Part
from graftsim.identify.discover.score_test import Step
from graftsim.identify.problem.parameters import Group
from graftsim.identify.results.result import QUANTILE, GraftSummary, Result, finite
from graftsim.identify.words import Sureness
from graftsim.selectors import with_row

# A held-out error up to so many times the sensor noise leaves nothing to look for.
COMPLETE = 2.0


@dataclass(frozen=True)
class Finding:
    """One effect that was missing: a variable, its inputs, the network's summary and a formula.

    `cost_without`: typical held-out cost of a window when this effect alone is left out;
    `cost`: with everything. `sureness`: found; likely, where one or two recordings agree on it and
    what is held out is too little to show it; or known on these runs only, where they disagree.
    `parts`: what each recording, or each half of a single one, says of its size alone.
    """

    target: str
    inputs: tuple[str, ...]
    graft: str
    summary: GraftSummary
    formula: tuple[Term, ...]
    cost_without: float
    cost: float
    sureness: Sureness = Sureness.FOUND
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True)
class Discovery:
    """What was found. `result` is the fit with the networks (or without, if nothing is missing).

    `costs`: typical held-out cost of a window (half the whitened sum of squares) by stage: "start",
    "physics", "network", "formula". `noise`: what it would be with noise alone. `scores`: decrease
    of the cost of the fitted windows, `remaining`, that the screening promised for each pair.
    """

    findings: tuple[Finding, ...]
    result: Result
    costs: dict[str, float]
    noise: float
    steps: tuple[Step, ...]
    scores: dict[Group, float]
    remaining: float
    targets: dict[str, str]
    formula: Simulator | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def simulator(self) -> Simulator:
        """The simulator with networks where something was missing."""
        return self.result.simulator

    @property
    def complete(self) -> bool:
        """Does the simulator explain what is held out, but for about the sensor noise?"""
        left = min(self.costs.values())
        return bool(left <= COMPLETE**2 * self.noise)

    @property
    def certain(self) -> tuple[Finding, ...]:
        """Findings that are found, not only likely or known on these runs."""
        return tuple(f for f in self.findings if f.sureness == Sureness.FOUND)

    def sentences(self) -> list[str]:
        """The findings in words."""
        return sentences(self)

    def pair(self, group: Group) -> tuple[str, str]:
        """Variable and input of a group of the screening, each with its row."""
        return with_row(self.targets[group.graft], group.row), group.input

    def as_dict(self) -> dict[str, Any]:
        """Sentences and numbers for JSON; those of the fit and its networks are in `result`."""

        def named(group: Group) -> dict[str, str]:
            return dict(zip(("variable", "input"), self.pair(group), strict=True))

        def term(t: Term) -> dict[str, Any]:
            half = QUANTILE * t.std
            numbers = {k: v for k, v in t._asdict().items() if k != "group"}
            return {
                "input": t.group.input,
                **numbers,
                "low": t.value - half,
                "high": t.value + half,
            }

        return {
            "sentences": self.sentences(),
            "findings": [
                {
                    "variable": f.target,
                    "inputs": list(f.inputs),
                    "graft": f.graft,
                    "formula": [term(t) for t in f.formula],
                    "cost without": f.cost_without,
                    "cost": f.cost,
                    "sureness": str(f.sureness),
                    "parts": [part._asdict() for part in f.parts],
                }
                for f in self.findings
            ],
            "complete": self.complete,
            "costs": dict(self.costs),
            "noise": self.noise,
            "steps": [
                named(s.group) | {k: v for k, v in s._asdict().items() if k != "group"}
                for s in self.steps
            ],
            "scores": [named(g) | {"score": s} for g, s in self.scores.items()],
            "remaining": self.remaining,
        }

    def as_json(self) -> dict[str, Any]:
        """What the report's `fit.json` holds: the result's numbers, and `discovery` with these."""
        return finite(self.result.as_dict() | {"discovery": self.as_dict()})

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    __repr__ = __str__


def sentences(found: Discovery) -> list[str]:
    """What was found, in words with numbers."""
    c = found.costs

    def times(a: float, b: float) -> str:
        return f"{np.sqrt(a / b):.3g}" if b > 0 else "infinitely"

    if not found.findings:
        tried = len(found.scores)
        best = found.steps[0] if found.steps else None
        left = np.sqrt(c["physics"] / found.noise)
        lead = "Nothing is missing" if found.complete else "No effect was found"
        said = [
            f"{lead}: of {tried} pairs of variable and input, none explains what the model leaves."
        ]
        if best is not None and np.isfinite(best.after):
            change = 100 * (1 - np.sqrt(best.after / best.before))
            how = (
                f"lowers the held-out error by {change:.2g} % only, no more than chance may"
                if change > 0
                else f"does not lower the held-out error: it rises by {-change:.2g} %"
            )
            said.append(f"The most promising, {_pair(found, best.group)}, {how}.")
        elif best is not None:
            said.append(
                f"The most promising, {_pair(found, best.group)}, promises no more than chance "
                f"gives (probability {best.probability:.2g})."
            )
        said.append(
            f"What is left is {left:.2f} times the sensor noise"
            + ("." if found.complete else ": something is missing that none of these can express.")
        )
        return said
    said = []
    for f in found.findings:
        terms = " ".join(_signed(t) for t in f.formula).removeprefix("+ ")
        lead = f"{f.target} lacks an effect of {' and '.join(f.inputs)}"
        formula = f"As a formula, in {f.summary.output_units[0]}: {terms}."
        if f.sureness == Sureness.LIKELY:
            lead = f"Likely, not certain: {lead}. "
            said.append(lead + words.likely(f.parts, f.inputs) + f" {formula}")
            continue
        larger = times(f.cost_without, f.cost)
        said.append(f"{lead}: without it the held-out error is {larger} times larger. {formula}")
        if f.sureness == Sureness.THESE_RUNS:
            said.append(words.these_runs(f.target, f.parts))

    def change(cost: float) -> str:
        if cost > c["physics"]:
            return f"rises {times(cost, c['physics'])} times"
        return f"falls {times(c['physics'], cost)} times"

    formulas = change(c["formula"])
    if c["network"] <= c["physics"]:
        formulas = formulas.removeprefix("falls ")
    said.append(
        f"The held-out error {change(c['network'])} with the networks, "
        f"{formulas} with the formulas; what is left is "
        f"{np.sqrt(c['network'] / found.noise):.2f} times the sensor noise."
    )
    return said


def _pair(found: Discovery, group: Group) -> str:
    return " by ".join(found.pair(group))


def _signed(term: Term) -> str:
    """A term with its sign, both of its numbers to two digits of the half interval."""
    half = QUANTILE * term.std
    digits = min(max(1 - int(np.floor(np.log10(half))), 0), 8) if 0 < half < np.inf else 4
    sign = "-" if term.value < 0 else "+"
    return f"{sign} ({abs(term.value):.{digits}f} ± {half:.{digits}f}) {term.text}"
