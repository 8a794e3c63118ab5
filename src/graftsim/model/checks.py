"""What a mechanism may be: shapes of numbers, possible inertias, links that can be accelerated."""

from __future__ import annotations

from typing import Any

import numpy as np

from graftsim.errors import ModelError
from graftsim.model.tree import Tree

# A file written with six digits may miss the triangle inequality by rounding alone.
TRIANGLE_TOLERANCE = 1e-5


def vector(value: Any, n: int, what: str) -> np.ndarray:
    """`value` as n finite floats."""
    array = np.asarray(value, float)
    if array.shape != (n,) or not np.all(np.isfinite(array)):
        raise ModelError(f"{what} must be {n} finite numbers, got {value!r}.")
    return array


def unit(value: Any, n: int, what: str) -> np.ndarray:
    """`value` as a unit vector or quaternion: normalised, refused when zero."""
    array = vector(value, n, what)
    length = np.linalg.norm(array)
    if length < 1e-12:
        raise ModelError(f"{what} is zero: {value!r}.")
    return array / length


def per_dof(value: Any, n: int, what: str) -> np.ndarray:
    """`value` as one float for each of n degrees of freedom; infinities are allowed."""
    array = np.asarray(value, float)
    if array.ndim == 0:
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
    if not mass >= 0:
        raise ModelError(f"{where}: mass {mass} kg; it must be zero or positive.")
    xx, yy, zz, xy, xz, yz = six
    principal = np.linalg.eigvalsh([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    scale = max(float(np.abs(principal).max()), 1e-300)
    if principal[0] < -TRIANGLE_TOLERANCE * scale:
        raise ModelError(f"{where}: inertia is not positive: principal values {principal} kg m^2.")
    if principal[2] > principal[0] + principal[1] + TRIANGLE_TOLERANCE * scale:
        raise ModelError(
            f"{where}: inertia breaks the triangle inequality, principal values {principal} kg m^2: "
            "no body has one of them larger than the sum of the other two."
        )


def massless_ends(tree: Tree, mass: np.ndarray, armature: np.ndarray) -> None:
    """Refuse a joint that would have to accelerate nothing at all."""
    carried = tree.ancestor @ mass
    for i, kind in enumerate(tree.types):
        light = carried[i] == 0 and np.any(armature[tree.v_index[i]] == 0)
        if kind != "fixed" and light:
            raise ModelError(
                f"Link '{tree.links[i]}' moves but neither it nor anything it carries has mass. Give "
                "it a mass and an inertia, give its joint an armature, or make the joint fixed."
            )
