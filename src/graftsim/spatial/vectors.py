"""Cross products of spatial vectors [RBDA 2.9]."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from graftsim.spatial.rotation import cross


def cross_motion(v: Float[Array, "*b 6"], m: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
    """v x m: rate of change of a motion vector m carried along with velocity v [RBDA 2.31]."""
    w, u = v[..., :3], v[..., 3:]
    mw, mu = m[..., :3], m[..., 3:]
    return jnp.concatenate([cross(w, mw), cross(w, mu) + cross(u, mw)], axis=-1)


def cross_force(v: Float[Array, "*b 6"], f: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
    """v x* f: rate of change of a force vector f carried along with velocity v [RBDA 2.32]."""
    w, u = v[..., :3], v[..., 3:]
    n, fl = f[..., :3], f[..., 3:]
    return jnp.concatenate([cross(w, n) + cross(u, fl), cross(w, fl)], axis=-1)


def velocity_at(v: Float[Array, "*b 6"], p: Float[Array, "*b 3"]) -> Float[Array, "*b 6"]:
    """Velocity at the point p instead of the origin: (w, v + w x p)."""
    return jnp.concatenate([v[..., :3], v[..., 3:] + cross(v[..., :3], p)], -1)


def force_at(f: Float[Array, "*b 6"], p: Float[Array, "*b 3"]) -> Float[Array, "*b 6"]:
    """Force about the origin of one given about the point p: (n + p x f, f)."""
    return jnp.concatenate([f[..., :3] + cross(p, f[..., 3:]), f[..., 3:]], -1)


def apply(I: Float[Array, "*b 6 6"], v: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
    """I @ v over leading axes."""
    return jnp.einsum("...ij,...j->...i", I, v)


def mirror(M: Float[Array, "*b n n"]) -> Float[Array, "*b n n"]:
    """Symmetric matrix from the upper triangle: for a product that is symmetric but for rounding.

    What would compute the lower triangle then has no reader, and compilers drop it.
    """
    n = M.shape[-1]
    return jnp.where(np.tri(n, dtype=bool).T, M, jnp.swapaxes(M, -1, -2))
