"""Plücker transforms between coordinate frames, kept as the pair (E, r) [RBDA 2.8].

`X_b_a = Transform(E, r)` takes motion vectors from frame a to frame b: E rotates coordinates from
a to b, r is the position of b's origin in a.
"""

from __future__ import annotations

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float

from graftsim.spatial.rotation import cross, skew, transpose
from graftsim.spatial.vectors import mirror


def rotate(E: Float[Array, "*b 3 3"], v: Float[Array, "*b 3"]) -> Float[Array, "*b 3"]:
    """E @ v over leading axes."""
    return jnp.einsum("...ij,...j->...i", E, v)


class Transform(NamedTuple):
    """Plücker transform: rotation `E` [..., 3, 3] (a to b), origin `r` [..., 3] (of b, in a; m)."""

    E: Float[Array, "*b 3 3"]
    r: Float[Array, "*b 3"]

    def motion(self, v: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
        """X v: a motion vector of frame a in frame b [RBDA 2.24]."""
        w, u = v[..., :3], v[..., 3:]
        return jnp.concatenate([rotate(self.E, w), rotate(self.E, u - cross(self.r, w))], axis=-1)

    def force(self, f: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
        """X* f: a force vector of frame a in frame b [RBDA 2.25]."""
        n, f_lin = f[..., :3], f[..., 3:]
        n_b = rotate(self.E, n - cross(self.r, f_lin))
        return jnp.concatenate([n_b, rotate(self.E, f_lin)], axis=-1)

    def force_inverse(self, f: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
        """X^T f: a force vector of frame b in frame a [RBDA 2.25]."""
        Et = transpose(self.E)
        n, f_lin = rotate(Et, f[..., :3]), rotate(Et, f[..., 3:])
        return jnp.concatenate([n + cross(self.r, f_lin), f_lin], axis=-1)

    def motion_inverse(self, v: Float[Array, "*b 6"]) -> Float[Array, "*b 6"]:
        """X^-1 v: a motion vector of frame b in frame a."""
        Et = transpose(self.E)
        w, u = rotate(Et, v[..., :3]), rotate(Et, v[..., 3:])
        return jnp.concatenate([w, u + cross(self.r, w)], axis=-1)

    def matrix(self) -> Float[Array, "*b 6 6"]:
        """The 6x6 matrix [[E, 0], [-E rx, E]]."""
        low = -self.E @ skew(self.r)
        top = jnp.concatenate([self.E, jnp.zeros_like(self.E)], -1)
        return jnp.concatenate([top, jnp.concatenate([low, self.E], -1)], -2)

    def inertia_inverse(self, I: Float[Array, "*b 6 6"]) -> Float[Array, "*b 6 6"]:
        """X^T I X: a symmetric inertia of frame b in frame a [RBDA 2.66].

        Turned, then moved: half the products of the 6x6 matrices.
        """
        E, Et, rx = self.E, transpose(self.E), skew(self.r)
        A, H, M = (Et @ x @ E for x in (I[..., :3, :3], I[..., :3, 3:], I[..., 3:, 3:]))
        M = mirror(M)
        moved = H + rx @ M
        A = mirror(A + rx @ transpose(H) - moved @ rx)
        top = jnp.concatenate([A, moved], -1)
        return jnp.concatenate([top, jnp.concatenate([transpose(moved), M], -1)], -2)

    def __matmul__(self, other: Transform) -> Transform:
        """X_c_b @ X_b_a = X_c_a."""
        return Transform(self.E @ other.E, other.r + rotate(transpose(other.E), self.r))
