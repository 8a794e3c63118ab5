"""What a joint type is: names and units of its numbers, and six functions of its motion.

A type answers the same questions: where does the joint put its link (`transform`), along which
directions can it move (`motion_subspace`, `bias`), how does a velocity change the position
(`integrate`), and which displacement leads from one position to another (`difference`, its
inverse; `displacement_rate`). Functions are batched over the k joints of that type in a mechanism.

Directions of motion are spatial vectors in link coordinates, (angular; linear) [RBDA 4.4].
"""

from __future__ import annotations

import abc
from typing import ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.spatial.components import POSE

Axis = Float[Array, "k 3"]
Rot = Float[Array, "k 3 3"]
Pos = Float[Array, "k 3"]
Q = Float[Array, "k nq"]
Qd = Float[Array, "k nv"]
Subspace = Float[Array, "k nv 6"]
Motion = Float[Array, "k 6"]


class Freedom(NamedTuple):
    """A degree of freedom: its label after the joint's name, the unit of its displacement.

    unit: "rad" or "m". pure: it is a rotation about an axis through the link's origin or a
    translation, not both at once, as the turn of a screw is.
    """

    name: str
    unit: str
    pure: bool = True

    @property
    def turns(self) -> bool:
        """Whether it is counted in radians."""
        return self.unit == "rad"


class Coordinate(NamedTuple):
    """A position coordinate: its label after the joint's name, unit, and value at zero position.

    unit: "rad", "m", or "1" for a number of a quaternion.
    """

    name: str
    unit: str
    neutral: float = 0.0


class JointType(abc.ABC):
    """A kind of joint: a frozen dataclass, equal to any other with the same fields.

    `axial`: whether the joint's axis has a meaning. If there are as many coordinates as freedoms,
    each coordinate is the displacement of the freedom in the same place.
    """

    name: ClassVar[str]
    freedoms: ClassVar[tuple[Freedom, ...]]
    coordinates: ClassVar[tuple[Coordinate, ...]]
    axial: ClassVar[bool]

    @abc.abstractmethod
    def transform(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """Rotation (link to joint frame) and position (m, in the joint frame) of the link."""

    @abc.abstractmethod
    def motion_subspace(self, axis: Axis, R: Rot) -> Subspace:
        """S in link coordinates, one row a degree of freedom; R as `transform` returns it."""

    @abc.abstractmethod
    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """c_J = (dS/dt) qd in link coordinates; `constant(qd)` where S is constant there."""

    @abc.abstractmethod
    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        """Position after moving with constant velocity qd for dt seconds."""

    @abc.abstractmethod
    def difference(self, q0: Q, q1: Q) -> Qd:
        """Displacement d with integrate(q0, d, 1) = q1."""

    @abc.abstractmethod
    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        """Rate of the displacement d from a fixed position as the joint moves with velocity qd."""

    @property
    def nq(self) -> int:
        """Number of position coordinates."""
        return len(self.coordinates)

    @property
    def nv(self) -> int:
        """Number of degrees of freedom; 0 for a joint that does not move."""
        return len(self.freedoms)

    @property
    def neutral(self) -> tuple[float, ...]:
        """Zero position, [nq]."""
        return tuple(c.neutral for c in self.coordinates)

    @property
    def units(self) -> tuple[str, ...]:
        """`rad` or `m` for each degree of freedom."""
        return tuple(f.unit for f in self.freedoms)

    @property
    def slides(self) -> int:
        """Number of degrees of freedom counted in metres."""
        return sum(not f.turns for f in self.freedoms)

    @property
    def one_by_one(self) -> bool:
        """Whether each coordinate is the displacement of one degree of freedom."""
        return self.nq == self.nv

    @property
    def is_pose(self) -> bool:
        """Whether the coordinates are the pose of the link: position, then quaternion."""
        return tuple(c.name for c in self.coordinates) == POSE

    def dof_labels(self, joint: str) -> tuple[str, ...]:
        """Names of the degrees of freedom of a joint of this type: its own if there is one."""
        return _labels(joint, self.freedoms)

    def coordinate_labels(self, joint: str) -> tuple[str, ...]:
        """Names of the position coordinates of a joint of this type."""
        return _labels(joint, self.coordinates)


class AdditiveJoint(JointType):
    """A joint whose coordinates are displacements, so that they add up."""

    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        """q + dt qd."""
        return q + dt * qd

    def difference(self, q0: Q, q1: Q) -> Qd:
        """q1 - q0."""
        return q1 - q0

    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        """The velocity itself."""
        return qd


def constant(qd: Qd) -> Motion:
    """Bias of a motion subspace that is constant in link coordinates: zero."""
    return jnp.zeros((qd.shape[0], 6), qd.dtype)


def spatial(angular: Float[Array, "*b 3"], linear: Float[Array, "*b 3"]) -> Float[Array, "*b 6"]:
    """(angular; linear)."""
    return jnp.concatenate([angular, linear], -1)


def identity(k: int, dtype: np.dtype) -> Rot:
    """Rotations of links that do not turn."""
    return jnp.broadcast_to(jnp.eye(3, dtype=dtype), (k, 3, 3))


def _labels(joint: str, numbers: tuple[Freedom, ...] | tuple[Coordinate, ...]) -> tuple[str, ...]:
    return tuple(f"{joint}.{x.name}" if x.name else joint for x in numbers)
