"""Looking at motion in three dimensions: live in the browser, and replays that need no network."""

from graftsim.viewer.looks import dressed
from graftsim.viewer.replay import ReplayPage, replay_html, replay_page

__all__ = ["ReplayPage", "dressed", "replay_html", "replay_page"]
