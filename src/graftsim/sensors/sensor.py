"""What a sensor is: a channel, its width, its reading of a moving mechanism, its residual.

To add one, subclass `Sensor`: its `kind` is the quantity of the channels that it explains, and the
subclass is found by that name from then on. The final classes are in `kinds`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float

from graftsim.dynamics.mechanism import Mechanism
from graftsim.model.model import Model
from graftsim.recordings.channels import declare
from graftsim.selectors import row_name

# Classes by the quantity they explain, in the order in which they were defined.
KINDS: dict[str, type[Sensor]] = {}


@dataclass(frozen=True)
class Instant:
    """A mechanism at one instant, for sensors to read.

    R [nl, 3, 3], p [nl, 3]: axes and origins of the links in the world; v [nl, 6]: their spatial
    velocities (angular part first) in their own axes. recorded: the variables that sensors need.
    """

    m: Mechanism
    q: Float[Array, " nq"]
    qd: Float[Array, " nv"]
    R: Float[Array, "nl 3 3"]
    p: Float[Array, "nl 3"]
    v: Float[Array, "nl 6"]
    recorded: Mapping[str, Array]


@dataclass(frozen=True)
class Sensor(ABC):
    """One channel, and the label of the joint, link or frame it looks at.

    A subclass states `kind`; `width`: numbers of a reading; `residual_width`: of a residual, if
    not the same; `needs`: variables to record beside q and qd; `options`: its fields beside
    `label` that users may give; `dimensions`: of the columns, for channels that recordings do not
    know yet; `drawn`: how many columns a curve can show.
    """

    kind: ClassVar[str]
    width: ClassVar[int] = 1
    residual_width: ClassVar[int]
    needs: ClassVar[tuple[str, ...]] = ()
    options: ClassVar[tuple[str, ...]] = ()
    dimensions: ClassVar[tuple[str, ...]] = ()
    drawn: ClassVar[int | None] = None
    # Whether noise adds to a reading as to a vector.
    additive: ClassVar[bool] = True

    label: str

    def __init_subclass__(cls) -> None:
        if "residual_width" not in cls.__dict__:
            cls.residual_width = cls.width
        if "kind" in cls.__dict__:
            KINDS[cls.kind] = cls
            if cls.dimensions:
                declare(cls.kind, cls.dimensions)

    @property
    def channel(self) -> str:
        """Name of the channel it explains."""
        return row_name(self.kind, self.label)

    @abstractmethod
    def check(self, model: Model) -> None:
        """Raise ProblemError if the model has nothing of its label."""

    @abstractmethod
    def unit(self, model: Model) -> str:
        """Unit of its readings."""

    @abstractmethod
    def read(self, at: Instant) -> Float[Array, " w"]:
        """What an ideal sensor reads."""

    def mismatch(
        self, read: Float[Array, "n w"], measured: Float[Array, "n w"]
    ) -> Float[Array, "n r"]:
        """Measured minus read."""
        return measured - read

    def residual_noise(self, noise: Float[np.ndarray, " w"]) -> Float[np.ndarray, " r"]:
        """Deviation of each residual from those of the columns: of a vector one for all."""
        return np.full(self.residual_width, np.sqrt(np.mean(noise**2)))
