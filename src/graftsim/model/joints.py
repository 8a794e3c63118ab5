"""The joint types of the package. `JointType` says what each must answer.

Conventions are MuJoCo's: spherical velocity in the link's own axes; free joint with linear velocity
in the parent's axes and angular velocity in the link's; planar as x, y in the parent, then yaw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.model.joint_type import (
    AdditiveJoint,
    Axis,
    Coordinate,
    Freedom,
    JointType,
    Motion,
    Pos,
    Q,
    Qd,
    Rot,
    Subspace,
    constant,
    identity,
    spatial,
)
from graftsim.spatial import rotation
from graftsim.spatial.components import QUATERNION, VECTOR
from graftsim.spatial.transform import rotate

_TURNS = tuple(Freedom(f"r{c}", "rad") for c in VECTOR)
_SLIDES = tuple(Freedom(c, "m") for c in VECTOR)
_ORIENTATION = tuple(
    Coordinate(c, "1", n) for c, n in zip(QUATERNION, (1.0, 0.0, 0.0, 0.0), strict=True)
)


@final
@dataclass(frozen=True)
class Fixed(AdditiveJoint):
    """No motion."""

    name = "fixed"
    freedoms = ()
    coordinates = ()
    axial = False

    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """The joint frame itself."""
        return identity(axis.shape[0], axis.dtype), jnp.zeros_like(axis)

    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """No row."""
        return jnp.zeros((axis.shape[0], 0, 6), axis.dtype)

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """Zero."""
        return constant(qd)


@final
@dataclass(frozen=True)
class Revolute(AdditiveJoint):
    """A turn about the axis."""

    name = "revolute"
    freedoms = (Freedom("", "rad"),)
    coordinates = (Coordinate("", "rad"),)
    axial = True

    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """Rodrigues' rotation."""
        return rotation.about_axis(axis, q[:, 0]), jnp.zeros_like(axis)

    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """(axis; 0): the axis is the same in link and joint frame."""
        return spatial(axis, jnp.zeros_like(axis))[:, None, :]

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """Zero."""
        return constant(qd)


@final
@dataclass(frozen=True)
class Prismatic(AdditiveJoint):
    """A slide along the axis."""

    name = "prismatic"
    freedoms = (Freedom("", "m"),)
    coordinates = (Coordinate("", "m"),)
    axial = True

    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """q along the axis."""
        return identity(axis.shape[0], axis.dtype), axis * q

    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """(0; axis)."""
        return spatial(jnp.zeros_like(axis), axis)[:, None, :]

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """Zero."""
        return constant(qd)


@final
@dataclass(frozen=True)
class Planar(AdditiveJoint):
    """Slides in the plane normal to `axis`, then turns about it: coordinates x, y, yaw."""

    name = "planar"
    freedoms = (*_SLIDES[:2], Freedom("yaw", "rad"))
    coordinates = (Coordinate("x", "m"), Coordinate("y", "m"), Coordinate("yaw", "rad"))
    axial = True

    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """The plane's directions are x and y, turned with z to the axis by the smallest turn."""
        plane = rotation.align_z(axis)
        return rotation.about_axis(axis, q[:, 2]), rotate(plane[:, :, :2], q[:, :2])

    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """The slides as the turned link sees them, then the axis."""
        plane = rotation.align_z(axis)
        in_link = rotation.transpose(R) @ plane[:, :, :2]
        slides = jnp.swapaxes(in_link, -1, -2)
        S_slide = spatial(jnp.zeros_like(slides), slides)
        return jnp.concatenate([S_slide, spatial(axis, jnp.zeros_like(axis))[:, None, :]], 1)

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """-w x u: slides u, constant in the parent, rotate with -w seen from the turning link."""
        w = S[:, 2, :3] * qd[:, 2:3]
        u = jnp.sum(S[:, :2, 3:] * qd[:, :2, None], 1)
        return spatial(jnp.zeros_like(u), -rotation.cross(w, u))


@final
@dataclass(frozen=True)
class Spherical(JointType):
    """Any rotation: a quaternion, and the angular velocity in the link's axes."""

    name = "spherical"
    freedoms = _TURNS
    coordinates = _ORIENTATION
    axial = False

    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """The quaternion's rotation."""
        return rotation.matrix(q), jnp.zeros_like(axis)

    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """(identity; 0)."""
        eye = identity(axis.shape[0], axis.dtype)
        return spatial(eye, jnp.zeros_like(eye))

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """Zero."""
        return constant(qd)

    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        """q exp(dt qd), of unit length."""
        turned = rotation.multiply(q, rotation.exponential(dt * qd))
        return turned / jnp.sqrt(jnp.sum(turned * turned, -1, keepdims=True))

    def difference(self, q0: Q, q1: Q) -> Qd:
        """The rotation vector of q0^-1 q1."""
        return rotation.logarithm(rotation.multiply(rotation.conjugate(q0), q1))

    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        """Rate of a rotation vector."""
        return rotation.rotvec_rate(d, qd)


@final
@dataclass(frozen=True)
class Free(JointType):
    """Any pose: position and linear velocity in the parent's axes, then as `Spherical`."""

    name = "free"
    freedoms = _SLIDES + _TURNS
    coordinates = (*(Coordinate(c, "m") for c in VECTOR), *_ORIENTATION)
    axial = False

    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """The quaternion's rotation, and the position."""
        return rotation.matrix(q[:, 3:]), q[:, :3]

    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """The parent's axes seen from the link, then the link's own."""
        E, eye = rotation.transpose(R), identity(axis.shape[0], axis.dtype)
        zero = jnp.zeros_like(E)
        linear = spatial(zero, jnp.swapaxes(E, -1, -2))
        return jnp.concatenate([linear, spatial(eye, zero)], 1)

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """-w x u, as for `Planar`."""
        u = rotate(rotation.transpose(R), qd[:, :3])
        return spatial(jnp.zeros_like(u), -rotation.cross(qd[:, 3:], u))

    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        """Position and orientation, each on its own."""
        turned = SPHERICAL.integrate(q[:, 3:], qd[:, 3:], dt)
        return jnp.concatenate([q[:, :3] + dt * qd[:, :3], turned], -1)

    def difference(self, q0: Q, q1: Q) -> Qd:
        """Difference of positions, then the rotation vector."""
        turned = SPHERICAL.difference(q0[:, 3:], q1[:, 3:])
        return jnp.concatenate([q1[:, :3] - q0[:, :3], turned], -1)

    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        """The linear velocity, then the rate of the rotation vector."""
        return jnp.concatenate([qd[:, :3], rotation.rotvec_rate(d[:, 3:], qd[:, 3:])], -1)


FIXED, REVOLUTE, PRISMATIC = Fixed(), Revolute(), Prismatic()
PLANAR, SPHERICAL, FREE = Planar(), Spherical(), Free()
JOINT_TYPES: dict[str, JointType] = {
    t.name: t for t in (FIXED, REVOLUTE, PRISMATIC, PLANAR, SPHERICAL, FREE)
}
