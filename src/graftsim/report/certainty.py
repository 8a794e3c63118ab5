"""The section on certainty: does the model explain the data, do recordings agree, what is known."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from graftsim.identify.results.result import Profile, Result, Trace, WeakDirection
from graftsim.identify.results.whiteness import LackOfFit
from graftsim.report import advice, figures
from graftsim.report.errors import held_out
from graftsim.report.figures import ACCENT, LINE, MUTED, WARM, new_figure, plain, to_svg
from graftsim.report.landscape import picture
from graftsim.report.numbers import NONE, decimal, percent, places_for, rounded, unit
from graftsim.report.section import Section, Subject

MANY = 12
"""Profiles that are drawn at most."""


class CertaintySection(Section):
    """Lack of fit, recordings, weak directions, profiles, landscape, correlations, advice."""

    anchor: ClassVar[str] = "uncertainty"
    title: ClassVar[str] = "Certainty"
    template: ClassVar[str] = "certainty.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """Each of them, empty where there is none."""
        result = subject.result
        names = tuple(r.name for r in result.parameters)
        matrix = np.asarray(result.correlation, float)
        drawable = 1 < len(names) <= figures.LABELLED and matrix.shape == (len(names), len(names))
        return {
            "lack": result.lack,
            "forces": result.forces.text if result.forces else "",
            "channels": channels(result.lack) if result.lack else [],
            "method": result.settings.get("covariance", ""),
            "heldout": held_out(result.errors),
            "recordings": by_recording(result),
            "between": between(result),
            "weak": weak(result.weak),
            "profiles": [
                {"title": q.name, "svg": profile(q), "text": profile_words(q)}
                for q in result.profiles[:MANY]
            ],
            "landscape": picture(result.landscape) if result.landscape else "",
            "correlation": figures.correlation(names, matrix) if drawable else "",
            "too_many": len(names) if len(names) > figures.LABELLED else 0,
            "advice": advice.what_next(result),
        }


def channels(lack: LackOfFit) -> list[dict[str, Any]]:
    """Size and memory of the residuals of each channel."""
    return [
        {
            "channel": c.channel,
            "size": rounded(c.over_noise, 3),
            "memory": decimal(c.autocorrelation, 2),
            "p": rounded(c.p_white, 2) if c.p_white >= 1e-12 else "< 1e-12",
            "hangs": c.hangs(len(lack.channels)),
        }
        for c in lack.channels
    ]


def by_recording(result: Result) -> list[dict[str, Any]]:
    """RMS error over the noise of each recording: fitted, held out, each before and after."""
    sensors = result.settings.get("sensors", {})
    rows: dict[str, dict[tuple[bool, str], list[np.ndarray]]] = {}
    for t in result.traces:
        noise = np.mean(sensors.get(t.channel, {}).get("noise", [math.nan]))
        judged = _judged(t)
        own = rows.setdefault(t.recording, {})
        for which, simulated in (("before", t.before), ("after", t.after)):
            error = (simulated - t.measured)[judged] / noise
            own.setdefault((t.heldout, which), []).append(error.ravel())
    found = []
    for name, own in rows.items():
        cells = {key: np.concatenate(parts) for key, parts in own.items()}
        sizes = [
            _rms(cells.get((held, which)))
            for held in (False, True)
            for which in ("before", "after")
        ]
        found.append({"name": name, "cells": [rounded(x, 3) for x in sizes]})
    return found


def _judged(t: Trace) -> np.ndarray:
    """Samples that count: of a held-out window those of the second half."""
    if not t.heldout or len(t.time) < 2:
        return np.ones(len(t.time), bool)
    return t.time > (t.time[0] + t.time[-1]) / 2


def _rms(x: np.ndarray | None) -> float:
    return float(np.sqrt(np.mean(x * x))) if x is not None and x.size else math.nan


def between(result: Result) -> list[dict[str, str]]:
    """Parameters that recordings alone determine: how far they spread beyond the noise."""
    found = []
    for r in result.parameters:
        if math.isfinite(r.between):
            places = places_for(r.std, r.value)
            found.append(
                {
                    "name": r.name,
                    "value": decimal(r.value, places),
                    "std": rounded(r.std, 2),
                    "between": rounded(r.between, 2) if r.between > 0 else "0",
                    "unit": unit(r.unit),
                }
            )
    return found


def profile(q: Profile) -> str:
    """Rise of the cost over the values of a parameter, and where the interval ends."""
    figure, axes = new_figure(4.6, 2.4)
    figure.subplots_adjust(left=0.13, right=0.97, bottom=0.22, top=0.94)
    usable = np.isfinite(q.rise)
    axes.plot(q.values[usable], q.rise[usable], color=ACCENT, linewidth=1.6)
    axes.axhline(q.limit, color=WARM, linewidth=1, linestyle="--")
    for end in (q.low, q.high):
        if math.isfinite(end):
            axes.axvline(end, color=LINE, linewidth=1)
    axes.set_ylim(0, 4 * q.limit)
    axes.set_xlabel(plain(f"{q.name} ({q.unit})" if q.unit else q.name))
    axes.set_ylabel("rise of the cost", color=MUTED)
    return to_svg(figure, f"profile {q.name}", scale=True)


def profile_words(q: Profile) -> str:
    """The interval of a profile in a sentence."""
    size = f" {unit(q.unit)}".rstrip()
    low, high = (rounded(x, 4) if math.isfinite(x) else NONE for x in (q.low, q.high))
    if math.isinf(q.low) and math.isinf(q.high):
        return (
            f"Open on both sides between {rounded(q.values[0])} and {rounded(q.values[-1])}{size}."
        )
    if math.isinf(q.low):
        return f"At most {high}{size}; open below."
    if math.isinf(q.high):
        return f"At least {low}{size}; open above."
    return f"From {low} to {high}{size}."


def weak(rows: tuple[WeakDirection, ...]) -> list[dict[str, Any]]:
    """Weak directions: the sentence, the relative uncertainty, and the largest weights."""
    found = []
    for r in rows:
        weights = sorted(r.weights.items(), key=lambda x: -abs(x[1]))
        shown = [f"{name} {rounded(w, 2)}" for name, w in weights[:6]]
        if len(weights) > 6:
            shown.append(f"and {len(weights) - 6} smaller")
        found.append({"text": r.text, "std": percent(r.relative_std), "weights": ", ".join(shown)})
    return found
