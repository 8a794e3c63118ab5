"""What a check is: one class that looks at recordings beside a robot.

To add one, subclass `Check` and give `check(checks=(*CHECKS, Mine()))`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import ClassVar

from graftsim.check.finding import Finding
from graftsim.check.robot import Robot
from graftsim.recordings.channels import split_name
from graftsim.recordings.recording import Channel, Recording


class Check(ABC):
    """A question that the numbers of a log can answer before anything is fitted.

    name: a word or two; help: what it looks at, for documents and tables; needs: quantities of
    channels of which there must be one, such as `joint.tau`; none: it looks at every channel.
    """

    name: ClassVar[str]
    help: ClassVar[str]
    needs: ClassVar[tuple[str, ...]] = ()

    def applies(self, robot: Robot, recordings: Sequence[Recording]) -> bool:
        """Is what it needs recorded?"""
        return not self.needs or any(True for r in recordings for _ in of(r, *self.needs))

    @abstractmethod
    def findings(self, robot: Robot, recordings: Sequence[Recording]) -> Iterator[Finding]:
        """What it finds, one for each channel and recording."""


def of(recording: Recording, *quantities: str) -> Iterator[tuple[str, Channel]]:
    """Channels of these quantities, all but `signal` without any, with their labels."""
    for channel in recording.channels.values():
        name = split_name(channel.name)
        if name is None:
            continue
        if name.quantity in quantities or (not quantities and name.quantity != "signal"):
            yield name.label, channel
