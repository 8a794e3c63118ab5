"""What a drive is: the law that makes a force of a command, between its delay and its limits.

A drive is asked two questions: which force belongs to a command (`force`), and which command to a
force (`command`, its inverse). Functions are batched over the k actuators of that type in a
mechanism; what they read of them is a `Signal`.
"""

from __future__ import annotations

import abc
from typing import Any, ClassVar, NamedTuple

from jaxtyping import Array, Float

from graftsim.errors import ModelError

Row = Float[Array, " k"]


class Number(NamedTuple):
    """A number that a drive of one's own brings along: its unit, meaning and default."""

    unit: str
    meaning: str
    default: float


class Signal(NamedTuple):
    """What reaches the drives of k actuators.

    command: after delay, limits and lag. velocity, torque: the further inputs of these names, 0
    where an actuator has none. length, rate: of the transmission, gear included (rad, m and a
    second). memory: of drives that have one. numbers: by name, from the model or from an input of
    that name.
    """

    command: Row
    velocity: Row
    torque: Row
    length: Row
    rate: Row
    memory: Row
    numbers: dict[str, Row]

    def __getattr__(self, name: str) -> Row:
        """A number of the actuators by its name: `signal.kp`."""
        try:
            return self.numbers[name]
        except KeyError as error:
            raise AttributeError(name) from error


class DriveType(abc.ABC):
    """A kind of drive: a frozen dataclass, equal to any other with the same fields.

    name: as builders and files call it. inputs: what it can take beside its command, `velocity` and
    `torque`, or a name of one of its numbers, which is then a channel of the log. memory: whether
    it has a state of its own. numbers: those that no drive of the package has.
    """

    name: ClassVar[str]
    inputs: ClassVar[tuple[str, ...]] = ()
    memory: ClassVar[bool] = False
    numbers: ClassVar[dict[str, Number]] = {}
    # Whether the command is a force, so that a measured one can stand for it.
    commands_force: ClassVar[bool] = False
    # Whether the joint is where the command says, whatever force that takes.
    prescribes: ClassVar[bool] = False

    def __init_subclass__(cls, **given: Any) -> None:
        super().__init_subclass__(**given)
        for name, number in cls.__dict__.get("numbers", {}).items():
            if OWN_NUMBERS.setdefault(name, number) != number:
                raise ModelError(
                    f"Drive {cls.__name__}: another drive has a number '{name}' that means "
                    f"'{OWN_NUMBERS[name].meaning}'; give it another name."
                )

    @abc.abstractmethod
    def force(self, at: Signal) -> Row:
        """Force (N m, N), before the limits."""

    @abc.abstractmethod
    def command(self, force: Row, at: Signal) -> Row:
        """The command that gives a force; `at.command` is not read."""

    def memory_rate(self, at: Signal) -> Row:
        """Rate of the memory, for drives that have one."""
        raise NotImplementedError(f"{type(self).__name__} has a memory, and says not how it moves.")

    def memory_limit(self, at: Signal) -> Row | float:
        """Largest size of the memory."""
        return float("inf")


# Numbers of drives from outside the package, by name.
OWN_NUMBERS: dict[str, Number] = {}
