"""Discovery: which effect a simulator lacks, on what it depends, and what it looks like.

1. Physics first: free parameters are fitted as far as they go.
2. Screening (`screen`): which candidate variables ask for which inputs.
3. A closed formula (`formula`).
4. A network on each variable that does, with those inputs, fitted end to end from where the formula
   is; inputs are taken out again while the held-out cost rises by less than a standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import jax
import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError
from graftsim.graft import GRU, MLP, Blueprint, BoundGrafts, Feature, Graft, Library, Specification
from graftsim.identify.discover.findings import Discovery, Finding
from graftsim.identify.discover.formula import Formula, find_formula
from graftsim.identify.discover.likely import Evidence, with_likely
from graftsim.identify.discover.parts import differ, shares
from graftsim.identify.discover.pretrain import taught
from graftsim.identify.discover.score_test import Criteria, Screened, screen
from graftsim.identify.fit.fit import fit, fit_from
from graftsim.identify.problem.parameters import Group
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Result
from graftsim.identify.runs.holdout import Heldout, compare, typical
from graftsim.identify.words import Sureness
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.recordings.recording import Recording
from graftsim.selectors import Selector, quoted, split_components, with_row

SPEED = Library("linear", "quadratic", "cubic", "coulomb", "stribeck")
ANGLE = Library("linear", "sine", "cosine", "cubic")
POSITION = Library("linear", "quadratic", "cubic")
GAIN = Library("linear", "quadratic")
# Terms of joint forces over an input that are parameters of the model.
PARAMETER_TERMS = {
    "joint.damping": ("qd", "linear"),
    "joint.friction": ("qd", "coulomb"),
    "joint.stribeck": ("qd", "stribeck"),
    "joint.stiffness": ("q", "linear"),
}
# Windows held out, at least.
FEWEST = 4
# Few iterations and a loose tolerance: the fits only have to tell which network is better.
SOLVER = LevenbergMarquardt(iterations=30, cost_tolerance=1e-5)


@one_blas_thread
def discover(
    simulator: Simulator,
    recordings: Recording | Sequence[Recording],
    free: Any = (),
    *,
    candidates: Mapping[str, Sequence[str | Feature]] | None = None,
    shared: bool = False,
    network: Specification | None = None,
    criteria: Criteria | None = None,
    seed: int = 0,
    progress: Callable[[str], None] = lambda text: None,
    **options: Any,
) -> Discovery:
    """Find what a simulator lacks to explain recordings.

    free: physical parameters that are fitted all along, as in `Problem`. candidates: for variables
    (`joint.tau_passive[*]`, `link.force[*].fx`) the inputs to try, names or `Feature`s of one
    number; by default each joint force with all joint positions and velocities, and each
    actuator's torque with itself. shared: whether all rows of a candidate follow one law, as the
    links of a swimmer do; else each has its own. network: what is grafted where something is
    missing. options: as for `Problem`. progress: called with a line of text.

    Raises ProblemError: nothing or too little is held out, no candidate is left, a network with
    memory.
    """
    _check_network(network)
    blueprint, targets = _library(simulator, candidates, free, shared)
    options = {"growth": (0.2, 1.0)} | options
    features = _features(candidates or {})
    quest = _Quest(simulator, recordings, free, options, targets, network, seed, progress, features)
    problem = _checked(quest.posed(blueprint, tuple(targets)))
    criteria = criteria or Criteria()
    progress(f"screening {len(problem.parameters.groups)} pairs of variable and input")
    tell = partial(_tell, quest)
    found = screen(problem, criteria, tell)
    found, evidence = with_likely(problem, found, criteria, tell)
    costs = {
        "start": typical(found.held.cost(problem.parameters.start)),
        "physics": typical(found.cost_before),
    }
    facts = _facts(found) | {"targets": targets, "settings": problem.describe()}
    if not found.groups:
        progress("nothing is missing")
        return Discovery((), quest.physics_alone(), costs, **facts)
    progress("looking for a formula")
    formula = find_formula(problem, found.groups, found)
    progress("fitting networks")
    learned = _networks(quest, found, formula, criteria)
    if learned.groups != found.groups:
        formula = find_formula(problem, learned.groups, found)
    costs["network"] = typical(learned.cost)
    costs["formula"] = typical(found.held.cost(formula.theta))
    findings = _findings(problem, found, formula, learned, (targets, evidence))
    return Discovery(
        findings, learned.result, costs, formula=problem.setup_at(formula.theta).simulator, **facts
    )


def _facts(found: Screened) -> dict[str, Any]:
    """What the screening says: cost of mere noise, steps, scores, the cost that is left."""
    return {
        "noise": float(np.exp(np.mean(np.log(np.maximum(found.held.samples, 1) / 2)))),
        "steps": found.steps,
        "scores": found.first_scores,
        "remaining": found.first_cost,
    }


def _tell(quest: _Quest, group: Group, text: str) -> None:
    """A line on a group that was tried."""
    target = with_row(quest.targets[group.graft], group.row)
    quest.progress(f"{target} by {group.input}: {text}")


def _check_network(network: Specification | None) -> None:
    """ProblemError: a network whose output is no function of its inputs alone."""
    if isinstance(network, GRU):
        raise ProblemError(
            "Discovery draws what its networks learned: it needs some without memory, MLP(8, 8)."
        )


def _features(candidates: Mapping[str, Sequence[str | Feature]]) -> dict[str, Feature]:
    """Candidates that are functions, by their text."""
    given = (x for inputs in candidates.values() for x in inputs)
    return {x.text: x for x in given if isinstance(x, Feature)}


def _checked(problem: Problem) -> Problem:
    """The problem. ProblemError: a candidate whose rows are several numbers, of which each wants a
    formula of its own; too little is held out to judge by.
    """
    grafts = problem.simulator.grafts
    assert isinstance(grafts, BoundGrafts)
    for graft in grafts.grafts:
        for target in graft.wiring.targets:
            if len(target.columns) > 1 and isinstance(graft.wiring.specification, Library):
                one = target.columns[0]
                raise ProblemError(
                    f"A candidate is one number a row, and {target.name} has "
                    f"{len(target.columns)}: name one, such as {one}."
                )
    if not problem.heldout:
        raise ProblemError("Discovery needs recordings that are held out, to judge by.")
    count = len(problem.heldout_windows())
    if count < FEWEST:
        raise ProblemError(
            f"Windows held out: {count}, too few to tell an improvement from chance. Hold out "
            "more, or choose a shorter horizon."
        )
    return problem


@dataclass(frozen=True)
class _Quest:
    """What is asked: the arguments of `discover`, and the variable that each label stands for."""

    simulator: Simulator
    recordings: Recording | Sequence[Recording]
    free: Any
    options: Mapping[str, Any]
    targets: Mapping[str, str]
    network: Specification | None
    seed: int
    progress: Callable[[str], None]
    features: Mapping[str, Feature]

    def posed(self, blueprint: Blueprint, trained: Sequence[str]) -> Problem:
        """The problem with grafts of which those named are trained.

        Grafts that the simulator has already are part of what is known, and stay as they are.
        """
        grafted = self.simulator.graft(blueprint, key=jax.random.key(self.seed))
        options = {**self.options, "trained": tuple(trained)}
        return Problem(grafted, self.recordings, self.free, **options)

    def entry(self, group: Group) -> str | Feature:
        """The input of a group, its row named."""
        feature = self.features.get(group.column)
        if feature is None:
            return group.input
        of = (feature.of,) if isinstance(feature.of, str) else feature.of
        return replace(feature, of=tuple(with_row(text, group.row) for text in of))

    def physics_alone(self) -> Result:
        """The fit of the free parameters, or the start judged if there is none."""
        options = {**self.options, "trained": False}
        known = Problem(self.simulator, self.recordings, self.free, **options)
        return fit(known) if self.free else fit_from(known, known.parameters.start)

    def unused(self, name: str) -> str:
        """The name, with a number behind it if a graft of the simulator has it already."""
        grafts = self.simulator.grafts
        return _unused(name, grafts.labels if grafts is not None else ())

    def network_for(self, groups: Sequence[Group], formula: Formula) -> Specification:
        """What is grafted: the network asked for, or one that jumps at rest if the formula does."""
        jumps = {t.group for t in formula.terms if t.kind in ("coulomb", "stribeck")}
        return self.network or MLP(8, 8, signs=not jumps.isdisjoint(groups))


def _library(
    simulator: Simulator,
    candidates: Mapping[str, Sequence[str | Feature]] | None,
    free: Any,
    shared: bool,
) -> tuple[Blueprint, dict[str, str]]:
    """Library grafts of the candidates, and the variable that each label stands for.

    Terms that a free parameter stands for already are left out: the two could cancel.
    """
    tree, actuator = simulator.model.tree, simulator.model.actuator
    taken = simulator.grafts.labels if simulator.grafts is not None else ()
    grafts: list[Graft] = []

    known = {PARAMETER_TERMS.get(text.split("[")[0]) for text in free or ()}

    def add(target: str, inputs: tuple[str | Feature, ...], library: Library) -> None:
        place = "" if isinstance(inputs[0], Feature) else _quantity(inputs[0]).split(".")[1]
        terms = [t for t in library.terms if (place, t) not in known or "tau_passive" not in target]
        library = Library(*terms)
        label = _unused(f"library {len(grafts) + 1}", taken)
        grafts.append(Graft(target, inputs, network=library, shared=shared, name=label))

    if candidates is None:
        single = [
            v for i, t in enumerate(tree.joint_types) if t.nq == t.nv for v in tree.v_index[i]
        ]
        for unit, library in (("rad", ANGLE), ("m", POSITION)):
            names = ",".join(quoted(tree.dofs[v]) for v in single if tree.dof_units[v] == unit)
            if names:
                add("joint.tau_passive[*]", (f"joint.q[{names}]",), library)
        add("joint.tau_passive[*]", ("joint.qd",), SPEED)
        driven = sorted({quoted(tree.dofs[d]) for d in actuator.dof if d >= 0})
        if driven:
            names = ",".join(driven)
            add(f"joint.tau_actuator[{names}]", ("joint.tau_actuator[*]",), GAIN)
    else:
        position = ANGLE if set(tree.dof_units) == {"rad"} else POSITION
        for target, inputs in candidates.items():
            for text in inputs:
                place = not isinstance(text, Feature) and _quantity(text) in ("joint.q", "state.q")
                add(target, (text,), position if place else SPEED)
    if not grafts:
        raise ProblemError("There is no candidate to try.")
    return Blueprint(*grafts), {
        g.label: g.targets[0] if shared else _every_row(g.targets[0]) for g in grafts
    }


def _quantity(text: str) -> str:
    """`joint.qd[*]@prev` as `joint.qd`."""
    return text.split("[")[0].removesuffix("@prev")


def _every_row(target: str) -> str:
    """`link.force[arm].fx` as `link.force[*].fx`, in which a row can be put."""
    selector, components = split_components(target)
    every = f"{Selector.parse(selector).name}[*]"
    return every if components is None else f"{every}.{','.join(components)}"


class _Learned(NamedTuple):
    """A fit of networks, its held-out costs [w], labels by (variable, row), and their inputs."""

    result: Result
    cost: np.ndarray
    labels: dict[tuple[str, str], str]
    groups: tuple[Group, ...]


def _networks(quest: _Quest, found: Screened, formula: Formula, criteria: Criteria) -> _Learned:
    """Networks on the variables found, each with its inputs; then fewer, while that holds."""
    targets = quest.targets
    groups = list(found.groups)
    best = _learn(quest, found, formula, groups)
    # The screening has judged the variables; here it is about networks with several inputs.
    rows = [(targets[g.graft], g.row) for g in groups]
    if len(set(rows)) == len(rows):
        return best
    for group in found.groups:
        rest = [g for g in groups if g != group]
        if (targets[group.graft], group.row) not in [(targets[g.graft], g.row) for g in rest]:
            continue
        where = with_row(targets[group.graft], group.row)
        quest.progress(f"fitting networks without {group.column} for {where}")
        trial = _learn(quest, found, formula, rest)
        mean, error = compare(trial.cost, best.cost)
        if mean <= max(error, criteria.share):
            quest.progress(f"{group.column} is not needed by {where}")
            groups, best = rest, trial
    return best


def _learn(quest: _Quest, found: Screened, formula: Formula, groups: Sequence[Group]) -> _Learned:
    """Networks with these inputs, each begun where the formula is, fitted to the recordings."""
    inputs: dict[tuple[str, str], list[Group]] = {}
    for g in groups:
        inputs.setdefault((quest.targets[g.graft], g.row), []).append(g)
    selectors = {key: with_row(*key) for key in inputs}
    labels = {key: quest.unused(text) for key, text in selectors.items()}
    blueprint = Blueprint(
        *(
            Graft(
                selectors[key],
                tuple(quest.entry(g) for g in own),
                network=quest.network_for(own, formula),
                name=labels[key],
            )
            for key, own in inputs.items()
        )
    )
    problem = quest.posed(blueprint, tuple(labels.values()))
    p = problem.parameters
    start, alone = p.start.copy(), p.start.copy()
    start[p.physical] = found.theta[: p.physical.sum()]
    alone[p.physical] = found.bare[: p.physical.sum()]
    teachers = {labels[key]: _teacher(formula, own) for key, own in inputs.items()}
    held = Heldout(problem, problem.heldout_windows())
    wise = taught(problem, problem.train_windows(problem.horizons[0]), start, teachers)
    # What a network makes of inputs beyond those it was taught at may fly off.
    start = wise if np.isfinite(held.cost(wise)).all() else start
    result = fit_from(problem, start, local=SOLVER, alone=alone)
    return _Learned(result, held.cost(result.theta), labels, tuple(groups))


def _teacher(formula: Formula, own: Sequence[Group]) -> Callable[[np.ndarray], np.ndarray]:
    """The formula's force [n, 1] from the inputs [n, k] of a network, in the order of `own`."""

    def force(x: np.ndarray) -> np.ndarray:
        parts = [t.evaluate(x[:, own.index(t.group)]) for t in formula.terms if t.group in own]
        return np.sum(parts, 0)[:, None] if parts else np.zeros((len(x), 1))

    return force


def _unused(name: str, taken: Sequence[str]) -> str:
    """The name, with a number behind it if a graft has it already."""
    if name not in taken:
        return name
    return next(n for k in range(2, len(taken) + 3) if (n := f"{name} {k}") not in taken)


def _findings(
    problem: Problem,
    found: Screened,
    formula: Formula,
    learned: _Learned,
    known: tuple[Mapping[str, str], Sequence[Evidence]],
) -> tuple[Finding, ...]:
    """known: the variable of each library graft, and what there is for effects that are likely."""
    p, out, (targets, evidence) = problem.parameters, [], known
    doubtful = {e.group: e.parts for e in evidence}
    summaries = {s.label: s for s in learned.result.grafts}
    cost = typical(found.held.cost(formula.theta))
    for (target, row), label in learned.labels.items():
        mine = [g for g in learned.groups if (targets[g.graft], g.row) == (target, row)]
        numbers = [i for i, g in enumerate(p.groups) if g in mine]
        theta = np.where(np.isin(p.group, numbers), 0.0, formula.theta)
        used = np.flatnonzero(np.isin(p.group, numbers) & (formula.theta != 0)).tolist()
        parts = shares(problem, formula.theta, used)
        sureness = Sureness.FOUND if not differ(parts) else Sureness.THESE_RUNS
        if doubtful.keys() >= set(mine):
            sureness, parts = Sureness.LIKELY, doubtful[mine[0]]
        out.append(
            Finding(
                target=with_row(target, row),
                inputs=tuple(g.input for g in mine),
                graft=label,
                summary=summaries[label],
                formula=tuple(t for t in formula.terms if t.group in mine),
                cost_without=typical(found.held.cost(theta)),
                cost=cost,
                sureness=sureness,
                parts=parts,
            )
        )
    return tuple(sorted(out, key=lambda f: -f.cost_without))
