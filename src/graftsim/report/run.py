"""The section on the run: how it ended, how to do it again, which files lie beside the page."""

from __future__ import annotations

import platform
from typing import Any, ClassVar

import jax
import numpy as np

from graftsim._version import __version__
from graftsim.report.numbers import NONE, duration
from graftsim.report.section import Section, Subject


class RunSection(Section):
    """Facts, command, settings, files and notes."""

    anchor: ClassVar[str] = "run"
    title: ClassVar[str] = "Run"
    template: ClassVar[str] = "run.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """As they are."""
        result = subject.result
        return {
            "outcome": result.outcome,
            "seconds": duration(result.seconds),
            "date": subject.date,
            "summary": repr(result.model),
            "versions": _versions(),
            "command": result.command,
            "settings": settings(result.settings),
            "extras": subject.extras,
            "notes": result.model.notes,
        }


def _versions() -> list[tuple[str, str]]:
    return [
        ("graftsim", __version__),
        ("jax", jax.__version__),
        ("numpy", np.__version__),
        ("python", platform.python_version()),
        ("system", f"{platform.system()} {platform.machine()}"),
    ]


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
