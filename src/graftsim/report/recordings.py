"""The section on the recordings: what a check of them found, and what mends it."""

from __future__ import annotations

from typing import Any, ClassVar

from graftsim.check import CHECKS, grouped
from graftsim.report.numbers import NONE
from graftsim.report.section import Section, Subject

# So many channels of a row are named.
NAMED = 4


class RecordingsSection(Section):
    """Findings, errors first."""

    anchor: ClassVar[str] = "recordings"
    title: ClassVar[str] = "Recordings"
    template: ClassVar[str] = "recordings.html"

    def applies(self, subject: Subject) -> bool:
        """Were the recordings checked?"""
        return subject.extras.findings is not None

    def context(self, subject: Subject) -> dict[str, Any]:
        """Rows of the table, and the names of all checks."""
        rows = [
            {
                "level": str(g.worst.level),
                "check": g.worst.check,
                "where": _some(g.channels or g.recordings),
                "what": g.worst.what,
                "varied": g.varied,
                "remedy": g.remedy,
            }
            for g in grouped(subject.extras.findings or ())
        ]
        return {"findings": rows, "checks": [c.help for c in CHECKS]}


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more or NONE
