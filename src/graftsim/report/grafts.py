"""What the grafts of a fit explain: the section's sentences, tables and curves."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from graftsim.identify.results.result import ErrorRow, GraftSummary, Result
from graftsim.report import learned
from graftsim.report.errors import held_out
from graftsim.report.numbers import NONE, percent, rounded, times, unit
from graftsim.report.section import Section, Subject
from graftsim.report.words import SAME, mean_ratio, ratio
from graftsim.selectors import with_row

ROWS = 24
"""So many rows a table of a graft shows."""
MODES = {
    "add": "is added to",
    "scale": "scales, as 1 + its output,",
    "replace": "stands in place of",
}


class GraftsSection(Section):
    """What grafts do to the errors, tables of each, and curves."""

    anchor: ClassVar[str] = "grafts"
    title: ClassVar[str] = "Grafts"
    template: ClassVar[str] = "grafts.html"

    def applies(self, subject: Subject) -> bool:
        """Has the simulator a graft?"""
        return bool(_labels(subject.result))

    def context(self, subject: Subject) -> dict[str, Any]:
        """Sentences, tables, figures."""
        result = subject.result
        # The curves of a discovery's networks stand beside their formulas.
        curves = subject.found is None
        shown, left_out = learned.largest(result.grafts) if curves else ([], 0)
        known = {g.label for g in result.grafts}
        return {
            "sentences": _sentences(result),
            "stages": _stages(result),
            "heldout": held_out(result.errors),
            "grafts": [_graft(g) for g in result.grafts],
            "silent": [name for name in _labels(result) if name not in known],
            "figures": [learned.figure(c, f"graft-{i}") for i, c in enumerate(shown)],
            "left_out": left_out,
        }


def _labels(result: Result) -> tuple[str, ...]:
    grafts = result.simulator.grafts
    return grafts.labels if grafts is not None else ()


def shares(graft: GraftSummary) -> np.ndarray:
    """RMS of what a graft gives over that of the variable it acts on [R, m]; a factor as it is."""
    if graft.mode == "scale":
        return graft.output_rms
    with np.errstate(divide="ignore", invalid="ignore"):
        return graft.output_rms / graft.value_rms


def _sentences(result: Result) -> list[str]:
    which = "heldout" if any(math.isfinite(r.heldout_after) for r in result.errors) else "train"
    what = "held-out error" if which == "heldout" else "error of the fitted windows"
    total = mean_ratio(list(result.errors), which)
    if not result.physics:
        return [
            "No physical parameter was fitted beside the grafts, so the change of the errors is "
            "theirs."
        ]
    alone = mean_ratio(list(result.physics), which)
    said = [f"{_alone(alone, what)}; {_together(total / alone)}."]
    if total / alone <= SAME:
        said.append("The grafts explain nothing that the parameters do not: leave them out.")
    return said


def _alone(factor: float, what: str) -> str:
    """What the parameters alone do to the error."""
    if factor > SAME:
        return f"With the parameters alone the {what} falls {times(factor)} times"
    if factor >= 1 / SAME:
        return f"The parameters alone hardly change the {what}"
    return f"With the parameters alone the {what} rises {times(1 / factor)} times"


def _together(factor: float) -> str:
    """What the grafts do to the error that is left."""
    if factor > SAME:
        return f"with the grafts it falls another {times(factor)} times"
    if factor >= 1 / SAME:
        return "the grafts hardly change it"
    return f"with the grafts it rises {times(1 / factor)} times"


def _stages(result: Result) -> list[dict[str, Any]]:
    """Errors of each channel from the start, by physics alone, to the fit with grafts."""
    if not result.physics:
        return []
    found = []
    for alone, full in zip(result.physics, result.errors, strict=True):
        row: dict[str, Any] = {"channel": full.channel, "unit": unit(full.unit)}
        for which in ("heldout", "train"):
            row[which] = _three(alone, full, which)
        found.append(row)
    return found


def _three(alone: ErrorRow, full: ErrorRow, which: str) -> tuple[str, str, str, bool]:
    before, middle = getattr(alone, f"{which}_before"), getattr(alone, f"{which}_after")
    after = getattr(full, f"{which}_after")
    return rounded(before), rounded(middle), rounded(after), ratio(middle, after) < 1 / SAME


def _graft(graft: GraftSummary) -> dict[str, Any]:
    share, rows, inputs = shares(graft), [], []
    for r, row in enumerate(graft.rows):
        for m, output in enumerate(graft.outputs):
            name, y = with_row(output, row), unit(graft.output_units[m])
            rms = float(graft.output_rms[r, m])
            value = float(graft.value_rms[r, m])
            rows.append(
                {
                    "name": name,
                    "rms": rounded(rms, 3),
                    "value": rounded(value, 3) if graft.mode != "scale" else NONE,
                    "unit": y or "factor",
                    "share": percent(float(share[r, m])),
                    "size": float(share[r, m]),
                }
            )
            for k, column in enumerate(graft.columns):
                x = unit(graft.units[k])
                reach = float(graft.reach[r, m, k])
                inputs.append(
                    {
                        "name": name,
                        "input": with_row(column, row),
                        "sensitivity": rounded(float(graft.sensitivity[r, m, k]), 3),
                        "per": f"{y or '1'} per {x}" if x else y or "1",
                        "reach": f"{rounded(reach, 3)} {y}".rstrip(),
                        "share": percent(reach / rms) if rms > 0 else NONE,
                        "size": reach / max(value, 1e-300),
                    }
                )
    rows.sort(key=lambda x: -np.nan_to_num(x["size"]))
    inputs.sort(key=lambda x: -x["size"])
    weights = f"{graft.weights} weight{'s' if graft.weights != 1 else ''}"
    return {
        "label": graft.label,
        "text": f"A network with {weights}; what it gives {MODES[graft.mode]} "
        f"{' and '.join(graft.targets)}.",
        "rows": rows[:ROWS],
        "inputs": inputs[:ROWS],
        "several": len(rows) > 1,
        "omitted": max(len(rows), len(inputs)) - ROWS,
    }
