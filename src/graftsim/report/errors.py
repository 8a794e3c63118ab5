"""The section on errors: each channel before and after."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from graftsim.identify.results.result import ErrorRow
from graftsim.report.numbers import rounded, unit
from graftsim.report.section import Section, Subject
from graftsim.report.words import change, ratio


class ErrorsSection(Section):
    """Table of the channels."""

    anchor: ClassVar[str] = "errors"
    title: ClassVar[str] = "Errors"
    template: ClassVar[str] = "errors.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """Rows of the table, and whether anything was held out."""
        errors = subject.result.errors
        return {"errors": rows(errors), "heldout": held_out(errors)}


def held_out(errors: tuple[ErrorRow, ...]) -> bool:
    """Is there a held-out error?"""
    return any(math.isfinite(r.heldout_after) for r in errors)


def rows(errors: tuple[ErrorRow, ...]) -> list[dict[str, Any]]:
    """Errors of each channel before and after, and how they changed."""
    found = []
    for r in errors:
        row: dict[str, Any] = {"channel": r.channel, "unit": unit(r.unit)}
        for which in ("train", "heldout"):
            before, after = getattr(r, f"{which}_before"), getattr(r, f"{which}_after")
            grew = ratio(before, after) < 1 / 1.05
            row[which] = (rounded(before), rounded(after), change(before, after), grew)
        found.append(row)
    return found
