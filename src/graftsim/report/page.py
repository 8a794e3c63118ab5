"""The page of a report: everything it shows, gathered for its template."""

from __future__ import annotations

import datetime
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jax
import numpy as np

from graftsim._version import __version__
from graftsim.identify.discover.findings import Discovery
from graftsim.identify.results.result import Result
from graftsim.report import certainty, curves, discovery, figures, grafts, series, tables
from graftsim.report.numbers import duration, times
from graftsim.report.words import KNOWN, headline, relative
from graftsim.viewer.libraries import template
from graftsim.viewer.page import player_script

if TYPE_CHECKING:
    from graftsim.viewer import ReplayPage

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Extras:
    """What stands on the page beside the result: the replay, and news of the other files."""

    replay: ReplayPage | None = None
    replay_note: str = ""
    robot: bool = False
    robot_note: str = ""
    not_expressed: tuple[str, ...] = ()
    weights: bool = False


def render(result: Result, extras: Extras | None = None, found: Discovery | None = None) -> str:
    """The page as HTML that needs no other file; a discovery stands at its top."""
    extras = extras or Extras()
    recordings, omitted = _recordings(result)
    page = extras.replay
    values: dict[str, Any] = {
        "model": result.model.name,
        "summary": repr(result.model),
        "notes": result.model.notes,
        "headline": headline(result) if found is None else discovery.head(found),
        "discovery": discovery.section(found) if found is not None else None,
        # The curves of a discovery's networks stand beside their formulas.
        "grafts": grafts.section(result, curves=found is None),
        "facts": _facts(result),
        "warnings": result.warnings,
        "parameters": tables.parameters(result.parameters),
        "errors": tables.errors(result.errors),
        "heldout": any(np.isfinite(r.heldout_after) for r in result.errors),
        "recordings": recordings,
        "omitted": omitted,
        "stages": tables.stages(result.history),
        "convergence": figures.convergence(result.history),
        "certainty": certainty.section(result),
        "weak": tables.weak(result.weak),
        "scenes": page.scenes if page else (),
        "replay": page.as_json() if page else "",
        "megabytes": f"{len(page.as_json()) / 1e6:.1f}" if page else "",
        "extras": extras,
        "settings": tables.settings(result.settings),
        "command": result.command,
        "outcome": result.outcome,
        "seconds": duration(result.seconds),
        "versions": _versions(),
        "date": datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z"),
        "style": (HERE / "style.css").read_text(encoding="utf-8"),
        "script": (HERE / "zoom.js").read_text(encoding="utf-8"),
        "player": player_script(),
    }
    return template(HERE, "template.html").render(values)


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


def _versions() -> list[tuple[str, str]]:
    return [
        ("graftsim", __version__),
        ("jax", jax.__version__),
        ("numpy", np.__version__),
        ("python", platform.python_version()),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]
