"""What a mechanism may be: shapes of numbers, possible inertias, links that can be accelerated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from graftsim.errors import ModelError
from graftsim.model.tree import Tree
from graftsim.selectors import row_name

# A file written with six digits may miss the triangle inequality by rounding alone.
TRIANGLE_TOLERANCE = 1e-5
# What the numbers of unit vectors and quaternions may be in size whose axes are turned by right
# angles.
RIGHT_ANGLES = np.array([0.0, 0.5, math.sqrt(0.5), 1.0])


def vector(value: Any, n: int, what: str) -> np.ndarray:
    """`value` as n finite floats."""
    array = np.asarray(value, float)
    if array.shape != (n,) or not all(map(math.isfinite, array.tolist())):
        raise ModelError(f"{what} must be {n} finite numbers, got {value!r}.")
    return array


def unit(value: Any, n: int, what: str) -> np.ndarray:
    """`value` as a unit vector or quaternion: normalised, refused when zero.

    Numbers that are those of right angles but for their rounding are exactly these: pi / 2 in a
    file gives quaternions whose matrices have 1e-16 where a zero is meant.
    """
    array = vector(value, n, what)
    length = math.sqrt(float(array @ array))
    if length < 1e-12:
        raise ModelError(f"{what} is zero: {value!r}.")
    array = array / length
    near = RIGHT_ANGLES[np.abs(np.abs(array)[:, None] - RIGHT_ANGLES).argmin(1)]
    exact = np.abs(np.abs(array) - near) < 4 * np.finfo(float).eps
    return np.where(exact, np.copysign(near, array), array) + 0.0  # no negative zeros


def per_dof(value: Any, n: int, what: str) -> np.ndarray:
    """`value` as one float for each of n degrees of freedom; infinities are allowed."""
    array = np.asarray(value, float)
    if array.ndim == 0 and not np.isnan(array):
        return np.full(n, float(array))
    if array.shape != (n,) or np.any(np.isnan(array)):
        raise ModelError(f"{what} must be one number or {n}, got {value!r}.")
    return array


def inertia(value: Any, what: str) -> np.ndarray:
    """One, three or six numbers as (xx, yy, zz, xy, xz, yz)."""
    array = np.atleast_1d(np.asarray(value, float))
    if array.shape == (1,):
        array = np.array([*np.repeat(array, 3), 0, 0, 0])
    elif array.shape == (3,):
        array = np.array([*array, 0, 0, 0])
    if array.shape != (6,) or not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be 1, 3 or 6 finite numbers, got {value!r}.")
    return array


def body(mass: float, six: np.ndarray, where: str) -> None:
    """Refuse a negative mass and a rotational inertia that no distribution of mass has."""
    if not 0 <= mass < np.inf:
        raise ModelError(f"{where}: mass {mass} kg; it must be zero or positive, and finite.")
    if not np.any(six):
        return
    xx, yy, zz, xy, xz, yz = six
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    scale = max(float(np.abs(principal).max()), 1e-300)
    if principal[0] < -TRIANGLE_TOLERANCE * scale:
        raise ModelError(f"{where}: inertia is not positive: principal values {principal} kg m^2.")
    if principal[2] > principal[0] + principal[1] + TRIANGLE_TOLERANCE * scale:
        raise ModelError(
            f"{where}: inertia breaks the triangle inequality, principal values {principal} "
            "kg m^2: no body has one of them larger than the sum of the other two."
        )


def massless_ends(tree: Tree, mass: np.ndarray, armature: np.ndarray) -> None:
    """Refuse a joint that would have to accelerate nothing at all."""
    carried = np.array(mass)
    for i in reversed(range(tree.nl)):
        if tree.parent[i] >= 0:
            carried[tree.parent[i]] += carried[i]
    for i, moves in enumerate(tree.moving):
        light = carried[i] == 0 and np.any(armature[tree.v_index[i]] == 0)
        if moves and light:
            raise ModelError(
                f"Link '{tree.links[i]}' moves but neither it nor anything it carries has "
                "mass. Give it a mass and an inertia, give its joint an armature "
                f"('{_armature(tree, i)}=0.01' after --set or --start, armature={{...}} in "
                "Python), or make the joint fixed."
            )


def inertialess_ends(tree: Tree, numbers: list[dict[str, Any]]) -> None:
    """Refuse an end link that has mass but no inertia about its joint: a point on the axis.

    Only links that carry nothing but fixed ones are checked: the inertia about the joints of others
    depends on the position. Joints such as screws are not checked: mass alone resists them.
    """
    if tree.nv == 0:
        return
    carried = [_spatial_inertia(x) for x in numbers]
    bears_a_joint = np.zeros(tree.nl, bool)
    for i in reversed(range(tree.nl)):
        kind, x, parent = tree.joint_types[i], numbers[i], tree.parent[i]
        if parent >= 0:
            bears_a_joint[parent] |= bears_a_joint[i] or kind.nv > 0
        if kind.nv == 0:
            if parent >= 0:
                X = _motion_matrix(x["origin"], x["rotation"])
                carried[parent] += X.T @ carried[i] @ X
            continue
        turning = np.array([f.turns for f in kind.freedoms])
        known = all(f.pure for f in kind.freedoms)
        if not turning.any() or not known or bears_a_joint[i]:
            continue
        about, mc, mass = carried[i][:3, :3], carried[i][:3, 3:], carried[i][5, 5]
        if turning.sum() == 1:
            felt = (x["axis"] @ about @ x["axis"]).reshape(1, 1)
        elif kind.slides == 3 and mass > 0:  # turns about its centre of mass
            felt = about - mc @ mc.T / mass
        else:
            felt = about
        felt = felt + np.diag(x["armature"][turning])
        if np.linalg.eigvalsh(felt)[0] <= 1e-12 * np.abs(about).max():
            raise ModelError(
                f"Link '{tree.links[i]}' has mass but no inertia about its {kind.name} joint: "
                "any torque would turn it infinitely fast. Give it an inertia, move its centre of "
                f"mass off the axis, or give its joint an armature: '{_armature(tree, i)}=0.01' "
                "after --set or --start, armature={...} in Python."
            )


def _armature(tree: Tree, link: int) -> str:
    """The selector of the armature of a link's joint, as it is typed."""
    return row_name("joint.armature", tree.dofs[tree.v_index[link][0]])


def _skew(v: np.ndarray) -> np.ndarray:
    x, y, z = v
    return np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _spatial_inertia(x: dict[str, Any]) -> np.ndarray:
    """Spatial inertia about the link's origin [RBDA 2.63]."""
    xx, yy, zz, xy, xz, yz = x["inertia"]
    m, C = x["mass"], _skew(x["com"])
    Io = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) + m * C @ C.T
    return np.block([[Io, m * C], [m * C.T, m * np.eye(3)]])


def _motion_matrix(origin: np.ndarray, q: np.ndarray) -> np.ndarray:
    """6x6 matrix from the parent's coordinates to the joint's [RBDA 2.24]."""
    w, V = q[0], _skew(q[1:])
    E = (np.eye(3) + 2 * w * V + 2 * V @ V).T
    return np.block([[E, np.zeros((3, 3))], [-E @ _skew(origin), E]])
