"""Rotations of file readers and writers, in NumPy doubles whatever precision JAX is set to.

Quaternions are w, x, y, z. Each function is the double-precision twin of one in
`graftsim.spatial`, for numbers that come from a file or go into one.
"""

from __future__ import annotations

import numpy as np

Array = np.ndarray


def quaternion_from_rpy(rpy: Array) -> Array:
    """Quaternion of URDF's fixed-axis roll, pitch, yaw (rad): R = Rz(yaw) Ry(pitch) Rx(roll)."""
    (cr, cp, cy), (sr, sp, sy) = np.cos(np.asarray(rpy) / 2), np.sin(np.asarray(rpy) / 2)
    return np.array(
        [
            cr * cp * cy + sr * sp * sy,
            sr * cp * cy - cr * sp * sy,
            cr * sp * cy + sr * cp * sy,
            cr * cp * sy - sr * sp * cy,
        ]
    )


def matrix(q: Array) -> Array:
    """Rotation matrix of q / |q|."""
    w, x, y, z = np.asarray(q, float) / np.linalg.norm(q)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def multiply(p: Array, q: Array) -> Array:
    """Hamilton product p q: first q, then p."""
    w = p[0] * q[0] - p[1:] @ q[1:]
    return np.concatenate([[w], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])])


def about_axis(axis: Array, angle: float) -> Array:
    """Quaternion of the rotation by `angle` rad about the unit vector `axis`."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.asarray(axis)])


def quaternion(R: Array) -> Array:
    """Quaternion, w >= 0, of a rotation matrix.

    Source: the eigenvector form of Bar-Itzhack (2000), exact to rounding for every angle.
    """
    (xx, xy, xz), (yx, yy, yz), (zx, zy, zz) = R
    K = np.array(
        [
            [xx + yy + zz, zy - yz, xz - zx, yx - xy],
            [zy - yz, xx - yy - zz, xy + yx, xz + zx],
            [xz - zx, xy + yx, yy - xx - zz, yz + zy],
            [yx - xy, xz + zx, yz + zy, zz - xx - yy],
        ]
    )
    q = np.linalg.eigh(K)[1][:, -1]
    return -q if q[0] < 0 else q


def rpy(q: Array) -> Array:
    """Roll, pitch, yaw (rad) of a quaternion: the inverse of `quaternion_from_rpy`.

    Roll is taken after yaw is undone, so that the three together stay exact at a pitch of 90
    degrees, where roll and yaw are not separately defined.
    """
    R = matrix(q)
    yaw = np.arctan2(R[1, 0], R[0, 0])
    s, c = np.sin(yaw), np.cos(yaw)
    pitch = np.arctan2(-R[2, 0], c * R[0, 0] + s * R[1, 0])
    roll = np.arctan2(s * R[0, 2] - c * R[1, 2], c * R[1, 1] - s * R[0, 1])
    return np.array([roll, pitch, yaw]) + 0.0  # no negative zeros in files


def symmetric(six: Array) -> Array:
    """3x3 matrix of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = six
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def six(I: Array) -> Array:
    """(xx, yy, zz, xy, xz, yz) of a symmetric 3x3 matrix."""
    return np.array([I[0, 0], I[1, 1], I[2, 2], I[0, 1], I[0, 2], I[1, 2]])


def turn_inertia(inertia: Array, q: Array) -> Array:
    """Six numbers of an inertia given in axes turned by q, in the axes of the link: R I R^T.

    Where a product is zero but for its rounding it is zero: compiled code leaves zeros out.
    """
    if np.array_equal(q, [1.0, 0.0, 0.0, 0.0]):
        return np.asarray(inertia, float)  # not one rounding more than the file has
    R = matrix(q)
    turned = six(R @ symmetric(inertia) @ R.T)
    noise = 4 * np.finfo(float).eps * np.abs(turned[:3]).max()
    return np.where(np.abs(turned) < noise, 0.0, turned)
