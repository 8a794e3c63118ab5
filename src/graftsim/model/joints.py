"""Joint types: one uniform block each, batched over the k joints of that type in a mechanism.

A type answers the same questions: where does the joint put its link (`place`), along which
directions can it move (`subspace`, `bias`), how does a velocity change the position (`integrate`),
and which displacement leads from one position to another (`difference`, its inverse).

Conventions are MuJoCo's: spherical velocity in the link's own axes; free joint with linear velocity
in the parent's axes and angular velocity in the link's; planar as x, y in the parent, then yaw.
Directions of motion are spatial vectors in link coordinates, (angular; linear) [RBDA 4.4].
"""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.spatial import rotation
from graftsim.spatial.transform import rotate

Axis = Float[Array, "k 3"]
Rot = Float[Array, "k 3 3"]
Pos = Float[Array, "k 3"]
Q = Float[Array, "k nq"]
Qd = Float[Array, "k nv"]
Subspace = Float[Array, "k nv 6"]
Motion = Float[Array, "k 6"]


@dataclass(frozen=True)
class JointType:
    """A kind of joint. `suffixes` name its degrees of freedom, `neutral` its zero position."""

    name: str
    nq: int
    nv: int
    suffixes: tuple[str, ...]
    neutral: tuple[float, ...]
    units: tuple[str, ...]

    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        """Rotation (link to joint frame) and position (m, in the joint frame) of the link."""
        raise NotImplementedError

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        """Motion subspace S in link coordinates, one row a degree of freedom."""
        raise NotImplementedError

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        """c_J = (dS/dt) qd in link coordinates; zero where S is constant there."""
        return jnp.zeros((qd.shape[0], 6), qd.dtype)

    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        """Position after moving with constant velocity qd for dt seconds."""
        return q + dt * qd

    def difference(self, q0: Q, q1: Q) -> Qd:
        """Displacement d with integrate(q0, d, 1) = q1."""
        return q1 - q0

    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        """Rate of the displacement d from a fixed position as the joint moves with velocity qd."""
        return qd


def _pad(angular: Float[Array, "*b 3"], linear: Float[Array, "*b 3"]) -> Float[Array, "*b 6"]:
    return jnp.concatenate([angular, linear], -1)


def _identity(k: int, dtype: np.dtype) -> Rot:
    return jnp.broadcast_to(jnp.eye(3, dtype=dtype), (k, 3, 3))


class _Fixed(JointType):
    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        return _identity(axis.shape[0], axis.dtype), jnp.zeros_like(axis)

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        return jnp.zeros((axis.shape[0], 0, 6), axis.dtype)


class _Revolute(JointType):
    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        return rotation.about_axis(axis, q[:, 0]), jnp.zeros_like(axis)

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        return _pad(axis, jnp.zeros_like(axis))[:, None, :]


class _Prismatic(JointType):
    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        return _identity(axis.shape[0], axis.dtype), axis * q

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        return _pad(jnp.zeros_like(axis), axis)[:, None, :]


class _Planar(JointType):
    """Slides in the plane normal to `axis`, then turns about it: coordinates x, y, yaw."""

    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        plane = rotation.align_z(axis)
        return rotation.about_axis(axis, q[:, 2]), rotate(plane[:, :, :2], q[:, :2])

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        plane = rotation.align_z(axis)
        in_link = rotation.transpose(R) @ plane[:, :, :2]
        slides = jnp.swapaxes(in_link, -1, -2)
        S_slide = _pad(jnp.zeros_like(slides), slides)
        return jnp.concatenate([S_slide, _pad(axis, jnp.zeros_like(axis))[:, None, :]], 1)

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        # The slides are constant in the parent: seen from the turning link they rotate with -w.
        w = S[:, 2, :3] * qd[:, 2:3]
        u = jnp.sum(S[:, :2, 3:] * qd[:, :2, None], 1)
        return _pad(jnp.zeros_like(u), -rotation.cross(w, u))


class _Spherical(JointType):
    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        return rotation.matrix(q), jnp.zeros_like(axis)

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        eye = _identity(axis.shape[0], axis.dtype)
        return _pad(eye, jnp.zeros_like(eye))

    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        turned = rotation.multiply(q, rotation.exponential(dt * qd))
        return turned / jnp.sqrt(jnp.sum(turned * turned, -1, keepdims=True))

    def difference(self, q0: Q, q1: Q) -> Qd:
        return rotation.logarithm(rotation.multiply(rotation.conjugate(q0), q1))

    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        return rotation.rotvec_rate(d, qd)


class _Free(JointType):
    def place(self, axis: Axis, q: Q) -> tuple[Rot, Pos]:
        return rotation.matrix(q[:, 3:]), q[:, :3]

    def subspace(self, axis: Axis, R: Rot) -> Subspace:
        E, eye = rotation.transpose(R), _identity(axis.shape[0], axis.dtype)
        zero = jnp.zeros_like(E)
        linear = _pad(zero, jnp.swapaxes(E, -1, -2))  # rows: parent axes seen from the link
        return jnp.concatenate([linear, _pad(eye, zero)], 1)

    def bias(self, S: Subspace, R: Rot, qd: Qd) -> Motion:
        u = rotate(rotation.transpose(R), qd[:, :3])
        return _pad(jnp.zeros_like(u), -rotation.cross(qd[:, 3:], u))

    def integrate(self, q: Q, qd: Qd, dt: Float[Array, ""]) -> Q:
        turned = SPHERICAL.integrate(q[:, 3:], qd[:, 3:], dt)
        return jnp.concatenate([q[:, :3] + dt * qd[:, :3], turned], -1)

    def difference(self, q0: Q, q1: Q) -> Qd:
        turned = SPHERICAL.difference(q0[:, 3:], q1[:, 3:])
        return jnp.concatenate([q1[:, :3] - q0[:, :3], turned], -1)

    def displacement_rate(self, d: Qd, qd: Qd) -> Qd:
        return jnp.concatenate([qd[:, :3], rotation.rotvec_rate(d[:, 3:], qd[:, 3:])], -1)


_UNIT_QUATERNION = (1.0, 0.0, 0.0, 0.0)
FIXED = _Fixed("fixed", 0, 0, (), (), ())
REVOLUTE = _Revolute("revolute", 1, 1, ("",), (0.0,), ("rad",))
PRISMATIC = _Prismatic("prismatic", 1, 1, ("",), (0.0,), ("m",))
PLANAR = _Planar("planar", 3, 3, (".x", ".y", ".yaw"), (0.0,) * 3, ("m", "m", "rad"))
SPHERICAL = _Spherical(
    "spherical", 4, 3, (".rx", ".ry", ".rz"), _UNIT_QUATERNION, ("rad", "rad", "rad")
)
FREE = _Free(
    "free",
    7,
    6,
    (".x", ".y", ".z", ".rx", ".ry", ".rz"),
    (0.0, 0.0, 0.0, *_UNIT_QUATERNION),
    ("m", "m", "m", "rad", "rad", "rad"),
)
JOINT_TYPES = {t.name: t for t in (FIXED, REVOLUTE, PRISMATIC, PLANAR, SPHERICAL, FREE)}
