"""The page of a report: its head, and its sections in order."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.identify.discover.findings import Discovery
from graftsim.identify.results.result import Result
from graftsim.report import discovery
from graftsim.report.certainty import CertaintySection
from graftsim.report.convergence import ConvergenceSection
from graftsim.report.discovery import DiscoverySection
from graftsim.report.errors import ErrorsSection
from graftsim.report.grafts import GraftsSection
from graftsim.report.numbers import duration, times
from graftsim.report.parameters import ParametersSection
from graftsim.report.recordings import RecordingsSection
from graftsim.report.replay import ReplaySection
from graftsim.report.run import RunSection
from graftsim.report.section import HERE, Extras, Section, Subject
from graftsim.report.signals import SignalsSection
from graftsim.report.words import KNOWN, headline, relative
from graftsim.viewer.libraries import template

SECTIONS: tuple[Section, ...] = (
    DiscoverySection(),
    GraftsSection(),
    ParametersSection(),
    ErrorsSection(),
    SignalsSection(),
    RecordingsSection(),
    ConvergenceSection(),
    CertaintySection(),
    ReplaySection(),
    RunSection(),
)


def render(
    result: Result,
    extras: Extras | None = None,
    found: Discovery | None = None,
    sections: tuple[Section, ...] = SECTIONS,
) -> str:
    """The page as HTML that needs no other file; the headline is that of a discovery if given."""
    subject = Subject(result, found, extras or Extras())
    shown = [s for s in sections if s.applies(subject)]
    parts = [s.render(subject) for s in shown]
    values: dict[str, Any] = {
        "model": result.model.name,
        "found": found is not None,
        "headline": headline(result) if found is None else discovery.head(found),
        "facts": _facts(result),
        "warnings": result.warnings,
        "date": subject.date,
        "sections": shown,
        "bodies": [body for body, _ in parts],
        "closings": [closing for _, closing in parts if closing],
        "style": (HERE / "style.css").read_text(encoding="utf-8"),
        "script": (HERE / "zoom.js").read_text(encoding="utf-8"),
    }
    return template(HERE, "page.html").render(values)


def _facts(result: Result) -> list[tuple[str, str]]:
    """A few large numbers for the head of the page."""
    rows = result.parameters
    known = sum(relative(r) <= KNOWN for r in rows)
    windows = {(t.recording, t.window, t.heldout) for t in result.traces}
    held = sum(h for _, _, h in windows)
    facts = [(f"{known} of {len(rows)}", "parameters known to ±10 %")] if rows else []
    if windows:
        counts = len({t.recording for t in result.traces})
        word = "recording" if counts == 1 else "recordings"
        facts.append(
            (f"{len(windows) - held} + {held}", f"windows fitted + held out, {counts} {word}")
        )
    costs = [h.cost for h in result.history if np.isfinite(h.cost)]
    last = [h for h in result.history if h.stage == result.history[-1].stage]
    if len(costs) > 1 and len(last) > 1 and last[-1].cost > 0:
        facts.append((f"÷{times(last[0].cost / last[-1].cost)}", "cost over the last stage"))
    facts.append((duration(result.seconds), f"wall time, {result.outcome}"))
    return facts
