"""Flags whose values are the names of strategies, read from their classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import tyro


def names(*more: str, strategies: Mapping[str, Any]) -> Any:
    """Type of a flag: one of `more`, or the name of a strategy."""
    return Literal[(*more, *strategies)]


def described(text: str, strategies: Mapping[str, Any]) -> Any:
    """Help of such a flag: a text, and what each strategy says of itself."""
    each = "; ".join(f"{name}: {kind.help}" for name, kind in strategies.items())
    return tyro.conf.arg(help=f"{text} {each}.")
