"""Discovery: which effect a simulator lacks, on what it depends, and what it looks like.

1. Physics first: free parameters are fitted as far as they go.
2. Screening (`screen`): which candidate variables ask for which inputs.
3. A network on each variable that does, with those inputs, fitted end to end; inputs are taken
   out again while the held-out cost does not tell (one standard error).
4. A closed formula (`formula`), and its held-out cost beside the network's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jax
import numpy as np

from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError
from graftsim.graft import MLP, Blueprint, Graft, Library, Specification
from graftsim.identify.fit import fit
from graftsim.identify.formula import Formula, Term, find_formula
from graftsim.identify.holdout import Heldout, compare, typical
from graftsim.identify.parameters import Group
from graftsim.identify.problem import Problem
from graftsim.identify.result import GraftSummary, Result
from graftsim.identify.screen import Criteria, Screened, Step, screen
from graftsim.io.recording import Recording

SPEED = Library("linear", "quadratic", "cubic", "coulomb", "stribeck")
POSITION = Library("linear", "sine", "cosine", "cubic")
GAIN = Library("linear", "quadratic")


@dataclass(frozen=True)
class Finding:
    """One effect that was missing: a variable, its inputs, the network's summary and a formula.

    `cost_without`: typical held-out cost of a window when this effect alone is left out;
    `cost`: with everything.
    """

    target: str
    inputs: tuple[str, ...]
    graft: str
    summary: GraftSummary
    formula: tuple[Term, ...]
    cost_without: float
    cost: float


@dataclass(frozen=True)
class Discovery:
    """What was found. `result` is the fit with the networks (or without, if nothing is missing).

    `costs`: typical held-out cost of a window (half the whitened sum of squares) by stage: "start",
    "physics", "network", "formula". `noise`: what it would be with noise alone.
    """

    findings: tuple[Finding, ...]
    result: Result
    costs: dict[str, float]
    noise: float
    steps: tuple[Step, ...]
    scores: dict[Group, float]
    targets: dict[str, str]
    formula: Simulator | None = None
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def simulator(self) -> Simulator:
        """The simulator with networks where something was missing."""
        return self.result.simulator

    def sentences(self) -> list[str]:
        """The findings in words."""
        return sentences(self)

    def __str__(self) -> str:
        return "\n".join(self.sentences())

    __repr__ = __str__

    def report(self, folder: str | Path) -> Path:
        """Write a report with the findings into a folder; returns the page."""
        from graftsim.report import write_report

        return write_report(self.result, folder, discovery=self)


def discover(
    simulator: Simulator,
    recordings: Recording | Sequence[Recording],
    free: Any = (),
    *,
    candidates: Mapping[str, Sequence[str]] | None = None,
    network: Specification | None = None,
    criteria: Criteria | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Discovery:
    """Find what a simulator lacks to explain recordings.

    free: physical parameters that are fitted all along, as in `Problem`. candidates: for variables
    (`joint.tau_passive[*]`) the inputs to try; by default each joint force with all joint
    positions and velocities, and each actuator's torque with itself. network: what is grafted
    where something is missing. options: as for `Problem`. progress: called with a line of text.

    Raises ProblemError: nothing is held out, or no candidate is left.
    """
    criteria = criteria or Criteria()
    blueprint, targets = _library(simulator, candidates)
    options = {"growth": (1.0,)} | options
    problem = Problem(simulator.graft(blueprint), recordings, free, **options)
    if not problem.heldout:
        raise ProblemError("Discovery needs recordings that are held out, to judge by.")
    held_windows = problem.windows(problem.heldout, problem.horizons[-1])
    if len(held_windows) < 4:
        raise ProblemError(
            f"Only {len(held_windows)} windows are held out: too few to tell an improvement from "
            "chance. Hold out more, or choose a shorter horizon."
        )
    progress(f"screening {len(problem.parameters.groups)} pairs of variable and input")
    held = Heldout(problem, held_windows)
    start = held.cost(problem.parameters.start)
    found = screen(problem, criteria, progress)
    noise = float(np.exp(np.mean(np.log(np.maximum(held.samples, 1) / 2))))
    costs = {"start": typical(start), "physics": typical(found.cost_before)}
    settings = problem.describe()
    facts: dict[str, Any] = {
        "noise": noise, "steps": found.steps, "scores": found.first_scores, "targets": targets,
        "settings": settings,
    }  # fmt: skip
    if not found.groups:
        progress("nothing is missing")
        result = fit(Problem(simulator, recordings, free or None, **options))
        return Discovery((), result, costs, **facts)
    progress("fitting networks")
    result, network_cost, labels, groups = _networks(
        simulator, recordings, free, options, found, targets, network or MLP(8, 8), seed, criteria,
        progress,
    )  # fmt: skip
    progress("looking for a formula")
    formula = find_formula(problem, groups, found.theta)
    formula_cost = held.cost(formula.theta)
    costs |= {"network": typical(network_cost), "formula": typical(formula_cost)}
    findings = _findings(problem, held, found, groups, formula, result, labels, targets)
    return Discovery(
        findings, result, costs, formula=problem.setup_at(formula.theta).simulator, **facts
    )


def _library(
    simulator: Simulator, candidates: Mapping[str, Sequence[str]] | None
) -> tuple[Blueprint, dict[str, str]]:
    """Library grafts of the candidates, and the variable that each label stands for."""
    tree, actuator = simulator.model.tree, simulator.model.actuator
    taken = simulator.grafts.labels if simulator.grafts is not None else ()
    grafts: list[Graft] = []

    def add(target: str, inputs: tuple[str, ...], library: Library) -> None:
        label = f"library {len(grafts) + 1}"
        assert label not in taken
        grafts.append(Graft(target, inputs, network=library, shared=False, name=label))

    if candidates is None:
        hinged = [
            tree.dofs[v]
            for i, t in enumerate(tree.joint_types)
            if t.nq == t.nv
            for v in tree.v_index[i]
        ]
        if hinged:
            names = ",".join(hinged)
            add("joint.tau_passive[*]", (f"joint.q[{names}]",), POSITION)
        add("joint.tau_passive[*]", ("joint.qd",), SPEED)
        driven = sorted({tree.dofs[d] for d in actuator.dof})
        if driven:
            names = ",".join(driven)
            add(f"joint.tau_actuator[{names}]", ("joint.tau_actuator[*]",), GAIN)
    else:
        for target, inputs in candidates.items():
            for text in inputs:
                position = text.startswith(("joint.q[", "state.q[")) or text in (
                    "joint.q",
                    "state.q",
                )
                add(target, (text,), POSITION if position else SPEED)
    if not grafts:
        raise ProblemError("There is no candidate to try.")
    names = {g.label: g.targets[0].split("[")[0] for g in grafts}
    return Blueprint(*grafts), names


def _networks(
    simulator: Simulator,
    recordings: Any,
    free: Any,
    options: Mapping[str, Any],
    found: Screened,
    targets: Mapping[str, str],
    network: Specification,
    seed: int,
    criteria: Criteria,
    progress: Callable[[str], None],
) -> tuple[Result, np.ndarray, dict[tuple[str, str], str], tuple[Group, ...]]:
    """Networks on the variables found, each with its inputs; then fewer, while that holds."""

    def attempt(groups: Sequence[Group]) -> tuple[Result, np.ndarray, dict[tuple[str, str], str]]:
        inputs: dict[tuple[str, str], list[str]] = {}
        for g in groups:
            inputs.setdefault((targets[g.graft], g.row), []).append(_row_input(g))
        labels = {key: f"{key[0]}[{key[1]}]" for key in inputs}
        blueprint = Blueprint(
            *(
                Graft(labels[key], tuple(texts), network=network, name=labels[key])
                for key, texts in inputs.items()
            )
        )
        hybrid = simulator.graft(blueprint, key=jax.random.key(seed))
        problem = Problem(hybrid, recordings, free, **options)
        result = fit(problem)
        windows = problem.windows(problem.heldout, problem.horizons[-1])
        cost = Heldout(problem, windows).cost(result.theta)
        return result, cost, labels

    groups = list(found.groups)
    result, cost, labels = attempt(groups)
    if len(groups) > 1:
        for group in list(groups):
            rest = [g for g in groups if g != group]
            if not rest:
                break
            trial = attempt(rest)
            mean, error = compare(trial[1], cost)
            if mean <= max(error, criteria.share):
                progress(f"{group.column} is not needed by {targets[group.graft]}[{group.row}]")
                groups = rest
                result, cost, labels = trial
    return result, cost, labels, tuple(groups)


def _row_input(group: Group) -> str:
    """The input of a group as a selector with its row named."""
    return group.column.replace("[*]", f"[{group.row}]")


def _findings(
    problem: Problem,
    held: Heldout,
    found: Screened,
    groups: tuple[Group, ...],
    formula: Formula,
    result: Result,
    labels: Mapping[tuple[str, str], str],
    targets: Mapping[str, str],
) -> tuple[Finding, ...]:
    p, out = problem.parameters, []
    summaries = {s.label: s for s in result.grafts}
    cost = typical(held.cost(formula.theta))
    for (target, row), label in labels.items():
        mine = [g for g in groups if (targets[g.graft], g.row) == (target, row)]
        numbers = [i for i, g in enumerate(p.groups) if g in mine]
        theta = np.where(np.isin(p.group, numbers), 0.0, formula.theta)
        out.append(
            Finding(
                target=label,
                inputs=tuple(_row_input(g) for g in mine),
                graft=label,
                summary=summaries[label],
                formula=tuple(t for t in formula.terms if t.group in mine),
                cost_without=typical(held.cost(theta)),
                cost=cost,
            )
        )
    return tuple(sorted(out, key=lambda f: -f.cost_without))


def sentences(found: Discovery) -> list[str]:
    """What was found, in words with numbers."""
    c = found.costs

    def times(a: float, b: float) -> str:
        return f"{np.sqrt(a / b):.3g}" if b > 0 else "infinitely"

    if not found.findings:
        tried = len(found.scores)
        best = found.steps[0] if found.steps else None
        said = [
            f"Nothing is missing: of {tried} pairs of variable and input, none explains what the "
            "model leaves."
        ]
        if best is not None and np.isfinite(best.after):
            said.append(
                f"The most promising, {_pair(found, best.group)}, does not lower the held-out "
                f"error (by {100 * (1 - np.sqrt(best.after / best.before)):.2g} %)."
            )
        elif best is not None:
            said.append(
                f"The most promising, {_pair(found, best.group)}, promises no more than chance "
                f"gives (probability {best.probability:.2g})."
            )
        return said
    said = []
    for f in found.findings:
        terms = " ".join(_signed(t) for t in f.formula)
        said.append(
            f"{f.target} lacks an effect of {' and '.join(f.inputs)}: without it the held-out "
            f"error is {times(f.cost_without, f.cost)} times larger. As a formula, in "
            f"{f.summary.output_units[0]}: {terms}."
        )
    said.append(
        f"The held-out error falls {times(c['physics'], c['network'])} times with the networks, "
        f"{times(c['physics'], c['formula'])} times with the formulas; what is left is "
        f"{np.sqrt(c['network'] / found.noise):.2f} times the sensor noise."
    )
    return said


def _pair(found: Discovery, group: Group) -> str:
    return f"{found.targets[group.graft]}[{group.row}] by {_row_input(group)}"


def _signed(term: Term) -> str:
    digits = max(int(np.ceil(-np.log10(term.std))) + 1, 0) if 0 < term.std < np.inf else 4
    sign = "-" if term.value < 0 else "+"
    return f"{sign} ({abs(term.value):.{min(digits, 8)}f} ± {1.96 * term.std:.1g}) {term.text}"
