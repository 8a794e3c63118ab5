"""The section on convergence: the cost over the iterations, and what each stage did."""

from __future__ import annotations

from typing import Any, ClassVar

from graftsim.identify.results.result import Iteration
from graftsim.report import figures
from graftsim.report.numbers import duration, rounded
from graftsim.report.section import Section, Subject


class ConvergenceSection(Section):
    """A figure and a table of the stages."""

    anchor: ClassVar[str] = "convergence"
    title: ClassVar[str] = "Convergence"
    template: ClassVar[str] = "convergence.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """Both."""
        history = subject.result.history
        return {"convergence": figures.convergence(history), "stages": stages(history)}


def stages(history: tuple[Iteration, ...]) -> list[dict[str, str]]:
    """One row a stage: horizon, iterations, cost at its beginning and end, seconds."""
    groups: dict[int, list[Iteration]] = {}
    for h in history:
        groups.setdefault(h.stage, []).append(h)
    ends = [0.0, *(rows[-1].seconds for rows in groups.values())]
    return [
        {
            "stage": str(stage),
            "horizon": f"{rows[0].horizon:.4g} s",
            "count": str(len(rows)),
            "first": rounded(rows[0].cost, 4),
            "last": rounded(rows[-1].cost, 4),
            "gradient": rounded(rows[-1].gradient, 2),
            "seconds": duration(ends[i + 1] - ends[i]),
        }
        for i, (stage, rows) in enumerate(groups.items())
    ]
