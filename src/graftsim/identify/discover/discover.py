"""Discovery: which effect a simulator lacks, on what it depends, and what it looks like.

1. Physics first: free parameters are fitted as far as they go.
2. Screening (`screen`): which candidate variables ask for which inputs.
3. A closed formula (`formula`).
4. A network on each variable that does, with those inputs, fitted end to end from where the formula
   is; inputs are taken out again while the held-out cost does not tell (one standard error).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from graftsim.blas import one_blas_thread
from graftsim.engine.simulator import Simulator
from graftsim.errors import ProblemError
from graftsim.graft import GRU, MLP, Blueprint, Graft, Library, Specification
from graftsim.identify.discover.findings import Discovery, Finding
from graftsim.identify.discover.formula import Formula, find_formula
from graftsim.identify.discover.pretrain import taught
from graftsim.identify.discover.score_test import Criteria, Screened, screen
from graftsim.identify.fit.fit import fit, fit_from
from graftsim.identify.problem.parameters import Group
from graftsim.identify.problem.problem import Problem
from graftsim.identify.results.result import Result
from graftsim.identify.runs.holdout import Heldout, compare, typical
from graftsim.optim.least_squares import LevenbergMarquardt
from graftsim.recordings.recording import Recording
from graftsim.selectors import quoted, row_name

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
# Networks are to be compared here, not polished.
SOLVER = LevenbergMarquardt(iterations=30, cost_tolerance=1e-5)


@one_blas_thread
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

    Raises ProblemError: nothing or too little is held out, no candidate is left, a network with
    memory.
    """
    criteria = criteria or Criteria()
    if isinstance(network, GRU):
        raise ProblemError(
            "Discovery draws what its networks learned: it needs some without memory, MLP(8, 8)."
        )
    blueprint, targets = _library(simulator, candidates, free)
    options = {"growth": (0.2, 1.0)} | options
    # Grafts that the simulator has already are part of what is known, and stay as they are.
    library = simulator.graft(blueprint)
    problem = Problem(library, recordings, free, **{**options, "trained": tuple(targets)})
    if not problem.heldout:
        raise ProblemError("Discovery needs recordings that are held out, to judge by.")
    held_windows = problem.heldout_windows()
    if len(held_windows) < 4:
        raise ProblemError(
            f"Windows held out: {len(held_windows)}, too few to tell an improvement from chance. "
            "Hold out more, or choose a shorter horizon."
        )
    progress(f"screening {len(problem.parameters.groups)} pairs of variable and input")
    found = screen(
        problem, criteria, progress, lambda g: f"{row_name(targets[g.graft], g.row)} by {g.input}"
    )
    held = found.held
    noise = float(np.exp(np.mean(np.log(np.maximum(held.samples, 1) / 2))))
    start = held.cost(problem.parameters.start)
    costs = {"start": typical(start), "physics": typical(found.cost_before)}
    settings = problem.describe()
    facts: dict[str, Any] = {
        "noise": noise, "steps": found.steps, "scores": found.first_scores,
        "remaining": found.first_cost, "targets": targets, "settings": settings,
    }  # fmt: skip
    if not found.groups:
        progress("nothing is missing")
        known = Problem(simulator, recordings, free, **{**options, "trained": False})
        result = fit_from(known, known.parameters.start) if not free else fit(known)
        return Discovery((), result, costs, **facts)
    progress("looking for a formula")
    formula = find_formula(problem, found.groups, found)
    formula_cost = held.cost(formula.theta)
    # A force that jumps at rest needs a network that can.
    jumps = {t.group for t in formula.terms if t.kind in ("coulomb", "stribeck")}
    progress("fitting networks")
    result, network_cost, labels, groups = _networks(
        simulator, recordings, free, options, found, targets,
        lambda groups: network or MLP(8, 8, signs=not jumps.isdisjoint(groups)),
        seed, criteria, formula, progress,
    )  # fmt: skip
    if groups != found.groups:
        formula = find_formula(problem, groups, found)
        formula_cost = held.cost(formula.theta)
    costs |= {"network": typical(network_cost), "formula": typical(formula_cost)}
    findings = _findings(problem, found, groups, formula, result, labels, targets)
    return Discovery(
        findings, result, costs, formula=problem.setup_at(formula.theta).simulator, **facts
    )


def _library(
    simulator: Simulator, candidates: Mapping[str, Sequence[str]] | None, free: Any
) -> tuple[Blueprint, dict[str, str]]:
    """Library grafts of the candidates, and the variable that each label stands for.

    Terms that a free parameter stands for already are left out: the two could cancel.
    """
    tree, actuator = simulator.model.tree, simulator.model.actuator
    taken = simulator.grafts.labels if simulator.grafts is not None else ()
    grafts: list[Graft] = []

    known = {PARAMETER_TERMS.get(text.split("[")[0]) for text in free or ()}

    def add(target: str, inputs: tuple[str, ...], library: Library) -> None:
        place = inputs[0].split("[")[0].removesuffix("@prev").split(".")[1]
        terms = [t for t in library.terms if (place, t) not in known or "tau_passive" not in target]
        library = Library(*terms)
        label = _unused(f"library {len(grafts) + 1}", taken)
        grafts.append(Graft(target, inputs, network=library, shared=False, name=label))

    if candidates is None:
        single = [
            v for i, t in enumerate(tree.joint_types) if t.nq == t.nv for v in tree.v_index[i]
        ]
        for unit, library in (("rad", ANGLE), ("m", POSITION)):
            names = ",".join(quoted(tree.dofs[v]) for v in single if tree.dof_units[v] == unit)
            if names:
                add("joint.tau_passive[*]", (f"joint.q[{names}]",), library)
        add("joint.tau_passive[*]", ("joint.qd",), SPEED)
        driven = sorted({quoted(tree.dofs[d]) for d in actuator.dof})
        if driven:
            names = ",".join(driven)
            add(f"joint.tau_actuator[{names}]", ("joint.tau_actuator[*]",), GAIN)
    else:
        position = ANGLE if set(tree.dof_units) == {"rad"} else POSITION
        for target, inputs in candidates.items():
            for text in inputs:
                kind = text.split("[")[0].removesuffix("@prev")
                add(target, (text,), position if kind in ("joint.q", "state.q") else SPEED)
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
    network: Callable[[Sequence[Group]], Specification],
    seed: int,
    criteria: Criteria,
    formula: Formula,
    progress: Callable[[str], None],
) -> tuple[Result, np.ndarray, dict[tuple[str, str], str], tuple[Group, ...]]:
    """Networks on the variables found, each with its inputs; then fewer, while that holds.

    Each begins where the formula is, and is then fitted to the recordings.
    """

    def attempt(groups: Sequence[Group]) -> tuple[Result, np.ndarray, dict[tuple[str, str], str]]:
        inputs: dict[tuple[str, str], list[Group]] = {}
        for g in groups:
            inputs.setdefault((targets[g.graft], g.row), []).append(g)
        selectors = {key: row_name(*key) for key in inputs}
        taken = simulator.grafts.labels if simulator.grafts is not None else ()
        labels = {key: _unused(text, taken) for key, text in selectors.items()}
        blueprint = Blueprint(
            *(
                Graft(
                    selectors[key],
                    tuple(g.input for g in own),
                    network=network(own),
                    name=labels[key],
                )
                for key, own in inputs.items()
            )
        )
        hybrid = simulator.graft(blueprint, key=jax.random.key(seed))
        mine = tuple(labels.values())
        problem = Problem(hybrid, recordings, free, **{**options, "trained": mine})
        start = problem.parameters.start.copy()
        start[problem.parameters.physical] = found.theta[: problem.parameters.physical.sum()]
        alone = problem.parameters.start.copy()
        alone[problem.parameters.physical] = found.bare[: problem.parameters.physical.sum()]
        teachers = {labels[key]: _teacher(formula, own) for key, own in inputs.items()}
        seen = problem.train_windows(problem.horizons[0])
        start = taught(problem, seen, start, teachers)
        result = fit_from(problem, start, local=SOLVER, alone=alone)
        windows = problem.heldout_windows()
        cost = Heldout(problem, windows).cost(result.theta)
        return result, cost, labels

    groups = list(found.groups)
    result, cost, labels = attempt(groups)
    # The screening has judged the variables; here it is about networks with several inputs.
    rows = [(targets[g.graft], g.row) for g in groups]
    if len(set(rows)) < len(rows):
        for group in list(groups):
            rest = [g for g in groups if g != group]
            if (targets[group.graft], group.row) not in [(targets[g.graft], g.row) for g in rest]:
                continue
            trial = attempt(rest)
            mean, error = compare(trial[1], cost)
            if mean <= max(error, criteria.share):
                progress(
                    f"{group.column} is not needed by {row_name(targets[group.graft], group.row)}"
                )
                groups = rest
                result, cost, labels = trial
    return result, cost, labels, tuple(groups)


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
    groups: tuple[Group, ...],
    formula: Formula,
    result: Result,
    labels: Mapping[tuple[str, str], str],
    targets: Mapping[str, str],
) -> tuple[Finding, ...]:
    p, out = problem.parameters, []
    summaries = {s.label: s for s in result.grafts}
    cost = typical(found.held.cost(formula.theta))
    for (target, row), label in labels.items():
        mine = [g for g in groups if (targets[g.graft], g.row) == (target, row)]
        numbers = [i for i, g in enumerate(p.groups) if g in mine]
        theta = np.where(np.isin(p.group, numbers), 0.0, formula.theta)
        out.append(
            Finding(
                target=row_name(target, row),
                inputs=tuple(g.input for g in mine),
                graft=label,
                summary=summaries[label],
                formula=tuple(t for t in formula.terms if t.group in mine),
                cost_without=typical(found.held.cost(theta)),
                cost=cost,
            )
        )
    return tuple(sorted(out, key=lambda f: -f.cost_without))
