"""The thread of a live viewer: takes orders, simulates what is due, shows frames."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from graftsim.errors import GraftsimError
from graftsim.viewer.live.pace import Pace
from graftsim.viewer.live.world import World

FPS = 30.0
ANSWER = 600.0
"""Seconds that an order may take: it may wait for a compilation."""


class Loop:
    """Runs a world beside the wall's clock, and hands it to `show` at most `FPS` times a second.

    A frame that is late is dropped, never queued. `trouble`: the error that made it pause;
    `failure`: the one that ended it, of showing.
    """

    def __init__(self, world: World, show: Callable[[Loop], None], speed: float) -> None:
        self.world, self.pace = world, Pace(world.dt, speed)
        self.playing = False
        self.trouble: Exception | None = None
        self.failure: Exception | None = None
        self._show = show
        self._orders: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]]] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="graftsim viewer", daemon=True)

    def start(self) -> None:
        """Begin, paused."""
        self._thread.start()

    def stop(self) -> None:
        """End the thread; whoever waits for an order is told."""
        self._ended.set()
        self._orders.put((lambda: None, Future()))
        if threading.current_thread() is not self._thread:
            self._thread.join(5.0)
        self._refuse()

    @property
    def ended(self) -> bool:
        """Whether it has been stopped."""
        return self._ended.is_set()

    def post(self, order: Callable[[], Any]) -> Future[Any]:
        """Have something done between two steps; the answer will be in the future."""
        answer: Future[Any] = Future()
        if self.ended:
            answer.set_exception(GraftsimError("The viewer is closed."))
        else:
            self._orders.put((order, answer))
        return answer

    def ask(self, order: Callable[[], Any]) -> Any:
        """Have something done between two steps, and wait for it; raises what it raises."""
        if threading.current_thread() is self._thread:
            return order()
        return self.post(order).result(ANSWER)

    def play(self, yes: bool = True) -> None:
        """Let time pass or stand still."""
        if yes and not self.playing:
            self.pace.rest()
            self.trouble = None
        self.playing = yes

    def advance(self, steps: int) -> None:
        """Steps now, whatever the clock says; an error pauses, and is shown."""
        compiles = not self.world.compiled
        if compiles:
            self._show(self)
        try:
            self.world.advance(steps)
        except Exception as error:  # What a user's policy raises must not end the thread.
            self.trouble, self.playing = error, False
        if compiles:
            self.pace.rest()

    def _run(self) -> None:
        shown = -1.0
        while not self.ended:
            self._obey(max(shown + 1 / FPS - time.monotonic(), 0.0))
            if self.ended:
                break
            if self.playing and (steps := self.pace.due(time.monotonic())):
                self.advance(steps)
            shown = time.monotonic()
            try:
                self._show(self)
            except Exception as error:
                self.failure = error
                self._ended.set()
                self._refuse()

    def _refuse(self) -> None:
        while not self._orders.empty():
            self._orders.get()[1].cancel()

    def _obey(self, seconds: float) -> None:
        """Take orders for a while."""
        end = time.monotonic() + seconds
        while not self.ended:
            try:
                order, answer = self._orders.get(timeout=max(end - time.monotonic(), 1e-4))
            except queue.Empty:
                return
            if not answer.set_running_or_notify_cancel():
                continue
            try:
                answer.set_result(order())
            except Exception as error:
                answer.set_exception(error)
