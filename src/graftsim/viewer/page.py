"""The page around a replay."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from graftsim.viewer.libraries import template

HERE = Path(__file__).parent


def player_script() -> str:
    """JavaScript that puts a recording into a frame; the report's page uses it as well."""
    return (HERE / "player.js").read_text(encoding="utf-8")


def render(title: str, scenes: Sequence[Any], data: str) -> str:
    """A whole page of HTML for scenes and their recordings, JSON for a script element."""
    return template(HERE, "replay.html").render(
        title=title,
        scenes=scenes,
        data=data,
        script=player_script(),
    )
