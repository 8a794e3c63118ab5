"""The section on parameters: what each was, what it is, and how well that is known."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from graftsim.identify.results.result import ParameterRow
from graftsim.identify.words import Status
from graftsim.report.numbers import (
    NONE,
    decimal,
    exponent,
    percent,
    places_for,
    rounded,
    unit,
)
from graftsim.report.section import Section, Subject
from graftsim.report.words import relative, relative_with_file

BAR_WIDTH, BAR_HEIGHT, BAR_EDGE = 150, 18, 8


class ParametersSection(Section):
    """Table of the parameters."""

    anchor: ClassVar[str] = "parameters"
    title: ClassVar[str] = "Parameters"
    template: ClassVar[str] = "parameters.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """Rows of the table."""
        return {"parameters": rows(subject.result.parameters)}


def rows(parameters: tuple[ParameterRow, ...]) -> list[dict[str, Any]]:
    """Name, unit, start, value, interval, relative half width, status and bar of each parameter."""
    found = []
    for r in parameters:
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
                "with_file": _plus_minus(relative_with_file(r)),
                "causes": causes(r),
                "bar": bar(r),
                "ok": r.status == Status.IDENTIFIED,
                "status": r.status,
            }
        )
    return found


def causes(row: ParameterRow) -> str:
    """What the file may have wrong that moves this number most, in words."""
    return ", ".join(f"{name} {percent(share)}" for name, share in row.causes.items())


def bar(row: ParameterRow) -> str:
    """A small drawing: the interval as a bar, the value as a dot, the start as a ring.

    The interval if the file may be wrong is a line, cut off where it leaves the drawing.
    """
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
    if math.isfinite(row.low_with_file):
        x0, x1 = (min(max(place(x), 2.0), BAR_WIDTH - 2.0)
                  for x in (row.low_with_file, row.high_with_file))  # fmt: skip
        parts.append(
            f'<line class="doubt" x1="{x0:.1f}" x2="{x1:.1f}" y1="{middle}" y2="{middle}"/>'
        )
    if math.isfinite(row.start):
        parts.append(f'<circle class="from" cx="{place(row.start):.1f}" cy="{middle}" r="3.2"/>')
    parts.append(f'<circle class="to" cx="{place(row.value):.1f}" cy="{middle}" r="3.2"/></svg>')
    return "".join(parts)


def _plus_minus(fraction: float) -> str:
    text = percent(fraction)
    return text if text.startswith((">", NONE)) else f"±{text}"
