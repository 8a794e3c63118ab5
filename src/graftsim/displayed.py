"""How objects show themselves in notebooks, where `_repr_html_` is asked for.

What is drawn stands above the layers of those who show it, as for the strategies of
`strategies.py`: it is imported when a notebook asks.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def displayed(shown: Any) -> str | None:
    """HTML of a model, simulator, recording, problem or result; None where text must do."""
    return import_module("graftsim.report.notebook").html(shown)
