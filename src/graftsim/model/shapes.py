"""The types of shapes of the package, with MuJoCo's sizes. `ShapeType` says what each answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

from graftsim.errors import ModelError, suggest
from graftsim.model.shape_type import Convex, Corners, Mark, ShapeType, Size, Smooth
from graftsim.spatial.arithmetic import Matrix, Scalar, Vector, direction, dot, sign, to_shape

# Sine of the angle between direction and axis below which all of a cylinder's cap is farthest.
_CAP = 3e-5


@final
@dataclass(frozen=True)
class Plane(ShapeType):
    """All that is below z = 0."""

    name = "plane"
    sizes = ()


@final
@dataclass(frozen=True)
class Sphere(Convex):
    """A ball: its core is a point."""

    name = "sphere"
    sizes = ("radius",)

    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """Unused: the surface is one piece."""
        return sign(n)

    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """The centre."""
        return jnp.zeros_like(n)

    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The mark."""
        return mark

    def radius(self, size: Size) -> Scalar:
        """That of the ball."""
        return size[0]


@final
@dataclass(frozen=True)
class Capsule(Convex):
    """A segment along z with a radius."""

    name = "capsule"
    sizes = ("radius", "half length")

    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """The third number is the end."""
        return sign(n)

    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """An end of the segment."""
        return jnp.zeros_like(n).at[2].set(mark[2] * size[1])

    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The mark."""
        return mark

    def radius(self, size: Size) -> Scalar:
        """That of the segment."""
        return size[0]


@final
@dataclass(frozen=True)
class Box(Convex):
    """A box about the origin."""

    name = "box"
    sizes = ("half side x", "half side y", "half side z")

    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """Signs of the corner."""
        return sign(n)

    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """The corner."""
        return mark * size

    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The mark."""
        return mark

    def radius(self, size: Size) -> Scalar:
        """Its corners are sharp."""
        return jnp.zeros((), size.dtype)


@final
@dataclass(frozen=True)
class Cylinder(Convex):
    """A cylinder along z."""

    name = "cylinder"
    sizes = ("radius", "half length")

    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """The side of the rim, and the unit vector to the point of it."""
        return _round(n, sign(n[2]))

    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """A point of the rim; on a cap, where all are as far, the marked one."""
        return _moved(n, mark) * jnp.stack([size[0], size[0], size[1]])

    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The point of the rim that is farthest along n."""
        return _moved(to_shape(R, n), mark)

    def radius(self, size: Size) -> Scalar:
        """Its rim is sharp."""
        return jnp.zeros((), size.dtype)


@final
@dataclass(frozen=True)
class Ellipsoid(Smooth):
    """An ellipsoid about the origin."""

    name = "ellipsoid"
    sizes = ("semi-axis x", "semi-axis y", "semi-axis z")

    def support(self, size: Size, n: Vector) -> Vector:
        """With semi-axes e: e^2 n / |e n|."""
        m = size * n
        return size * m / jnp.sqrt(dot(m, m))


@final
@dataclass(frozen=True)
class Polygon(ShapeType):
    """A convex outline in the xy plane, for mechanisms that move in the world's."""

    name = "polygon"
    sizes = ()
    corners = 2


@final
@dataclass(frozen=True)
class Mesh(Convex):
    """The convex hull of corners."""

    name = "mesh"
    sizes = ()
    corners = 3

    def mark(self, vertices: Corners, n: Vector) -> Mark:
        """The first number is that of the corner."""
        corner = jnp.argmax(dot(jax.lax.stop_gradient(vertices), n))
        return jnp.zeros_like(n).at[0].set(corner.astype(n.dtype))

    def farthest(self, size: Size, vertices: Corners, n: Vector, mark: Mark) -> Vector:
        """The corner."""
        return vertices[mark[0].astype(int)]

    def moved_to(self, R: Matrix, n: Vector, mark: Mark) -> Mark:
        """The mark."""
        return mark

    def radius(self, size: Size) -> Scalar:
        """Its corners are sharp."""
        return jnp.zeros((), size.dtype)


def _round(n: Vector, side: Scalar) -> Vector:
    """Unit vector of n across the axis, and the side."""
    _, u = direction(n[:2], jnp.array([1.0, 0.0], n.dtype))
    return jnp.append(u, side)


def _moved(n: Vector, mark: Mark) -> Mark:
    """The mark of a rim with the point farthest along n, unless all of the cap is as far."""
    return jnp.where(_on_cap(n), mark, _round(n, mark[2]))


def _on_cap(n: Vector) -> Bool[Array, ""]:
    return dot(n[:2], n[:2]) < _CAP**2 * dot(n, n)


PLANE, SPHERE, CAPSULE, BOX = Plane(), Sphere(), Capsule(), Box()
CYLINDER, ELLIPSOID, POLYGON, MESH = Cylinder(), Ellipsoid(), Polygon(), Mesh()
# In canonical order: the first shape of a pair is the one whose type comes first.
SHAPE_TYPES: dict[str, ShapeType] = {
    t.name: t for t in (PLANE, SPHERE, CAPSULE, BOX, CYLINDER, ELLIPSOID, POLYGON, MESH)
}


def shape_type(kind: str | ShapeType) -> ShapeType:
    """A type by its name; raises ModelError for a name that is none."""
    if isinstance(kind, ShapeType):
        return kind
    if kind not in SHAPE_TYPES:
        raise ModelError(f"There is no shape '{kind}'. {suggest(kind, SHAPE_TYPES)}")
    return SHAPE_TYPES[kind]


def rank(kind: ShapeType) -> int:
    """Place of a type in the canonical order; a user's own come last."""
    order = list(SHAPE_TYPES.values())
    return order.index(kind) if kind in order else len(order)
