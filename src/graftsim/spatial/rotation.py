"""Rotations: unit quaternions (w, x, y, z), matrices, rotation vectors, roll-pitch-yaw.

`R` maps link coordinates to parent coordinates (its columns are the link's axes seen from the
parent); Featherstone's `E` is its transpose. Functions accept any leading batch axes.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial import safe

Quaternion = Float[Array, "*batch 4"]
Vector = Float[Array, "*batch 3"]
Matrix = Float[Array, "*batch 3 3"]


def skew(v: Vector) -> Matrix:
    """Matrix of the cross product: skew(v) @ u = v x u [RBDA 2.1]."""
    x, y, z = v[..., 0], v[..., 1], v[..., 2]
    o = jnp.zeros_like(x)
    rows = [jnp.stack([o, -z, y], -1), jnp.stack([z, o, -x], -1), jnp.stack([-y, x, o], -1)]
    return jnp.stack(rows, -2)


def cross(a: Vector, b: Vector) -> Vector:
    """a x b as differences of shifted products: a third of the operations of `jnp.cross`."""
    return _shift(a * _shift(b) - _shift(a) * b)


def _shift(v: Vector) -> Vector:
    """(x, y, z) to (y, z, x)."""
    return jnp.concatenate([v[..., 1:], v[..., :1]], -1)


def multiply(p: Quaternion, q: Quaternion) -> Quaternion:
    """Hamilton product p q: first q, then p."""
    pw, pv, qw, qv = p[..., :1], p[..., 1:], q[..., :1], q[..., 1:]
    w = pw * qw - jnp.sum(pv * qv, -1, keepdims=True)
    return jnp.concatenate([w, pw * qv + qw * pv + cross(pv, qv)], -1)


def conjugate(q: Quaternion) -> Quaternion:
    """Inverse of a unit quaternion."""
    return jnp.concatenate([q[..., :1], -q[..., 1:]], -1)


def matrix(q: Quaternion) -> Matrix:
    """R of the rotation that q / |q| describes; q need not be normalised (conformance G15).

    Each number is a quotient of sums of products: zero or one to the last bit for right angles.
    """
    w, x, y, z = q[..., 0], q[..., 1], q[..., 2], q[..., 3]
    wx, yz = w * w + x * x, y * y + z * z
    wy, xz = w * w + y * y, x * x + z * z
    wz, xy = w * w + z * z, x * x + y * y
    rows = [
        jnp.stack([wx - yz, 2 * (x * y - w * z), 2 * (x * z + w * y)], -1),
        jnp.stack([2 * (x * y + w * z), wy - xz, 2 * (y * z - w * x)], -1),
        jnp.stack([2 * (x * z - w * y), 2 * (y * z + w * x), wz - xy], -1),
    ]
    return jnp.stack(rows, -2) / (wx + yz)[..., None, None]


def exponential(rotvec: Vector) -> Quaternion:
    """Unit quaternion of the rotation by |rotvec| rad about rotvec; smooth at zero."""
    quarter = jnp.sum(rotvec * rotvec, -1) / 4  # (angle / 2)^2
    return jnp.concatenate(
        [safe.cos_sqrt(quarter)[..., None], safe.sinc_sqrt(quarter)[..., None] * rotvec / 2], -1
    )


def logarithm(q: Quaternion) -> Vector:
    """Rotation vector, |.| <= pi rad, of the rotation of q / |q|; smooth at identity."""
    sign = jnp.where(q[..., :1] < 0, -1.0, 1.0)
    q = sign * q
    s = jnp.sum(q[..., 1:] * q[..., 1:], -1)
    return 2 * safe.angle_per_sine(s, q[..., 0])[..., None] * q[..., 1:]


def rotvec_rate(rotvec: Vector, w: Vector) -> Vector:
    """Rate of r in R = R_0 exp(r) while the body turns with w (rad/s, in its own axes).

    r' = w + r x w / 2 + r x (r x w) / 12: the inverse of the exponential's differential up to
    |r|^3, what a fourth-order method needs (Munthe-Kaas 1998).
    """
    turn = cross(rotvec, w)
    return w + turn / 2 + cross(rotvec, turn) / 12


def about_axis(axis: Vector, angle: Float[Array, "*batch"]) -> Matrix:
    """R of the rotation by `angle` rad about the unit vector `axis` (Rodrigues).

    What lies along the axis stays, what lies across it turns: for a known axis of coordinates that
    leaves known ones and zeros.
    """
    s, c = jnp.sin(angle)[..., None, None], jnp.cos(angle)[..., None, None]
    along = axis[..., :, None] * axis[..., None, :]
    return along + c * (jnp.eye(3, dtype=axis.dtype) - along) + s * skew(axis)


def rpy(angles: Vector) -> Quaternion:
    """Quaternion of URDF's fixed-axis roll, pitch, yaw: R = Rz(yaw) Ry(pitch) Rx(roll)."""
    half = angles / 2
    c, s = jnp.cos(half), jnp.sin(half)
    (cr, cp, cy), (sr, sp, sy) = jnp.moveaxis(c, -1, 0), jnp.moveaxis(s, -1, 0)
    w = cr * cp * cy + sr * sp * sy
    x = sr * cp * cy - cr * sp * sy
    y = cr * sp * cy + sr * cp * sy
    z = cr * cp * sy - sr * sp * cy
    return jnp.stack([w, x, y, z], -1)


def align_z(axis: Vector) -> Matrix:
    """R of the smallest rotation that takes z to the unit vector `axis`; columns 0, 1 are across.

    At axis = -z, where the smallest rotation is not unique, the one about x is taken.
    """
    x, y, z = axis[..., 0], axis[..., 1], axis[..., 2]
    # 1/(1 + z) loses its digits near -z; (1 - z)/(x^2 + y^2) is the same number there.
    below, across = z < 0, x * x + y * y
    opposite = below & (across == 0)
    k = jnp.where(
        below, (1 - z) / jnp.where(across > 0, across, 1.0), 1 / (1 + jnp.where(below, 0.0, z))
    )
    regular = jnp.stack(
        [
            jnp.stack([1 - k * x * x, -k * x * y, x], -1),
            jnp.stack([-k * x * y, 1 - k * y * y, y], -1),
            jnp.stack([-x, -y, z], -1),
        ],
        -2,
    )
    flipped = jnp.diag(jnp.array([1.0, -1.0, -1.0], axis.dtype))
    return jnp.where(opposite[..., None, None], flipped, regular)


def transpose(R: Matrix) -> Matrix:
    """Inverse of a rotation matrix."""
    return jnp.swapaxes(R, -1, -2)
