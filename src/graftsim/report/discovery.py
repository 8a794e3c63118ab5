"""What a discovery found, for the top of the page: headline, screening, trials, findings."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from graftsim.graft.bound import BoundGrafts
from graftsim.identify import words
from graftsim.identify.discover.findings import Discovery, Finding
from graftsim.identify.discover.formula import Term
from graftsim.identify.discover.score_test import Step
from graftsim.identify.problem.parameters import Group
from graftsim.identify.results.result import QUANTILE, Curve
from graftsim.identify.words import Sureness
from graftsim.report import learned, scores
from graftsim.report.numbers import NONE, decimal, percent, places_for, rounded, unit
from graftsim.report.section import Section, Subject
from graftsim.report.words import Headline, headline
from graftsim.selectors import with_row

STAGES = {
    "start": "as the robot file says",
    "physics": "free parameters fitted",
    "network": "with the networks",
    "formula": "with the formulas in their place",
}
# Parameters of the model that are a term of the library with a negative sign.
PARAMETERS = {
    ("joint.tau_passive", "joint.qd", "linear"): "joint.damping",
    ("joint.tau_passive", "joint.qd", "coulomb"): "joint.friction",
    ("joint.tau_passive", "joint.qd", "stribeck"): "joint.stribeck",
    ("joint.tau_passive", "joint.q", "linear"): "joint.stiffness",
}


def head(found: Discovery) -> Headline:
    """Title and opening sentences: the discovery's own, and what became of the errors."""
    of_fit = headline(found.result)
    effects = [f"{' and '.join(f.inputs)} on {f.target}" for f in found.findings]
    if not effects:
        said = (*found.sentences(), *of_fit.sentences[-1:])
        if found.complete:
            return Headline("Nothing is missing", "good", said)
        return Headline("No effect was found, and the model is not complete", "flat", said)
    sure = [e for e, f in zip(effects, found.findings, strict=True) if f.sureness == Sureness.FOUND]
    lead = _lead(len(sure), len(effects) - len(sure), found)
    shown = sure or effects
    more = f" and {len(shown) - 3} more" if len(shown) > 3 else ""
    title = f"{lead}: {'; '.join(shown[:3])}{more}"
    said = (*found.sentences(), f"{of_fit.title}.", *of_fit.sentences[-1:])
    return Headline(title, "good" if sure and of_fit.mood == "good" else "flat", said)


def _lead(sure: int, others: int, found: Discovery) -> str:
    """How many effects are missing, and how sure that is."""
    if sure:
        return "One effect is missing" if sure == 1 else f"{sure} effects are missing"
    likely = all(f.sureness == Sureness.LIKELY for f in found.findings)
    how = "likely missing, not certain" if likely else "missing, known on these runs only"
    return f"One effect is {how}" if others == 1 else f"{others} effects are {how}"


class DiscoverySection(Section):
    """Errors by stage, findings with their formulas, the screening and what was tried."""

    anchor: ClassVar[str] = "discovery"
    title: ClassVar[str] = "What is missing"
    template: ClassVar[str] = "discovery.html"

    def applies(self, subject: Subject) -> bool:
        """Is the page that of a discovery?"""
        return subject.found is not None

    def context(self, subject: Subject) -> dict[str, Any]:
        """All that the section shows."""
        found = subject.found
        assert found is not None
        left_out = scores.table(found)[3]
        return {
            "stages": [
                (name, STAGES[name], _noises(found.noise, found.costs[name]))
                for name in STAGES
                if name in found.costs and (name != "physics" or found.result.parameters)
            ],
            "map": scores.heat_map(found) if found.scores else "",
            "legend": scores.legend(),
            "left_out": left_out,
            "steps": [_step(found, s) for s in found.steps],
            "findings": [_finding(found, f, i) for i, f in enumerate(found.findings)],
        }


def formula_along(found: Discovery, finding: Finding, curve: Curve) -> np.ndarray:
    """The closed formula of a finding at the points of a curve [n], other inputs held as there."""
    grafts = found.formula.grafts if found.formula is not None else None
    assert isinstance(grafts, BoundGrafts)
    at = dict(zip(finding.summary.columns, curve.held, strict=True))
    total = np.zeros(len(curve.x))
    for graft in grafts.grafts:
        w = graft.wiring
        target = found.targets.get(w.label, "")
        rows = ("",) if w.shared else w.row_labels
        own = [r for r, row in enumerate(rows) if with_row(target, row) == finding.target]
        if not own:
            continue
        r, row = own[0], rows[own[0]]
        x = np.zeros((len(curve.x), w.rows, len(w.columns)))
        for k, column in enumerate(w.columns):
            name = Group(w.label, row, column).input
            x[:, r, k] = curve.x if name == curve.column else at.get(name, 0.0)
        y = jax.vmap(lambda points, graft=graft: graft(points)[0])(
            jnp.asarray(x, graft.output_scale.dtype)
        )
        total += np.asarray(y, float)[:, r, 0]
    return total


def _noises(noise: float, cost: float) -> str:
    """The size of a held-out cost: its error in units of the sensor noise."""
    if not (math.isfinite(cost) and noise > 0):
        return NONE
    return rounded(math.sqrt(cost / noise), 3)


def _step(found: Discovery, step: Step) -> dict[str, Any]:
    variable, text = found.pair(step.group)
    used = any(variable == f.target and text in f.inputs for f in found.findings)
    share = step.score / step.cost if step.cost > 0 else math.nan
    tried = math.isfinite(step.after)
    return {
        "variable": variable,
        "input": text,
        "horizon": f"{step.horizon:.3g} s",
        "share": percent(share),
        "before": _noises(step.noise, step.before),
        "after": _noises(step.noise, step.after) if tried else NONE,
        "kept": step.kept and used,
        "why": _why(step, used, tried),
    }


def _why(step: Step, used: bool, tried: bool) -> str:
    """Why a pair was kept or not, in words."""
    if not tried:
        return (
            f"not fitted: so much is promised by chance with a probability of "
            f"{rounded(step.probability, 2)}"
        )
    # Costs are squares: half of a logarithm's error is that of the error itself.
    gain = 0.5 * math.log(step.before / step.after) if step.after > 0 else math.inf
    spread = QUANTILE * step.error / 2
    size = percent(abs(1 - math.exp(-gain)))
    change = f"the held-out error {'falls' if gain >= 0 else 'rises'} by {size}"
    if not step.kept:
        small = " too little to count" if gain > spread else " no more than chance"
        return f"not kept: {change}," + (small if gain >= 0 else " it does not carry over")
    if not used:
        return f"kept at first ({change}), then taken out: what came later does its work"
    return f"kept: {change}"


def _finding(found: Discovery, finding: Finding, place: int) -> dict[str, Any]:
    shown, left_out = learned.largest([finding.summary])
    figures = [
        learned.figure(c, f"finding-{place}-{i}", formula_along(found, finding, c))
        for i, c in enumerate(shown)
    ]
    return {
        "title": f"{finding.target} by {' and '.join(finding.inputs)}",
        "figures": figures,
        "left_out": left_out,
        "terms": [_term(t, finding) for t in finding.formula],
        "without": _noises(found.noise, finding.cost_without),
        "network": _noises(found.noise, found.costs["network"]),
        "formula": _noises(found.noise, finding.cost),
        "advice": advice(finding),
        "sureness": _sureness(finding),
        "alone": len(found.findings) == 1,
    }


def _sureness(finding: Finding) -> str:
    """What is to be said of a finding that is not certain."""
    if finding.sureness == Sureness.LIKELY:
        return f"Likely, not certain. {words.likely(finding.parts, finding.inputs)}"
    if finding.sureness == Sureness.THESE_RUNS:
        return words.these_runs(finding.target, finding.parts)
    return ""


def _term(term: Term, finding: Finding) -> dict[str, str]:
    half = QUANTILE * term.std
    places = places_for(term.std, term.value)
    known = math.isfinite(half)
    return {
        "text": term.text,
        "value": decimal(term.value, places),
        "interval": f"{decimal(term.value - half, places)} to {decimal(term.value + half, places)}"
        if known
        else "not determined",
        "unit": unit(term.unit),
        "parameter": parameter(term, finding.target),
    }


def parameter(term: Term, target: str) -> str:
    """The model's parameter that is this term, "" if it has none."""
    variable, row = target.split("[", 1)
    quantity, _, of = term.group.input.partition("[")
    name = PARAMETERS.get((variable, quantity, term.kind), "")
    return f"{name}[{row}" if name and of == row and term.value < 0 else ""


def advice(finding: Finding) -> str:
    """What to do with a finding."""
    names = [n for t in finding.formula if (n := parameter(t, finding.target))]
    if names and len(names) == len(finding.formula):
        which = " and ".join(names)
        return f"The model has a parameter of this form: free {which} in the next fit."
    if names:
        return (
            f"The model has a parameter for a part of it: free {' and '.join(names)} and look for "
            "the rest again."
        )
    return (
        "The model has no parameter of this form: keep the network (grafts.safetensors), or write "
        "the formula as a term of your own."
    )
