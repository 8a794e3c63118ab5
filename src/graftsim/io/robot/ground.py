"""A floor for robots whose files have none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from graftsim.errors import FileError
from graftsim.model.build import WORLD, Builder

GROUND = "ground"
# Masks of shapes: one that meets every other, and one that meets only such a one.
EVERYTHING, GROUND_ONLY = (-1, -1), (1, 0)


def add_ground(
    builder: Builder, height: float | None, shapes: Iterable[str], path: str | Path
) -> None:
    """A horizontal plane at `height` (m), which every shape of the robot may touch; None: nothing.

    Raises FileError: the height is no number, or the file has a shape of that name.
    """
    if height is None:
        return
    if not np.isfinite(height):
        raise FileError(f"{path}: ground={height}; a height in metres is expected.")
    if GROUND in shapes:
        raise FileError(
            f"{path}: the file has a shape named '{GROUND}' itself, so ground={height:g} would be "
            "a second one. Leave out the option, or rename the shape."
        )
    builder.geom("plane", (), WORLD, (0.0, 0.0, height), name=GROUND, mask=EVERYTHING)
