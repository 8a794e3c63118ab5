"""What a section of the report is: one class, one template.

To add one, subclass `Section` and give `write_report(sections=...)` a tuple that has it.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from graftsim.check import Finding
from graftsim.identify.discover.findings import Discovery
from graftsim.identify.results.result import Result
from graftsim.viewer.libraries import template

if TYPE_CHECKING:
    from graftsim.viewer import ReplayPage

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Extras:
    """What stands on the page beside the result: the replay, news of the other files, and what a
    check found in the recordings (None: there was no check).
    """

    replay: ReplayPage | None = None
    replay_note: str = ""
    robot: bool = False
    robot_note: str = ""
    not_expressed: tuple[str, ...] = ()
    weights: bool = False
    findings: tuple[Finding, ...] | None = None


def _now() -> str:
    return datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")


@dataclass(frozen=True)
class Subject:
    """What a page is about: a fit, the discovery that it is part of if there is one, extras."""

    result: Result
    found: Discovery | None = None
    extras: Extras = field(default_factory=Extras)
    # One for the whole page.
    date: str = field(default_factory=_now)


class Section(ABC):
    """A part of the page.

    anchor: its id on the page; title: how the page's navigation calls it; template: name of a Jinja
    template in `folder`, whose outermost element has the anchor as its id, and whose values are
    escaped; closing: one for what must stand at the end of the page, scripts for instance.
    """

    anchor: ClassVar[str]
    title: ClassVar[str]
    template: ClassVar[str]
    folder: ClassVar[Path] = HERE
    closing: ClassVar[str] = ""

    def applies(self, subject: Subject) -> bool:
        """Has it anything to say?"""
        return True

    @abstractmethod
    def context(self, subject: Subject) -> dict[str, Any]:
        """Values for the template by name; one that the template misses is an error."""

    def render(self, subject: Subject) -> tuple[str, str]:
        """HTML of the section, and of what closes the page."""
        values = self.context(subject)
        names = (self.template, self.closing)
        body, closing = (template(self.folder, n).render(values) if n else "" for n in names)
        return body, closing
