"""The last seconds of a named variable, as lines beside the scene."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np

from graftsim.viewer.live.world import Instant
from graftsim.viewer.parts import PALETTE

SECONDS = 10.0
LINES = 12
"""At most; further rows of a variable are left out."""


class Plot:
    """A chart of one variable at a time, refilled from what the frames bring."""

    def __init__(self, gui: Any, folder: Any) -> None:
        self._gui, self._folder, self._handle = gui, folder, None
        self.name, self._rows = "", ()
        self._time: deque[float] = deque()
        self._values: deque[np.ndarray] = deque()

    def choose(self, name: str, rows: tuple[str, ...], unit: str) -> None:
        """Draw another variable, from now on; no rows: none."""
        import viser.uplot as uplot

        if self._handle is not None:
            self._handle.remove()
            self._handle = None
        self.name, self._rows = name, rows[:LINES]
        self.clear()
        if not self._rows:
            return
        lines = tuple(
            uplot.Series(label=row, stroke=f"rgb{PALETTE[k % len(PALETTE)]}", width=1.5)
            for k, row in enumerate(self._rows)
        )
        with self._folder:
            self._handle = self._gui.add_uplot(
                data=self._data(),
                series=(uplot.Series(label="time (s)"), *lines),
                title=f"{name} ({unit})",
                scales={"x": uplot.Scale(time=False, auto=True), "y": uplot.Scale(auto=True)},
                legend=uplot.Legend(show=True),
                aspect=1.2,
            )

    def clear(self) -> None:
        """Forget the past: time has gone back."""
        self._time.clear()
        self._values.clear()

    def add(self, instant: Instant) -> None:
        """One more point, if this instant has one; a time that is there already has none."""
        value = instant.recorded.get(self.name)
        if value is None or (self._time and instant.time <= self._time[-1]):
            return
        self._time.append(instant.time)
        self._values.append(np.asarray(value, float)[: len(self._rows)])
        while self._time[-1] - self._time[0] > SECONDS:
            self._time.popleft()
            self._values.popleft()

    def draw(self) -> None:
        """Send what there is."""
        if self._handle is not None and self._time:
            self._handle.data = self._data()

    def _data(self) -> tuple[np.ndarray, ...]:
        if not self._time:
            return tuple(np.zeros(1) for _ in range(1 + len(self._rows)))
        values = np.stack(self._values)
        return (np.array(self._time), *(values[:, k].copy() for k in range(len(self._rows))))
