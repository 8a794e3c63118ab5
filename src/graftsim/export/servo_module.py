"""A Python module that configures servos for a program of reinforcement learning.

What all such modules have: how they were made, what could not be said, the step that delays are
counted in, the configurations, ranges to randomise over, and zeros of encoders.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import ClassVar

from graftsim.errors import FileError
from graftsim.export import python_text as py
from graftsim.export.fitted import Fitted
from graftsim.export.format import ExportFormat, Logs
from graftsim.export.servos import Servo, servos
from graftsim.viewer.files import write_atomically


class ServoModule(ExportFormat):
    """program: what it is for. package: where its classes come from. uses: how it is used.

    brackets: what `ACTUATORS` is, "{}" of configurations with names or "()" of some without.
    """

    program: ClassVar[str]
    package: ClassVar[str]
    uses: ClassVar[str]
    brackets: ClassVar[str]

    @abc.abstractmethod
    def kind(self, servo: Servo, dt: float) -> str:
        """Name of a servo's class."""

    @abc.abstractmethod
    def lost(self, servo: Servo, dt: float) -> Iterable[str]:
        """Sentences on what that class cannot say of it."""

    @abc.abstractmethod
    def actuators(self, found: Sequence[Servo], dt: float) -> Iterable[str]:
        """Lines of the configurations."""

    def write(self, fit: Fitted, out: Path, dt: float, logs: Logs) -> list[str]:
        """See `ExportFormat.write`."""
        found, left = servos(fit)
        if not found:
            raise FileError(f"{out}: this robot has no servo on a joint. {' '.join(left)}".strip())
        said = [*left, *(x for s in found for x in (*s.unsaid, *self.lost(s, dt)))]
        kinds = sorted({self.kind(s, dt) for s in found})
        lines = [
            *py.heading(fit, self.program, self.uses),
            f"from {self.package} import {', '.join(kinds)}",
            "",
            *py.notes(said),
            "# Step of physics (s) that delays are counted in.",
            f"PHYSICS_DT = {py.number(dt)}",
            f"ACTUATORS = {self.brackets[0]}",
            *self.actuators(found, dt),
            self.brackets[1],
            *py.ranges(found),
            *py.zeros(found),
        ]
        write_atomically(out, "\n".join(lines) + "\n")
        return said
