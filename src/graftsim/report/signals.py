"""The section on signals: measured and simulated, drawn."""

from __future__ import annotations

from typing import Any, ClassVar

from graftsim.identify.results.result import Result
from graftsim.report import curves, series
from graftsim.report.section import Section, Subject


class SignalsSection(Section):
    """Plots, recording by recording."""

    anchor: ClassVar[str] = "signals"
    title: ClassVar[str] = "Signals"
    template: ClassVar[str] = "signals.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """Figures, and sentences about what is not drawn."""
        recordings, omitted = _recordings(subject.result)
        return {"recordings": recordings, "omitted": omitted}


def _recordings(result: Result) -> tuple[list[dict[str, Any]], list[str]]:
    """Figures by recording, and sentences about what was left out of them."""
    every = curves.plots(result.traces)
    shown = curves.most_telling(every)
    found: dict[str, list[dict[str, str]]] = {}
    for plot in shown:
        group = found.setdefault(plot.recording, [])
        place = list(found).index(plot.recording)
        title = " ".join(filter(None, (plot.channel, plot.component)))
        group.append({"title": title, "svg": series.svg(plot, place)})
    omitted = []
    if len(shown) < len(every):
        omitted.append(
            f"{len(shown)} of {len(every)} plots are shown, those with the largest misfit; "
            f"{len(every) - len(shown)} are left out."
        )
    cut: dict[str, int] = {}
    for plot in every:
        if plot.left_out:
            cut[plot.recording] = max(cut.get(plot.recording, 0), plot.left_out)
    omitted += [
        f"{name}: {curves.MAX_WINDOWS} windows a channel are drawn, up to {count} are left out."
        for name, count in cut.items()
    ]
    return [{"name": k, "plots": v} for k, v in found.items()], omitted
