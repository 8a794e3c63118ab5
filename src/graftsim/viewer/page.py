"""The page around a replay."""

from __future__ import annotations

from pathlib import Path

from graftsim.viewer.replay import ReplayPage

HERE = Path(__file__).parent


def player_script() -> str:
    """JavaScript that puts a recording into a frame; the report's page uses it as well."""
    return (HERE / "player.js").read_text(encoding="utf-8")


def render(page: ReplayPage, title: str) -> str:
    """A whole page of HTML for the recordings."""
    from graftsim.viewer.libraries import template

    return template(HERE, "replay.html").render(
        title=title,
        scenes=page.scenes,
        data=page.as_json(),
        script=player_script(),
    )
