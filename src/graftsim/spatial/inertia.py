"""Inertias of rigid bodies: spatial matrices, closed forms of solids, consistent coordinates.

The six numbers of a rotational inertia are ordered xx, yy, zz, xy, xz, yz; they stand for the
symmetric matrix about the centre of mass, in the link's axes (kg m^2).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.rotation import skew

Six = Float[Array, "*b 6"]


def symmetric(six: Six) -> Float[Array, "*b 3 3"]:
    """Symmetric 3x3 matrix of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = jnp.moveaxis(six, -1, 0)
    rows = [jnp.stack([xx, xy, xz], -1), jnp.stack([xy, yy, yz], -1), jnp.stack([xz, yz, zz], -1)]
    return jnp.stack(rows, -2)


def six(I: Float[Array, "*b 3 3"]) -> Six:
    """(xx, yy, zz, xy, xz, yz) of a symmetric matrix."""
    pairs = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))
    return jnp.stack([I[..., i, j] for i, j in pairs], -1)


def spatial(
    mass: Float[Array, "*b"], com: Float[Array, "*b 3"], inertia: Six
) -> Float[Array, "*b 6 6"]:
    """Spatial inertia about the link's origin [RBDA 2.63]."""
    C = skew(com)
    m = mass[..., None, None]
    low = m * jnp.swapaxes(C, -1, -2)
    Io = symmetric(inertia) + C @ low
    M = m * jnp.eye(3, dtype=com.dtype)
    return jnp.concatenate(
        [jnp.concatenate([Io, m * C], -1), jnp.concatenate([low, M], -1)], axis=-2
    )


def from_spatial(
    I: Float[Array, "*b 6 6"],
) -> tuple[Float[Array, "*b"], Float[Array, "*b 3"], Six]:
    """Mass, centre of mass and (xx, yy, zz, xy, xz, yz) about it: the inverse of `spatial`.

    A massless body gets its centre of mass at the origin.
    """
    mass = I[..., 3, 3]
    safe_mass = jnp.where(mass > 0, mass, 1.0)
    mc = jnp.stack([I[..., 2, 4], I[..., 0, 5], I[..., 1, 3]], -1)
    com = jnp.where(mass[..., None] > 0, mc / safe_mass[..., None], 0.0)
    C = skew(com)
    return mass, com, six(I[..., :3, :3] - mass[..., None, None] * (C @ jnp.swapaxes(C, -1, -2)))


def spatial_of_moments(ten: Float[Array, "*b 10"]) -> Float[Array, "*b 6 6"]:
    """Spatial inertia about the link's origin of the ten numbers in which it is linear: mass (kg),
    mass times centre of mass (kg m), (xx, yy, zz, xy, xz, yz) about the link's origin (kg m^2).
    """
    low, M = skew(ten[..., 1:4]), ten[..., 0, None, None] * jnp.eye(3, dtype=ten.dtype)
    upper = jnp.concatenate([symmetric(ten[..., 4:]), low], -1)
    return jnp.concatenate([upper, jnp.concatenate([-low, M], -1)], axis=-2)


def log_cholesky(
    mass: Float[Array, "*b"], com: Float[Array, "*b 3"], inertia: Six
) -> Float[Array, "*b 10"]:
    """Ten unconstrained numbers of a physically possible inertia (Rucker & Wensing 2022).

    They are the Cholesky factor of the pseudo-inertia, logarithms on its diagonal. Every real
    vector maps back to a body with positive mass and density, so a fit cannot leave physics.
    The factor is written out: no LAPACK call, and exact gradients.
    """
    I = symmetric(inertia)
    C = skew(com)
    Io = I + mass[..., None, None] * (C @ jnp.swapaxes(C, -1, -2))
    half = jnp.trace(Io, axis1=-2, axis2=-1)[..., None, None] / 2
    Sigma = half * jnp.eye(3, dtype=com.dtype) - Io
    h = mass[..., None] * com
    # J = [[Sigma, h], [h^T, m]] = U U^T with U upper triangular, from the last row up.
    d4 = jnp.sqrt(mass)
    t = h / d4[..., None]
    A = Sigma - t[..., :, None] * t[..., None, :]
    d3 = jnp.sqrt(A[..., 2, 2])
    s23, s13 = A[..., 1, 2] / d3, A[..., 0, 2] / d3
    d2 = jnp.sqrt(A[..., 1, 1] - s23 * s23)
    s12 = (A[..., 0, 1] - s13 * s23) / d2
    d1 = jnp.sqrt(A[..., 0, 0] - s12 * s12 - s13 * s13)
    logs = [jnp.log(d) for d in (d1, d2, d3, d4)]
    return jnp.stack([*logs, s12, s13, s23, t[..., 0], t[..., 1], t[..., 2]], -1)


def from_log_cholesky(
    theta: Float[Array, "*b 10"],
) -> tuple[Float[Array, "*b"], Float[Array, "*b 3"], Six]:
    """Mass, centre of mass and inertia about it of ten unconstrained numbers."""
    l1, l2, l3, l4, s12, s13, s23, t1, t2, t3 = jnp.moveaxis(theta, -1, 0)
    d1, d2, d3, d4 = jnp.exp(l1), jnp.exp(l2), jnp.exp(l3), jnp.exp(l4)
    mass = d4 * d4
    com = jnp.stack([t1, t2, t3], -1) / d4[..., None]
    # Second moments about the centre of mass: U U^T without the column of t.
    xx = d1 * d1 + s12 * s12 + s13 * s13
    yy = d2 * d2 + s23 * s23
    zz = d3 * d3
    xy, xz, yz = s12 * d2 + s13 * s23, s13 * d3, s23 * d3
    return mass, com, jnp.stack([yy + zz, xx + zz, xx + yy, -xy, -xz, -yz], -1)


def sphere(mass: float, radius: float) -> tuple[float, float, float]:
    """Principal inertias (kg m^2) of a solid sphere."""
    i = 0.4 * mass * radius**2
    return i, i, i


def box(mass: float, sides: tuple[float, float, float]) -> tuple[float, float, float]:
    """Principal inertias of a solid box with full side lengths (m)."""
    x, y, z = (s * s for s in sides)
    return mass * (y + z) / 12, mass * (x + z) / 12, mass * (x + y) / 12


def cylinder(mass: float, radius: float, length: float) -> tuple[float, float, float]:
    """Principal inertias of a solid cylinder along z."""
    across = mass * (3 * radius**2 + length**2) / 12
    return across, across, mass * radius**2 / 2


def capsule(mass: float, radius: float, length: float) -> tuple[float, float, float]:
    """Principal inertias of a solid capsule along z; `length` is the cylinder's, without caps."""
    v_c, v_s = length * radius**2, 4 / 3 * radius**3  # over pi
    m_c, m_s = mass * v_c / (v_c + v_s), mass * v_s / (v_c + v_s)
    along = m_c * radius**2 / 2 + 0.4 * m_s * radius**2
    across = m_c * (3 * radius**2 + length**2) / 12 + m_s * (
        0.4 * radius**2 + length**2 / 4 + 3 / 8 * length * radius
    )
    return across, across, along


def ellipsoid(mass: float, semi: tuple[float, float, float]) -> tuple[float, float, float]:
    """Principal inertias of a solid ellipsoid with semi-axes (m)."""
    a, b, c = (s * s for s in semi)
    return mass * (b + c) / 5, mass * (a + c) / 5, mass * (a + b) / 5
