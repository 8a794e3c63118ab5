"""Small symmetric positive systems by an unrolled LDL^T factorisation.

Written out as arithmetic: faster than LAPACK at these sizes, foldable by the kernel compiler, and
free of the batched LAPACK calls that can stop jaxlib on two cores (conformance R1).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def solve(A: Float[Array, "*b n n"], B: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """A^-1 B for symmetric positive A; the trace grows as n^2 operations on rows."""
    n = A.shape[-1]
    if n == 1:
        return B / A
    scaled, _ = factorise(jnp.concatenate([A, B], -1))
    return backward(scaled[..., :n], scaled[..., n:])


def factorise(M: Float[Array, "*b n k"]) -> tuple[Float[Array, "*b n k"], Float[Array, "*b n"]]:
    """[L^T | D^-1 L^-1 B] and the diagonal of D, where M is [A | B] or A alone and A = L D L^T.

    By Gaussian elimination without pivoting, which is stable for positive A. What stands below the
    diagonal of L^T has no meaning.
    """
    scaled: list[Float[Array, "*b k"]] = []
    pivots: list[Float[Array, "*b"]] = []
    for i in range(M.shape[-2]):
        pivots.append(M[..., 0, i])
        row = M[..., :1, :] / pivots[-1][..., None, None]
        scaled.append(row[..., 0, :])
        M = M[..., 1:, :] - M[..., 1:, i : i + 1] * row
    return jnp.stack(scaled, -2), jnp.stack(pivots, -1)


def forward(upper: Float[Array, "*b n n"], B: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """L^-1 B, linear in B; B^T A^-1 B is z^T D^-1 z of the result z."""
    z = [B[..., 0, :]]
    for i in range(1, B.shape[-2]):
        known = jnp.stack(z, -2)
        z.append(B[..., i, :] - jnp.einsum("...j,...jm->...m", upper[..., :i, i], known))
    return jnp.stack(z, -2)


def backward(upper: Float[Array, "*b n n"], y: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """upper^-1 y, ones taken for the diagonal of `upper`, zeros for what is below."""
    n = upper.shape[-1]
    x = [y[..., n - 1, :]]
    for i in reversed(range(n - 1)):
        known = jnp.stack(x, -2)
        x.insert(0, y[..., i, :] - jnp.einsum("...j,...jm->...m", upper[..., i, i + 1 :], known))
    return jnp.stack(x, -2)
