"""Where a mechanism may start: the pose that its file draws, and named states of the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from graftsim.errors import ModelError, suggest


@dataclass(frozen=True)
class Key:
    """A named state of a robot file: q [nq], qd [nv], and commands u [nu] that go with it (SI).

    act [na]: what actuators remember, () for nothing.
    """

    name: str
    q: tuple[float, ...]
    qd: tuple[float, ...]
    u: tuple[float, ...]
    act: tuple[float, ...] = ()


@dataclass(frozen=True)
class Starts:
    """drawn: the position [nq] that the file draws, () for the zero position; keys: by name."""

    drawn: tuple[float, ...] = ()
    keys: dict[str, Key] = field(default_factory=dict)

    @cached_property
    def _hash(self) -> int:
        return hash((self.drawn, tuple(self.keys.items())))

    def __hash__(self) -> int:
        """Computed once: a simulator is looked up by its hash in every call."""
        return self._hash

    def key(self, name: str) -> Key:
        """A state by its name; raises ModelError with the names that there are."""
        if name not in self.keys:
            raise ModelError(
                f"The robot file has no key frame '{name}'. {suggest(name, self.keys)}"
            )
        return self.keys[name]
