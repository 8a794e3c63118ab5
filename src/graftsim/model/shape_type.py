"""What a type of shape is: its name and sizes, and where a convex one is farthest.

The farthest point along a direction is found in two steps. First a mark is made: which corner,
which end, which side of the rim. Then the marked piece of surface can be followed as the direction
changes, without a leap to the next corner when two are equally far. Rounded shapes are taken
without their radius. Everything is in the shape's own axes.
"""

from __future__ import annotations

import abc
from typing import ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.arithmetic import Matrix, Scalar, Vector, sign

Size = Float[Array, " 3"]
Corners = Float[Array, "n 3"]
Mark = Float[Array, " 3"]


class ShapeType(abc.ABC):
    """A type of shape: a frozen dataclass, equal to any other with the same fields.

    sizes: what its numbers (m) are, at most three. corners: how many numbers each of its vertices
    has, 0 for a shape without.
    """

    name: ClassVar[str]
    sizes: ClassVar[tuple[str, ...]]
    corners: ClassVar[int] = 0


class Convex(ShapeType):
    """A solid of which the farthest point along a direction is known: it meets any other."""

    @abc.abstractmethod
    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """The piece of surface that is farthest along n: three numbers without derivatives."""

    @abc.abstractmethod
    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """The point of the marked piece that is farthest along n."""

    @abc.abstractmethod
    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The mark, of a rim with the point that is farthest along n: for the cap next to it.

        n in the world, where the columns of R are the shape's axes.
        """

    @abc.abstractmethod
    def radius(self, size: Size) -> Scalar:
        """How far a rounded shape reaches beyond its core; 0 for others."""


class Smooth(Convex):
    """A convex solid without corners and edges: each direction has one farthest point."""

    @abc.abstractmethod
    def support(self, size: Size, n: Vector) -> Vector:
        """The point that is farthest along n, which need not be of unit length."""

    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """The whole surface is one piece."""
        return sign(n)

    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """`support`."""
        return self.support(size, n)

    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The mark."""
        return mark

    def radius(self, size: Size) -> Scalar:
        """0: `support` is on the surface itself."""
        return jnp.zeros((), size.dtype)
