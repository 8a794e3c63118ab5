"""Simulated time beside the clock on the wall: how many steps are due."""

from __future__ import annotations

from collections import deque

LONGEST = 0.1
"""Seconds on the wall that are caught up at most; what is behind by more is dropped."""
MEASURED_OVER = 1.0
"""Seconds over which the speed is measured."""


class Pace:
    """Counts the steps of dt (s) that are due at a speed (simulated seconds a second)."""

    def __init__(self, dt: float, speed: float = 1.0) -> None:
        self.dt, self.speed = dt, speed
        self._last: float | None = None
        self._owed = 0.0
        self._done: deque[tuple[float, float]] = deque()

    def due(self, now: float) -> int:
        """Steps to take now (s, any clock that goes on): those since the last call."""
        passed = 0.0 if self._last is None else now - self._last
        self._last = now
        self._owed += min(passed, LONGEST) * self.speed
        steps = int(self._owed / self.dt + 1e-9)
        self._owed -= steps * self.dt
        self._done.append((now, steps * self.dt))
        while len(self._done) > 1 and now - self._done[0][0] > MEASURED_OVER:
            self._done.popleft()
        return steps

    def rest(self) -> None:
        """Time that passes until the next call is not simulated: a pause, a compilation."""
        self._last = None
        self._owed = 0.0
        self._done.clear()

    @property
    def measured(self) -> float | None:
        """Simulated seconds a second, of the last second; None so soon after a rest."""
        if len(self._done) < 2 or self._done[-1][0] <= self._done[0][0]:
            return None
        simulated = sum(s for _, s in self._done) - self._done[0][1]
        return simulated / (self._done[-1][0] - self._done[0][0])
