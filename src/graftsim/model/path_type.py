"""Stretches of a tendon's path: lengths that depend on where points of links are.

A tendon that goes through space is a sum of stretches, each from one named frame to others. A kind
of stretch says its length for the places of its frames in the world; what it does to the joints
follows from its gradient. Whatever carries all of its frames has no part in it, since lengths do
not change as all of space moves.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial import safe

Places = Float[Array, "k n 3"]


class PathType(abc.ABC):
    """A kind of stretch: a frozen dataclass, equal to any other with the same fields.

    frames: how many it goes through. Functions are batched over k stretches.
    """

    name: ClassVar[str]
    frames: ClassVar[int]

    @abc.abstractmethod
    def length(self, p: Places) -> Float[Array, " k"]:
        """Length (m) for the places of its frames in the world (m); differentiable twice."""

    def gradient(self, p: Places) -> Places:
        """Change of the length with the place of each frame."""
        return jax.grad(lambda p: jnp.sum(self.length(p)))(p)


@dataclass(frozen=True)
class Straight(PathType):
    """The straight line between two points; a length of zero pulls nowhere."""

    name = "straight"
    frames = 2

    def length(self, p: Places) -> Float[Array, " k"]:
        """|p_1 - p_0|."""
        return safe.norm(p[:, 1] - p[:, 0])

    def gradient(self, p: Places) -> Places:
        """The unit vector along it, away from the other end."""
        along = safe.normalise(p[:, 1] - p[:, 0])
        return jnp.stack([-along, along], 1)


STRAIGHT = Straight()


class Stretch(NamedTuple):
    """A stretch of tendon `tendon`, through frames of the model; `share` of its length counts."""

    tendon: int
    kind: PathType
    frames: tuple[int, ...]
    share: float


Item = str | float | tuple[PathType | str, ...]


def stretches(path: Sequence[Item]) -> list[tuple[PathType, tuple[str, ...], float]]:
    """Kind, frames and share of each stretch of a path.

    Frames that follow each other are joined by straight lines. A number is a pulley: what follows
    begins anew, and counts divided by it. A tuple is a stretch of another kind with its frames.
    Raises ValueError, in words, for a path that is none.
    """
    found: list[tuple[PathType, tuple[str, ...], float]] = []
    share, last, lone = 1.0, "", False
    for item in path:
        if isinstance(item, str):
            if last:
                found.append((STRAIGHT, (last, item), share))
            lone, last = not last, item
        elif isinstance(item, tuple):
            kind, *frames = item
            found.append((_kind(kind, frames), tuple(map(str, frames)), share))
        elif lone or not 0 < float(item) < float("inf"):
            why = _ALONE if lone else f"a pulley divides by a positive number, not by {item}"
            raise ValueError(why)
        else:
            share, last = 1 / float(item), ""
    if lone or not found or (last == "" and not isinstance(path[-1], tuple)):
        raise ValueError(_ALONE)
    return found


_ALONE = "each branch of a path goes through two frames or more"


def _kind(kind: Any, frames: Sequence[Any]) -> PathType:
    if not isinstance(kind, PathType):
        raise ValueError(f"{kind!r} is no PathType; a stretch is (kind, frame, frame, ...)")
    if len(frames) != kind.frames:
        raise ValueError(f"a {kind.name} stretch has {kind.frames} frames, not {len(frames)}")
    return kind
