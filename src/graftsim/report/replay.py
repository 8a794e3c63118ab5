"""The section that replays the motion in three dimensions."""

from __future__ import annotations

from typing import Any, ClassVar

from graftsim.report.section import Section, Subject
from graftsim.viewer.page import player_script


class ReplaySection(Section):
    """A player, or why there is none; the motion is at the end of the page, since it is large."""

    anchor: ClassVar[str] = "replay"
    title: ClassVar[str] = "Replay"
    template: ClassVar[str] = "replay.html"
    closing: ClassVar[str] = "replay_script.html"

    def context(self, subject: Subject) -> dict[str, Any]:
        """Names of the scenes, the player and its data."""
        page = subject.extras.replay
        return {
            "scenes": page.scenes if page else (),
            "replay": page.as_json() if page else "",
            "note": subject.extras.replay_note,
            "player": player_script(),
        }
