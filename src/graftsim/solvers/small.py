"""Small symmetric positive systems by an unrolled LDL^T factorisation.

Written out as arithmetic: faster than LAPACK at these sizes, foldable by the kernel compiler, and
free of the batched LAPACK calls that can stop jaxlib on two cores (conformance R1).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float


def solve(A: Float[Array, "*b n n"], B: Float[Array, "*b n m"]) -> Float[Array, "*b n m"]:
    """A^-1 B for symmetric positive A; the trace grows as n^2 operations on rows."""
    if A.shape[-1] == 1:
        return B / A
    upper, d = factorise(A)
    return backward(upper, forward(upper, B) / d[..., None])


def factorise(
    A: Float[Array, "*b n n"],
) -> tuple[Float[Array, "*b n n"], Float[Array, "*b n"]]:
    """L^T and the diagonal of D in A = L D L^T, by Gaussian elimination.

    Without pivoting, which is stable for positive A. Below its diagonal `upper` is not zero.
    """
    n, M = A.shape[-1], A
    scaled: list[Float[Array, "*b n"]] = []
    d: list[Float[Array, "*b"]] = []
    for i in range(n):
        d.append(M[..., 0, i])
        row = M[..., :1, :] / d[-1][..., None, None]
        scaled.append(row[..., 0, :])
        M = M[..., 1:, :] - M[..., 1:, i : i + 1] * row
    return jnp.stack(scaled, -2), jnp.stack(d, -1)


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
