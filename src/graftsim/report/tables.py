"""Rows of the report's tables, as text that is ready to be printed."""

from __future__ import annotations

import math
from typing import Any

from graftsim.identify.results.result import ErrorRow, Iteration, ParameterRow, WeakDirection
from graftsim.report.numbers import (
    NONE,
    decimal,
    duration,
    exponent,
    percent,
    places_for,
    rounded,
    unit,
)
from graftsim.report.words import change, ratio, relative

BAR_WIDTH, BAR_HEIGHT, BAR_EDGE = 150, 18, 8


def parameters(rows: tuple[ParameterRow, ...]) -> list[dict[str, Any]]:
    """Name, unit, start, value, interval, relative half width, bar and status of each parameter."""
    found = []
    for r in rows:
        places = places_for(r.std, r.value)
        known = math.isfinite(r.low) and math.isfinite(r.high)
        interval = f"{decimal(r.low, places)} to {decimal(r.high, places)}"
        if math.isfinite(r.std) or known:
            start = decimal(r.start, min(places, 3 - exponent(r.start)))
        else:
            start = rounded(r.start, 4)
        found.append(
            {
                "name": r.name,
                "unit": unit(r.unit),
                "start": start,
                "value": decimal(r.value, places),
                "interval": interval if known else "not determined",
                "relative": _plus_minus(relative(r)) if known else NONE,
                "bar": bar(r),
                "ok": r.status == "identified",
                "status": r.status,
            }
        )
    return found


def bar(row: ParameterRow) -> str:
    """A small drawing: the interval as a bar, the value as a dot, the start as a ring."""
    values = [x for x in (row.start, row.value, row.low, row.high) if math.isfinite(x)]
    known = math.isfinite(row.low) and math.isfinite(row.high)
    if not values or not math.isfinite(row.value):
        return ""
    low, high = min(values), max(values)
    room = high - low or abs(high) or 1.0
    middle = BAR_HEIGHT / 2

    def place(x: float) -> float:
        if high == low:
            return BAR_WIDTH / 2
        return BAR_EDGE + (x - low) / room * (BAR_WIDTH - 2 * BAR_EDGE)

    parts = [
        f'<svg class="bar" viewBox="0 0 {BAR_WIDTH} {BAR_HEIGHT}" width="{BAR_WIDTH}" '
        f'height="{BAR_HEIGHT}" aria-hidden="true">',
        f'<line class="rail" x1="2" x2="{BAR_WIDTH - 2}" y1="{middle}" y2="{middle}"/>',
    ]
    if known:
        x0, x1 = place(row.low), place(row.high)
        width = max(x1 - x0, 3.0)
        left = (x0 + x1 - width) / 2
        parts.append(
            f'<rect x="{left:.1f}" y="{middle - 4}" width="{width:.1f}" height="8" rx="2"/>'
        )
    if math.isfinite(row.start):
        parts.append(f'<circle class="from" cx="{place(row.start):.1f}" cy="{middle}" r="3.2"/>')
    parts.append(f'<circle class="to" cx="{place(row.value):.1f}" cy="{middle}" r="3.2"/></svg>')
    return "".join(parts)


def errors(rows: tuple[ErrorRow, ...]) -> list[dict[str, Any]]:
    """Errors of each channel before and after, and how they changed."""
    found = []
    for r in rows:
        row: dict[str, Any] = {"channel": r.channel, "unit": unit(r.unit)}
        for which in ("train", "heldout"):
            before, after = getattr(r, f"{which}_before"), getattr(r, f"{which}_after")
            grew = ratio(before, after) < 1 / 1.05
            row[which] = (rounded(before), rounded(after), change(before, after), grew)
        found.append(row)
    return found


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


def settings(given: dict[str, Any], lead: str = "") -> list[tuple[str, str]]:
    """Nested settings as rows of dotted names and values."""
    rows: list[tuple[str, str]] = []
    for key, value in given.items():
        name = f"{lead}{key}"
        if isinstance(value, dict) and value:
            rows += settings(value, f"{name}.")
        elif isinstance(value, list | tuple):
            rows.append((name, ", ".join(_text(v) for v in value) or NONE))
        else:
            rows.append((name, _text(value)))
    return rows


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return NONE
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _plus_minus(fraction: float) -> str:
    text = percent(fraction)
    return text if text.startswith((">", NONE)) else f"±{text}"
