"""What a demo is: a simulator, where it starts, and what moves it."""

from __future__ import annotations

import abc
from dataclasses import dataclass, field
from typing import ClassVar

from graftsim.engine import Simulator
from graftsim.model.state import State
from graftsim.viewer.live.world import Policy


@dataclass(frozen=True)
class Knob:
    """A number that a user turns: its range, and its value at the beginning."""

    lower: float
    upper: float
    value: float


@dataclass(frozen=True)
class Scene:
    """A simulator, its first state, and its policy, asked every `every` steps.

    knobs: by name, with unit; the policy reads their present values from `setting`, which has them
    by the same names.
    """

    simulator: Simulator
    state: State
    policy: Policy
    every: int = 1
    knobs: dict[str, Knob] = field(default_factory=dict)
    setting: dict[str, float] = field(default_factory=dict)


class Demo(abc.ABC):
    """Something to watch that needs no file of the user's."""

    name: ClassVar[str]
    about: ClassVar[str]

    @abc.abstractmethod
    def scene(self) -> Scene:
        """Everything there is to run, made anew."""
