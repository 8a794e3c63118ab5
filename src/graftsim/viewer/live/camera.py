"""Cameras that go with a robot."""

from __future__ import annotations

from typing import Any

import numpy as np

SOFTLY = 0.15
"""Share of its way that a camera goes in a frame."""


class Chase:
    """Moves the cameras of a server's clients as the middle of some links moves; `on`: whether."""

    def __init__(self, server: Any, position: np.ndarray, *, on: bool) -> None:
        self.on = on
        self._server = server
        self._place = self._began = position.mean(0)
        server.on_client_connect(self._enter)

    def follow(self, position: np.ndarray) -> None:
        """A frame with the links at positions [nl, 3] (m)."""
        moved = SOFTLY * (position.mean(0) - self._place)
        if self.on and float(np.linalg.norm(moved)) > 1e-6:
            self._place = self._place + moved
            for client in self._server.get_clients().values():
                client.camera.position = client.camera.position + moved

    def _enter(self, client: Any) -> None:
        """Who comes later finds the robot where it has gone."""
        client.camera.position = client.camera.position + self._place - self._began
