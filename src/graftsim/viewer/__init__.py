"""Looking at motion in three dimensions: replays as pages that need no server and no network."""

from graftsim.viewer.replay import ReplayPage, replay_html, replay_page

__all__ = ["ReplayPage", "replay_html", "replay_page"]
