"""The impact rows of the conformance table: slopes through impacts that are not head-on.

Right answers are those of `tests/oracles/impacts_table.py`. A row is run with steps of two lengths;
right is the whole matrix of slopes, its largest error at most a share of its largest entry that
falls with the step. A single matrix, of an engine that chose its own step, is right within a tenth,
as the slopes of the other rows are, and may leave out those in the restitution, which engines with
springs do not have as a number. NumPy and SciPy only: other environments import this file too.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests" / "oracles"))

import impacts_closed as closed
import impacts_table as table
from impacts_scenes import Scene

Values = Sequence[float]
ALONE = 0.1  # of an engine that gives one answer
SINGLE = 0.02  # in float32, at the longer step


@dataclass(frozen=True)
class Check:
    """A scene, the steps that it is run with (s), and the largest error at each of them.

    Errors are relative to the largest slope. `impacts`: so many of a step are located, None: as
    the laws are by default.
    """

    name: str
    steps: tuple[float, ...] = (4e-3, 5e-4)
    tolerances: tuple[float, ...] = (1e-2, 1e-3)
    impacts: int | None = None

    @property
    def scene(self) -> Scene:
        """What happens."""
        return table.SCENES[self.name]

    @cached_property
    def target(self) -> np.ndarray:
        """The right slopes."""
        return closed.slopes(self.name) if self.name in closed.POINTS else self.scene.jacobian

    @property
    def case(self) -> str:
        """In words."""
        how = f", impacts={self.impacts}" if self.impacts else ""
        return f"{self.scene.case}{how}"

    @property
    def answer(self) -> str:
        """The slopes where they are few, else how many they are."""
        if self.name in closed.POINTS:
            return ", ".join(f"{x:.4g}" for x in self.target.ravel())
        return f"{sum(map(len, self.scene.weights()[:1]))} x {len(self.scene.inputs)} slopes"

    @property
    def without_restitution(self) -> np.ndarray:
        """The right slopes in all other numbers."""
        return self.target[:, [kind != "e" for kind, _ in self.scene.inputs]]

    def errors(self, values: Values) -> list[float]:
        """Of each matrix in a list of numbers."""
        part = self.without_restitution
        right = part if len(values) == part.size else self.target
        each = np.reshape(values, (-1, right.size))
        size = np.abs(right).max()
        return [float(np.abs(x - right.ravel()).max() / size) for x in each]

    def right(self, values: Values) -> bool:
        """Within the tolerances of the steps, or of one answer."""
        errors = self.errors(values)
        allowed = self.tolerances if len(errors) == len(self.steps) else (ALONE,)
        return all(e <= a for e, a in zip(errors, allowed, strict=True))

    def right_in_single(self, values: Values) -> bool:
        """In float32, one matrix."""
        return all(e <= SINGLE for e in self.errors(values))

    def text(self, values: Values) -> str:
        """Errors in percent."""
        errors = self.errors(values)
        return ", ".join(f"{100 * e:.2g} %" if np.isfinite(e) else "NaN" for e in errors)


CHECKS: dict[str, Check] = {name: Check(name) for name in table.SCENES} | {
    "I1 located": Check("I1 ball", impacts=1),
    # Between impacts semi-implicit Euler is of first order: errors in proportion to the step.
    "I11": Check("I11", (20e-3, 4e-3, 1e-3), (2e-2, 1e-2, 2.5e-3)),
}
