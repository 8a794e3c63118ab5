"""The user's hand on a body: which, where, and where it pulls to."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np

from graftsim.io.robot.poses import matrix
from graftsim.viewer.live.loop import Loop
from graftsim.viewer.live.world import World
from graftsim.viewer.motion import Motion, motion


class Hand:
    """Takes hold of a link of a world, and lets go; `strength`: of its spring, times the usual."""

    def __init__(self, world: World) -> None:
        self.strength = 1.0
        self._world = world
        self._held: tuple[int, np.ndarray, np.ndarray] | None = None

    def drag(self, link: int, phase: str, start: Any, end: Any) -> None:
        """A gesture of the mouse: from a place on the link to another, in the world (m).

        phase: "start", "update", "end".
        """
        if phase == "end":
            self.release()
            return
        if phase == "start" or self._held is None:
            path = motion(self._world.model, self._world.instant().q[None])
            turn = matrix(path.rotation[0, link])
            point = turn.T @ (np.asarray(start, float) - path.position[0, link])
        else:
            point = self._held[1]
        self._held = link, point, np.asarray(end, float)
        self._world.hold(link, point, self._held[2], self.strength)

    def gesture(self, loop: Loop, link: int) -> Callable[[Any], Coroutine[Any, Any, None]]:
        """What to do when a link is dragged in the browser; asynchronous, so that events keep
        their order.
        """

        async def drag(event: Any) -> None:
            start, end = np.array(event.start_position), np.array(event.end_position)
            phase = event.phase
            loop.post(lambda: self.drag(link, phase, start, end))

        return drag

    def release(self) -> None:
        """Let go."""
        self._held = None
        self._world.release()

    def spring(self, path: Motion) -> tuple[np.ndarray, np.ndarray] | None:
        """Its two ends in the world (m), the links being where `path` begins; None: it is free."""
        if self._held is None:
            return None
        link, point, target = self._held
        return path.position[0, link] + matrix(path.rotation[0, link]) @ point, target
