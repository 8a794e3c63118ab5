"""Flags whose values and help are read from the classes of strategies and formats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import tyro

from graftsim.io.logs.formats import LOG_FORMATS

LOGS = (
    f"Recordings: {', '.join(f.name for f in LOG_FORMATS[:-1])} or {LOG_FORMATS[-1].name}; "
    "patterns such as 'logs/*.csv' are expanded."
)


def names(*more: str, strategies: Mapping[str, Any]) -> Any:
    """Type of a flag: one of `more`, or the name of a strategy."""
    return Literal[(*more, *strategies)]


def described(text: str, strategies: Mapping[str, Any]) -> Any:
    """Help of such a flag: a text, which says what holds where nothing is given, and what
    each strategy says of itself.
    """
    each = "; ".join(f"{name}: {kind.help}" for name, kind in strategies.items())
    hint = "" if "default:" in text else None
    return tyro.conf.arg(help=f"{text} {each}.".strip(), help_behavior_hint=hint)
